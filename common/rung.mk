# How one rung becomes objects and a shared object per dtype: the only compile rules for
# student code. Called by grader/toolchain/build.py, once per rung:
#
#   make -f common/rung.mk RUNG=labs/02_naive_c/conv2d/00_definition.c
#
#   DTYPES   f32 f64 (the default): one shared object each
#   MODE     release; debug: -O0 -g, for make debug; strict: release, warnings are errors
#            sanitize: -O0 with AddressSanitizer and UBSan, for worker-asan. gcc fuses a
#            product and a sum only from -O1 on, where four known bugs are not found
#            races: -O1, every access to memory is told to worker-races
#            given: for every x86-64-v2 (SSE4.2), without debug information
#            package: as release, for setup.py of lab 05
#   MARCH    for given and package: the compiler's flag for some processors
#   EXTRA    flags from lab.toml, already checked against the allow-list
#   USES     what the rung uses of other objects (uses.mk)
#   FOLDER   of the mode (default MODE): to build the same rung with other USES
#   BUILD    where to build (default build)
#
# A rung links with -Bsymbolic, so that f32 and f64 libraries with the same names never
# mix, with -z defs, so that a forgotten function is a build error and no surprise, and
# with -nostartfiles: what is left to run while it is loaded is its own.

COMMA  := ,
BUILD  ?= build
DTYPES ?= f32 f64
MODE   ?= release
EXTRA  ?=
USES   ?=
FOLDER ?= $(MODE)
OBJCOPY ?= objcopy
RUNG   ?= $(error say which: make -f common/rung.mk RUNG=labs/.../NN_idea.c)

INCLUDE := $(dir $(lastword $(MAKEFILE_LIST)))
include $(INCLUDE)isa.mk
MARCH ?= $(MARCH_HERE)

COMMON  := -std=c11 -g -fPIC -I$(INCLUDE) -fno-math-errno -ffp-contract=fast -fopenmp
# a pointer that wraps and a NULL of no bytes do no harm as long as nobody follows them
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
            -fno-sanitize=pointer-overflow,nonnull-attribute
# a rung sees the macros of release: it cannot tell that it is watched
UNSEEN := -U__SANITIZE_ADDRESS__ -D__OPTIMIZE__=1 -U__NO_INLINE__
# every function exists: the runtime comes with the program that loads the library
LINK_sanitize := $(SANITIZE)
# no library for what the compiler inserts, and none for OpenMP: the program has its own
WATCHED := memcpy memmove memset
LINK_races := $(patsubst %,-Wl$(COMMA)--wrap=%,$(WATCHED) free realloc) -nostartfiles
OPENMP  := $(if $(filter races,$(MODE)),,-fopenmp)
LINK    := $(if $(LINK_$(MODE)),$(LINK_$(MODE)),-Wl,-z,defs -nostartfiles)
WARN    := -Wall -Wextra -Wno-unused-parameter -Wno-unknown-pragmas \
           -Werror=return-type
FLAGS_release := -O3 $(MARCH_HERE) $(COMMON) $(WARN)
FLAGS_debug   := -O0 $(COMMON) $(WARN)
FLAGS_strict  := -O3 $(MARCH_HERE) $(COMMON) -Wall -Wextra -Wshadow -Wconversion -Werror
FLAGS_sanitize := -O0 $(MARCH_HERE) $(COMMON) $(WARN) $(SANITIZE) \
                  -fno-omit-frame-pointer $(UNSEEN)
FLAGS_races   := -O1 -finline-functions $(MARCH_HERE) $(COMMON) $(WARN) \
                 -fsanitize=thread -U__SANITIZE_THREAD__ -fno-tree-loop-im \
                 $(WATCHED:%=-fno-builtin-%)
FLAGS_given   := -O2 $(MARCH) $(COMMON) -g0 $(WARN)
FLAGS_package := -O3 $(MARCH) $(COMMON) -g0 $(WARN)
FLAGS   := $(FLAGS_$(MODE)) \
           $(if $(filter debug sanitize races,$(MODE)),$(filter-out -O%,$(EXTRA)),$(EXTRA))

BESIDE  := $(wildcard $(dir $(RUNG))*.h)
STEM    := $(BUILD)/rungs/$(FOLDER)/$(basename $(RUNG:labs/%=%))
OBJECTS := $(DTYPES:%=$(STEM).%.o)
TEXTS   := $(DTYPES:%=$(STEM).%.i)
LIBS    := $(DTYPES:%=$(STEM).%.so)
REAL     = -DREAL_$(if $(filter f64,$*),F64,F32)
# 16 MiB: a file that includes itself twice has a text without end
LIMIT_TEXT := ulimit -f 32768

JOIN     = $(CC) -r -fno-lto -nostdlib
HIDE    := yes

MAKEFLAGS += --no-builtin-rules
.PHONY: all objects compiled flags FORCE
.SECONDARY: $(OBJECTS) $(DTYPES:%=$(STEM).%.whole)
all: $(LIBS)
objects: $(OBJECTS) $(TEXTS)
compiled: $(OBJECTS)
include $(INCLUDE)uses.mk

$(STEM).%.so: $(STEM).%.$(if $(USES),whole,o) $(STEM).uses
	@$(CC) -shared -fno-lto -Wl,-Bsymbolic $(LINK) $(OPENMP) -o $@.new $< -lm && mv $@.new $@

# a text that is too large is not compiled; for a package nobody looks at it
$(STEM).%.o: $(RUNG) $(STEM).flags $(if $(filter package,$(MODE)),,$(STEM).%.i)
	@$(CC) $(FLAGS) $(REAL) -MMD -MF $(@:.o=.d) -MT $@ -c -o $@.new $< && mv $@.new $@

# what the compiler is told in the end: the grader looks for words in it
$(STEM).%.i: $(RUNG) $(STEM).flags
	@$(LIMIT_TEXT); $(CC) $(FLAGS) $(REAL) -w -MMD -MT $@ -MF $@.d -E -o $@.new $< \
	    && mv $@.new $@ || { rm -f $@.new; exit 1; }

# a change of flags is a reason to build again, and another file with an older date
$(STEM).flags: FORCE
	@mkdir -p $(@D)
	@{ cat $(RUNG) $(BESIDE) | cksum; echo '$(CC) $(FLAGS)'; } > $@.new; \
	cmp -s $@.new $@ || cp $@.new $@

flags:
	@echo '$(FLAGS)'

%.d: ;
-include $(OBJECTS:.o=.d) $(TEXTS:=.d)
