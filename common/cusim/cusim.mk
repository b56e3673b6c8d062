# How one .cu file becomes a program or a shared object that runs without a GPU, and how
# the runtime becomes libcusim.so: the only compile rules for CUDA. Called by
# common/python/cusim/build.py:
#
#   make -f common/cusim/cusim.mk SOURCE=labs/04_cuda_kernels/add/00_strided.cu STEM=build/x
#
#   MODE     run; check: ASan and UBSan; trace: every access told to the runtime
#            debug: run at -O0, for gdb
#   KIND     exe: $(STEM); so: $(STEM).so
#   STEM     where to build, a path without suffix
#   CXX      g++ or clang++, also with a version
#   EXTRA    more flags for SOURCE: -D, -I
#   BUILD    of the runtime (default build/cusim)
#   PYTHON   for the rewriter (default python3); 3.10 or newer
#
# SOURCE is preprocessed, rewritten (cusim.rewrite) and compiled. Nothing but the
# compiler, make and Python's standard library is needed.
#
# __CUDA_ARCH__ is 800 in the whole file: a kernel body under #if __CUDA_ARCH__ >= 700
# must not vanish. A function that asks for it with #ifdef takes the device's branch.

MODE   ?= run
KIND   ?= exe
EXTRA  ?=
BUILD  ?= build/cusim
PYTHON ?= python3
STEM   ?= $(error say where to: STEM=build/name)
SOURCE ?= $(error say which: SOURCE=file.cu)

HERE   := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))/
BESIDE := $(wildcard $(dir $(SOURCE))*.h)
HOST   := $(shell uname -m)
include $(HERE)../isa.mk
CLANG  := $(findstring clang,$(shell $(CXX) --version 2>&1 | head -1))
NAME   := $(notdir $(firstword $(CXX)))-$(MODE)
FOLDER := $(BUILD)/$(NAME)

# A GPU contracts a * b + c. Baseline x86-64 cannot: the native flags are for that, and
# are left out where accesses are counted (wider registers would merge them).
NATIVE := $(if $(filter x86_64 amd64,$(HOST)),$(MARCH_HERE))
# A loop that waits is to wait, as it may on a card. And addr2line does not find what
# clang inlined if it is told so in DWARF 5.
COMMON := -std=c++17 -g -gdwarf-4 -fPIC -fno-semantic-interposition \
          -fno-strict-aliasing -fno-math-errno -ffp-contract=fast \
          -fno-threadsafe-statics -fno-finite-loops -fno-builtin-printf
WARN   := -Wall -Werror=return-type -Wno-sign-compare -Wno-unknown-pragmas -Wno-unused \
          $(if $(CLANG),-Wno-pass-failed -fno-caret-diagnostics) \
          $(if $(CLANG),,-fno-diagnostics-show-caret)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
            -fno-sanitize=pointer-overflow,nonnull-attribute,vptr
# -fsanitize=thread is for its calls of __tsan_read4 and so on, which the runtime
# defines: no sanitizer is linked. One access of the source shall be one call.
TRACE_gcc   := -fno-tree-sra -fno-tree-vectorize -fno-tree-slp-vectorize \
               -fno-store-merging \
               -fno-tree-loop-distribute-patterns \
               --param tsan-instrument-func-entry-exit=0
TRACE_clang := -fno-vectorize -fno-slp-vectorize -fno-unroll-loops \
               -mllvm -disable-vector-combine \
               -mllvm -tsan-instrument-func-entry-exit=0 \
               -mllvm -tsan-instrument-read-before-write=1
# clang 14 copies a float4 with a plain memcpy, gcc never reports one
OBJCOPY ?= objcopy
COPIES := memcpy memmove memset
# what kernels print is counted: limits.h
PRINTS := $(foreach f,printf vprintf,--redefine-sym $f=cusim_$f)
REWRITE_trace := --loops
AFTER_trace = $(foreach f,$(COPIES),--redefine-sym $f=__tsan_$f)
FLAGS_run   := -O2 $(NATIVE)
FLAGS_debug := -O0 $(NATIVE)
FLAGS_check := -O1 $(NATIVE) $(SANITIZE) -fno-omit-frame-pointer
FLAGS_trace := -O1 -fsanitize=thread -Wno-dangling-else $(if $(CLANG),$(TRACE_clang),$(TRACE_gcc))
MODE_FLAGS  := $(or $(FLAGS_$(MODE)),$(error MODE=$(MODE)? run, debug, check or trace))
FLAGS := $(COMMON) $(WARN) $(MODE_FLAGS)

