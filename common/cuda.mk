# How one rung of lab 04 becomes objects and a shared object per dtype, without a GPU:
# what rung.mk is for C. The compile rules are those of common/cusim/cusim.mk; here they
# are called once for each dtype. Called by grader/toolchain/cusim.py, with the same words as rung.mk:
#
#   make -f common/cuda.mk RUNG=labs/04_cuda_kernels/add/00_strided.cu
#
#   DTYPES   f32 f64 (the default), f16: one shared object each
#   MODE     run; debug: -O0, for gdb; check: ASan and UBSan; trace: accesses are told;
#            gpu: nvcc in the place of cusim, for a real card. Then also
#              NVCC     the compiler
#              CUDART   libcudart.so, the one worker-cuda-gpu is linked with, and its rpath
#              ARCH     sm_90, or several: the kinds of cards it is to run on
#   EXTRA, USES, FOLDER, BUILD   as in rung.mk
#   PYTHON   for the rewriter of cusim
#
# The runtime of the mode has to be there: make -f grader/toolchain/tools.mk cuda. With MODE=gpu it
# is shared by rung and worker: with a copy in each, an error that one of them makes is
# not seen by the other when it asks cudaGetLastError.

BUILD  ?= build
DTYPES ?= f32 f64
MODE   ?= run
EXTRA  ?=
USES   ?=
FOLDER ?= cuda-$(MODE)
PYTHON ?= python3
OBJCOPY ?= objcopy
RUNG   ?= $(error say which: make -f common/cuda.mk RUNG=labs/.../NN_idea.cu)

INCLUDE := $(dir $(lastword $(MAKEFILE_LIST)))
RUNTIME := $(BUILD)/cusim/runtime
LIBRARY := $(RUNTIME)/$(notdir $(firstword $(CXX)))-$(MODE)
STEM    := $(BUILD)/rungs/$(FOLDER)/$(basename $(RUNG:labs/%=%))
OBJECTS := $(DTYPES:%=$(STEM).%.o)

# a sanitizer's functions come with the program that loads the library
LINK_check := -fsanitize=address,undefined
LINK    := $(if $(LINK_$(MODE)),$(LINK_$(MODE)),-Wl,-z,defs)
LIBS_cusim := -L$(LIBRARY) -lcusim -lm -Wl,-rpath,$(abspath $(LIBRARY))
LIBS_gpu   := $(CUDART) -lm
LIBS    := $(LIBS_$(if $(filter gpu,$(MODE)),gpu,cusim))
CARDS   := $(foreach arch,$(ARCH),-gencode arch=$(arch:sm_%=compute_%),code=$(arch))
# for several kinds of cards also PTX, from which a driver compiles for later ones
NEWEST  := $(if $(word 2,$(ARCH)),$(lastword $(filter-out %a,$(ARCH))))
PTX     := $(NEWEST:sm_%=compute_%)
CARDS   += $(foreach arch,$(PTX),-gencode arch=$(arch),code=$(arch))
REAL     = -DREAL_$(if $(filter f64,$*),F64,$(if $(filter f16,$*),F16,F32))

# an inline function of a header may be in two objects: it keeps its name, one is enough
JOIN     = $(CXX) -r -nostdlib
HIDE    :=

MAKEFLAGS += --no-builtin-rules
.PHONY: all objects compiled FORCE
.SECONDARY: $(OBJECTS) $(DTYPES:%=$(STEM).%.whole)
all: $(DTYPES:%=$(STEM).%.so)
objects compiled: $(OBJECTS)
include $(INCLUDE)uses.mk

# a new runtime is no reason to link again: the loader takes the one of that day
$(STEM).%.so: $(STEM).%.$(if $(USES),whole,o) $(STEM).uses
	@$(CXX) -shared -fno-lto -Wl,-Bsymbolic $(LINK) -o $@.new $< $(LIBS) && mv $@.new $@

ifeq ($(MODE),gpu)
$(STEM).%.o: $(RUNG) $(INCLUDE)cuda.mk $(STEM).card
	@mkdir -p $(@D)
	@$(NVCC) -std=c++17 -O3 -lineinfo $(REAL) -I$(INCLUDE) -Xcompiler -fPIC \
	    $(CARDS) -MMD -MF $(STEM).$*.d -MT $@ \
	    -c -o $@.new $< && mv $@.new $@
$(STEM).card: FORCE
	@mkdir -p $(@D)
	@echo '$(NVCC) $(ARCH)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
%.h: ;
-include $(DTYPES:%=$(STEM).%.d)
else
# cusim.mk knows what is out of date
$(STEM).%.o: FORCE
	@$(MAKE) -f $(INCLUDE)cusim/cusim.mk SOURCE=$(RUNG) STEM=$(STEM).$* MODE=$(MODE) \
	    KIND=so BUILD=$(RUNTIME) PYTHON=$(PYTHON) \
	    EXTRA='$(EXTRA) $(REAL)' $@
endif
