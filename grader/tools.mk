# The grader's own programs in C, built into build/tools.
#
#   worker             loads and runs students' shared objects
#   libworker.so       the same ropes and rules for the Python worker
#   libsupervisor.so   memory, poison, hand-over, freezing, the clock
BUILD ?= build
TOOLS := $(BUILD)/tools
CHECKED := -Wall -Wextra -Wshadow
CFLAGS_TOOLS := -std=gnu11 -O2 -g -fPIC $(CHECKED) -Icommon -Igrader/worker

SUPERVISOR := core poison
WORKER     := worker calls scratch link guard
PYTHON     := link guard

.PHONY: all
all: $(TOOLS)/worker $(TOOLS)/libworker.so $(TOOLS)/libsupervisor.so

$(TOOLS)/libsupervisor.so: $(SUPERVISOR:%=$(TOOLS)/objects/supervisor/%.o)
	@$(CC) -shared -o $@.new $^ && mv $@.new $@
$(TOOLS)/worker: $(WORKER:%=$(TOOLS)/objects/worker/%.o) $(TOOLS)/objects/check.o
	@$(CC) -rdynamic -o $@.new $^ -ldl -lm && mv $@.new $@
$(TOOLS)/libworker.so: $(PYTHON:%=$(TOOLS)/objects/worker/%.o)
	@$(CC) -shared -o $@.new $^ -ldl && mv $@.new $@

$(TOOLS)/objects/%.o: grader/%.c grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -MMD -c -o $@ $<
$(TOOLS)/objects/check.o: common/check.c grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -MMD -c -o $@ $<

-include $(wildcard $(TOOLS)/objects/*/*.d $(TOOLS)/objects/*.d)