CUDA  := -D__CUDACC__=1 -D__NVCC__=1 -D__CUDA_ARCH__=800 \
         -D__CUDACC_VER_MAJOR__=13 -D__CUDACC_VER_MINOR__=0 \
         -U_FORTIFY_SOURCE -isystem $(HERE)include -include cuda_runtime.h -I$(HERE)..
# what the preprocessor must know of the flags: __OPTIMIZE__, __FMA__ and the like
SEEN  := $(filter -std=% -O% -march=%,$(FLAGS))
# 16 MiB: a file that includes itself twice has a text without end
LIMIT_TEXT := ulimit -f 32768

RUNTIME_run   := -O2
RUNTIME_debug := -O2
RUNTIME_check := -O2 -DCUSIM_ASAN
RUNTIME_trace := -O2 -DCUSIM_TRACE
RUNTIME := -std=c++17 -g -fPIC -fno-strict-aliasing -fno-omit-frame-pointer \
           -Wall -Wextra -I$(HERE)include -I$(HERE)include/cusim $(RUNTIME_$(MODE))
PARTS   := $(sort $(wildcard $(HERE)src/*.cpp $(HERE)src/*.S))
OBJECTS := $(patsubst $(HERE)src/%,$(FOLDER)/%.o,$(PARTS))
LIB     := $(FOLDER)/libcusim.so

REWRITER := $(foreach part,edits launches loops refusals rewrite scopes shared tokens,\
                $(HERE)../python/cusim/$(part).py)

LINK_check := $(SANITIZE)
LINK_exe   := -rdynamic
LINK_so    := -shared -Wl,-Bsymbolic
OUT        := $(STEM)$(if $(filter so,$(KIND)),.so)

MAKEFLAGS += --no-builtin-rules
.PHONY: all runtime flags FORCE
all: $(OUT)
runtime: $(LIB)

$(OUT): $(STEM).o $(LIB)
	@$(CXX) $(LINK_$(KIND)) $(LINK_$(MODE)) -o $@.new $< -L$(FOLDER) -lcusim \
	    -Wl,-rpath,$(abspath $(FOLDER)) && mv $@.new $@

$(STEM).o: $(STEM).ii
	@$(CXX) $(FLAGS) -x c++-cpp-output -c -o $@.new $<
	@$(OBJCOPY) $(PRINTS) $(AFTER_$(MODE)) $@.new
	@mv $@.new $@

$(STEM).ii: $(SOURCE) $(STEM).flags $(REWRITER) $(wildcard $(HERE)include/*.h \
        $(HERE)include/cusim/*.h)
	@$(LIMIT_TEXT); $(CXX) -E -x c++ $(SEEN) $(CUDA) $(EXTRA) -MD -MF $(STEM).d -MT $@ \
	    -o $(STEM).i $< || { rm -f $(STEM).i; exit 1; }
	@PYTHONPATH=$(HERE)../python $(PYTHON) -S -m cusim.rewrite $(REWRITE_$(MODE)) < $(STEM).i \
	    > $@.new && mv $@.new $@

# a change of flags is a reason to build again, and another file with an older date
$(STEM).flags: FORCE
	@mkdir -p $(@D)
	@{ cat $(SOURCE) $(BESIDE) | cksum; echo '$(CXX) $(FLAGS) $(CUDA) $(EXTRA) $(NAME)'; \
	    echo '$(REWRITE_$(MODE))'; } > $@.new; \
	    cmp -s $@.new $@ || cp $@.new $@

# a template that the program has too, instrumented, must not take the place of ours
$(LIB): $(OBJECTS)
	@$(CXX) -shared -Wl,-Bsymbolic-functions -o $@.new $^ -ldl && mv $@.new $@

$(FOLDER)/%.o: $(HERE)src/% $(FOLDER)/flags
	@$(CXX) $(RUNTIME) -MMD -MF $(@:.o=.d) -MT $@ -c -o $@.new $< && mv $@.new $@

# without -I: a copy of the sources with its objects is up to date at another path
KEPT := $(CXX) $(filter-out -I%,$(RUNTIME))
$(FOLDER)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(KEPT)' | cmp -s - $@ || echo '$(KEPT)' > $@

flags:
	@echo '$(FLAGS)'

%.d: ;
%.h %.cuh %.hpp: ;
-include $(wildcard $(STEM).d) $(wildcard $(FOLDER)/*.d)
