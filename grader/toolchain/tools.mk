# The grader's own programs in C, built into build/tools.
#
#   worker             loads and runs students' shared objects
#   libworker.so       the same ropes and rules for the Python worker
#   libsupervisor.so   memory, poison, hand-over, freezing, the clock
#   librates.so        this machine's peaks, for the speed check
#   nothing.so         a rung that does nothing, for the same
#   worker-asan        the worker with sanitizers; `all` leaves it out, not every compiler
#                      has them
#   worker-races       the worker that runs OpenMP's threads in turns and sees what they
#                      use; `races`
#   worker-cuda-MODE   the worker of lab 04, linked with cusim in that mode: run, check,
#                      trace; `cuda` builds all three
#   worker-cuda-gpu    the same with NVIDIA's runtime, for a card: `gpu`, which is told
#                      CUDA (the folder of cuda_runtime.h) and CUDART (libcudart.so and its
#                      rpath; in a test both are cusim's), and NVCC for the kernel of its
#                      own, hold.cu (without one it does not hold the card)
#   gpu_probe          tells of the card: `gpu_probe`, which is told NVCC
include common/isa.mk
BUILD ?= build
TOOLS := $(BUILD)/tools
CHECKED := -Wall -Wextra -Wshadow
CFLAGS_TOOLS := -std=gnu11 -O2 -g -fPIC $(CHECKED) -Icommon -Igrader/runner/worker

SUPERVISOR := core poison
TRIED      := refusing teams
WORKER     := worker scratch $(TRIED) link limits
WATCHED    := worker sanitized
PYTHON     := link limits
RACES      := worker races region openmp tsan
ALONE      := scratch refusing link limits
SANITIZE   := -fsanitize=address,undefined
COMMON     := check calls view_calls exhibit_calls
MODES      := run check trace
CARRIED    := scratch $(TRIED) link limits
RUNTIME    := $(BUILD)/cusim/runtime
FOLDER     := $(RUNTIME)/$(notdir $(firstword $(CXX)))
DEVICE_check := -DDEVICE_SANITIZED
LINK_check   := $(SANITIZE)
DEVICE_gpu   := -DDEVICE_CARD

# how each recipe for an object ends: it is whole, also if this one is killed
INTO = -MMD -MF $(@:.o=.d) -MT $@ -c -o $@.new $< && mv $@.new $@

.PHONY: all sanitized races cuda gpu gpu_probe runtime FORCE
all: $(TOOLS)/worker $(TOOLS)/libworker.so $(TOOLS)/libsupervisor.so \
     $(TOOLS)/librates.so $(TOOLS)/nothing.so

sanitized: $(TOOLS)/worker-asan
races: $(TOOLS)/worker-races

$(TOOLS)/libsupervisor.so: $(SUPERVISOR:%=$(TOOLS)/objects/supervisor/%.o)
	@$(CC) -shared -o $@.new $^ && mv $@.new $@
# teams.c stands before OpenMP's runtime: a rung finds it there only if it is exported
$(TOOLS)/worker: $(WORKER:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o) \
                 grader/runner/worker/worker.list grader/toolchain/tools.mk
	@$(CC) -Wl,--dynamic-list=grader/runner/worker/worker.list -o $@.new $(filter %.o,$^) -ldl -lm \
	    && mv $@.new $@
# the worker's own code is not watched: the student's is
$(TOOLS)/worker-asan: $(WATCHED:%=$(TOOLS)/objects/watched/%.o) \
                      $(TRIED:%=$(TOOLS)/objects/worker/%.o) $(PYTHON:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o) \
                      $(TOOLS)/compiler
	@$(CC) $(SANITIZE) -o $@.new $(filter %.o,$^) -ldl -lm && mv $@.new $@
# a rung takes its functions for OpenMP and for every access from the program
$(TOOLS)/worker-races: $(RACES:%=$(TOOLS)/objects/races/%.o) \
                       $(ALONE:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o)
	@$(CC) -rdynamic -pthread -o $@.new $^ -ldl -lm && mv $@.new $@
# a rung's own libcusim.so has the same name: the loader gives it the one linked here
$(MODES:%=$(TOOLS)/worker-cuda-%): $(TOOLS)/worker-cuda-%: \
    $(TOOLS)/objects/cuda-%/worker.o $(TOOLS)/objects/cuda-%/device.o \
    $(CARRIED:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o) \
    $(TOOLS)/compiler
	@$(CXX) $(LINK_$*) -o $@.new $(filter %.o,$^) -L$(FOLDER)-$* -lcusim \
	    -Wl,-rpath,'$$ORIGIN/../cusim/runtime/$(notdir $(FOLDER))-$*' -ldl -lm && mv $@.new $@
