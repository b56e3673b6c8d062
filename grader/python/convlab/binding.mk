# The extension module behind convlab.load: pybind11 around the table of common/calls.h.
# Called by _native.py:
#
#   make -f grader/python/convlab/binding.mk OUT=build/python/cpython-311 \
#       INCLUDES="-isystem ..."    of Python and pybind11

OUT      ?= build/python
INCLUDES ?= $(error convlab.load calls this file and says where the headers are)

CUSIM    ?= $(error say where libcusim.so is)

HERE   := $(dir $(lastword $(MAKEFILE_LIST)))
COMMON := $(HERE)../../../common/
CHECKED := -Wall -Wextra -fPIC -fvisibility=hidden -I$(COMMON) $(INCLUDES) -MMD
INTO = -MF $(@:.o=.d) -MT $@ -c -o $@.new $< && mv $@.new $@

MAKEFLAGS += --no-builtin-rules
.PHONY: all FORCE
all: $(OUT)/_binding.so

$(OUT)/_binding.so: $(OUT)/_binding.o $(OUT)/calls.o $(OUT)/check.o
	@$(CXX) -shared -o $@.new $^ -ldl && mv $@.new $@

$(OUT)/_binding.o: $(HERE)_binding.cpp $(OUT)/flags
	@$(CXX) -std=c++17 -O0 $(CHECKED) $(INTO)
$(OUT)/calls.o $(OUT)/check.o: $(OUT)/%.o: $(COMMON)%.c $(OUT)/flags
	@$(CC) -std=c11 -O2 $(CHECKED) $(INTO)

# for CUDA: only where cusim's runtime was built, and linked with it
$(OUT)/device.so: $(HERE)_device.cpp $(OUT)/flags
	@$(CXX) -std=c++17 -O1 $(CHECKED) -isystem $(COMMON)cusim/include \
	    -fvisibility=default -MF $(OUT)/device.d -MT $@ -shared -o $@.new $< \
	    -L$(CUSIM) -lcusim -Wl,-rpath,$(abspath $(CUSIM)) && mv $@.new $@

# other flags, compilers or headers are a reason to build again
$(OUT)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CXX) $(CHECKED)' | cmp -s - $@ || echo '$(CC) $(CXX) $(CHECKED)' > $@

%.h %.hpp: ;
-include $(wildcard $(OUT)/*.d)
