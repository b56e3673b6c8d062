# How one rung becomes objects and a shared object per dtype: the only compile rules for
# student code. Called by grader/build.py, once per rung:
#
#   make -f common/rung.mk RUNG=labs/02_naive_c/conv2d/00_definition.c
#
#   DTYPES   f32 f64 (the default): one shared object each
#   MODE     release; debug: -O0 -g, for make debug; strict: release, warnings are errors
#   EXTRA    flags from lab.toml, already checked against the allow-list
#   BUILD    where to build (default build)
#
# A rung links with -Bsymbolic, so that f32 and f64 libraries with the same names never
# mix, and with -z defs, so that a forgotten function is a build error and no surprise.

BUILD  ?= build
DTYPES ?= f32 f64
MODE   ?= release
EXTRA  ?=
RUNG   ?= $(error say which: make -f common/rung.mk RUNG=labs/.../NN_idea.c)

INCLUDE := $(dir $(lastword $(MAKEFILE_LIST)))

COMMON  := -std=c11 -g -fPIC -I$(INCLUDE) -fno-math-errno -ffp-contract=fast -fopenmp
WARN    := -Wall -Wextra -Wno-unused-parameter -Wno-unknown-pragmas
FLAGS_release := -O3 -march=native $(COMMON) $(WARN)
FLAGS_debug   := -O0 $(COMMON) $(WARN)
FLAGS_strict  := -O3 -march=native $(COMMON) -Wall -Wextra -Wshadow -Wconversion -Werror
FLAGS   := $(FLAGS_$(MODE)) $(EXTRA)

STEM    := $(BUILD)/rungs/$(MODE)/$(basename $(RUNG:labs/%=%))
OBJECTS := $(DTYPES:%=$(STEM).%.o)
LIBS    := $(DTYPES:%=$(STEM).%.so)

MAKEFLAGS += --no-builtin-rules
.PHONY: all flags FORCE
.SECONDARY: $(OBJECTS)
all: $(LIBS)

$(STEM).%.so: $(STEM).%.o
	@$(CC) -shared -Wl,-Bsymbolic -Wl,-z,defs -fopenmp -o $@.new $< -lm && mv $@.new $@

$(STEM).%.o: $(RUNG) $(STEM).flags
	@$(CC) $(FLAGS) -DREAL_$(if $(filter f64,$*),F64,F32) -MMD -c -o $@ $<

# a change of flags is a reason to build again
$(STEM).flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(FLAGS)' | cmp -s - $@ || echo '$(CC) $(FLAGS)' > $@

flags:
	@echo '$(FLAGS)'

%.d: ;
-include $(OBJECTS:.o=.d)