# first the runtime: another makefile knows when it is out of date
cuda: runtime
	@$(MAKE) -f grader/toolchain/tools.mk BUILD=$(BUILD) $(MODES:%=$(TOOLS)/worker-cuda-%)
runtime:
	@for mode in $(MODES); do \
	    $(MAKE) -f common/cusim/cusim.mk runtime MODE=$$mode BUILD=$(RUNTIME) \
	        SOURCE=none STEM=$(TOOLS)/none || exit 1; \
	done
# libcudart.so is shared with the rungs that are loaded later: one runtime, one list of
# errors, one context
HOLD := $(if $(NVCC),$(TOOLS)/objects/cuda-gpu/hold.o)
gpu: $(TOOLS)/worker-cuda-gpu
$(TOOLS)/objects/cuda-gpu/hold.o: grader/runner/worker/hold.cu $(TOOLS)/toolkit
	@mkdir -p $(@D)
	@$(NVCC) -std=c++17 -O3 -arch=all-major -Xcompiler -fPIC -c -o $@ $<
$(TOOLS)/worker-cuda-gpu: $(HOLD) \
    $(TOOLS)/objects/cuda-gpu/worker.o $(TOOLS)/objects/cuda-gpu/device.o \
    $(CARRIED:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o)
	@$(CXX) -o $@.new $^ $(CUDART) -ldl -lm && mv $@.new $@
$(TOOLS)/objects/cuda-gpu/device.o: grader/runner/worker/device.cpp $(TOOLS)/toolkit
	@mkdir -p $(@D)
	@$(CXX) -std=c++17 -O2 -g -fPIC $(CHECKED) -Icommon -isystem $(CUDA) -DDEVICE \
	    $(DEVICE_gpu) $(INTO)
gpu_probe: $(TOOLS)/gpu_probe
$(TOOLS)/gpu_probe: grader/toolchain/gpu_probe.cu $(TOOLS)/toolkit
	@$(NVCC) -std=c++17 -O3 -arch=all-major -cudart static -o $@.new $< && mv $@.new $@
$(TOOLS)/toolkit: FORCE
	@mkdir -p $(@D)
	@echo '$(CXX) $(CUDA) $(CUDART) $(NVCC)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
# sanitizers come with their compiler: another one is a reason to link again
$(TOOLS)/compiler: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CXX)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
$(TOOLS)/march: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(MARCH_HERE)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
$(TOOLS)/libworker.so: $(PYTHON:%=$(TOOLS)/objects/worker/%.o)
	@$(CC) -shared -o $@.new $^ -ldl && mv $@.new $@
# linked with all that a rung may be: the loader tells of it what a sandbox must show
$(TOOLS)/nothing.so: grader/runner/supervisor/nothing.c grader/toolchain/tools.mk \
                     $(TOOLS)/compiler
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -shared -fopenmp -Wl,--no-as-needed -o $@.new $< -lm -lgcc_s \
	    && mv $@.new $@
$(TOOLS)/librates.so: grader/runner/supervisor/rates.c grader/runner/supervisor/rates.h grader/toolchain/tools.mk \
                      $(TOOLS)/march
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -O3 $(MARCH_HERE) -ffp-contract=fast -shared -o $@.new $< \
	    && mv $@.new $@

$(TOOLS)/objects/%.o: grader/runner/%.c grader/toolchain/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) $(INTO)
$(WATCHED:%=$(TOOLS)/objects/watched/%.o): $(TOOLS)/objects/watched/%.o: \
    grader/runner/worker/%.c grader/toolchain/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -DSANITIZED $(INTO)
$(TOOLS)/objects/races/%.o: grader/runner/worker/%.c grader/toolchain/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -DRACES $(INTO)
$(TOOLS)/objects/cuda-%/worker.o: grader/runner/worker/worker.c grader/toolchain/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -DDEVICE $(DEVICE_$*) $(INTO)
$(TOOLS)/objects/cuda-%/device.o: grader/runner/worker/device.cpp $(TOOLS)/compiler
	@mkdir -p $(@D)
	@$(CXX) -std=c++17 -O2 -g -fPIC $(CHECKED) -Icommon -isystem common/cusim/include \
	    -DDEVICE $(DEVICE_$*) $(INTO)
$(COMMON:%=$(TOOLS)/objects/%.o): $(TOOLS)/objects/%.o: common/%.c grader/toolchain/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) $(INTO)

# a header that has moved is a reason to build again, and no error
%.h: ;
-include $(wildcard $(TOOLS)/objects/*/*.d $(TOOLS)/objects/*.d)
