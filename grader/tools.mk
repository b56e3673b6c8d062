# The grader's own programs in C, built into build/tools.
#
#   worker             loads and runs students' shared objects
#   libworker.so       the same ropes and rules for the Python worker
#   libsupervisor.so   memory, poison, hand-over, freezing, the clock
#   librates.so        this machine's peaks, for the speed check
#   nothing.so         a rung that does nothing, for the same
#   worker-asan        the worker with sanitizers; `all` leaves it out, not every compiler
#                      has them
BUILD ?= build
TOOLS := $(BUILD)/tools
CHECKED := -Wall -Wextra -Wshadow
CFLAGS_TOOLS := -std=gnu11 -O2 -g -fPIC $(CHECKED) -Icommon -Igrader/worker

SUPERVISOR := core poison
WORKER     := worker scratch link guard
WATCHED    := worker sanitized
PYTHON     := link guard
SANITIZE   := -fsanitize=address,undefined
COMMON     := check calls

.PHONY: all sanitized FORCE
all: $(TOOLS)/worker $(TOOLS)/libworker.so $(TOOLS)/libsupervisor.so \
     $(TOOLS)/librates.so $(TOOLS)/nothing.so

sanitized: $(TOOLS)/worker-asan

$(TOOLS)/libsupervisor.so: $(SUPERVISOR:%=$(TOOLS)/objects/supervisor/%.o)
	@$(CC) -shared -o $@.new $^ && mv $@.new $@
$(TOOLS)/worker: $(WORKER:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o)
	@$(CC) -rdynamic -o $@.new $^ -ldl -lm && mv $@.new $@
# the worker's own code is not watched: the student's is
$(TOOLS)/worker-asan: $(WATCHED:%=$(TOOLS)/objects/watched/%.o) \
                      $(PYTHON:%=$(TOOLS)/objects/worker/%.o) $(COMMON:%=$(TOOLS)/objects/%.o) \
                      $(TOOLS)/compiler
	@$(CC) $(SANITIZE) -rdynamic -o $@.new $(filter %.o,$^) -ldl -lm && mv $@.new $@
# sanitizers come with their compiler: another one is a reason to link again
$(TOOLS)/compiler: FORCE
	@mkdir -p $(@D)
	@echo '$(CC)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
$(TOOLS)/libworker.so: $(PYTHON:%=$(TOOLS)/objects/worker/%.o)
	@$(CC) -shared -o $@.new $^ -ldl && mv $@.new $@
$(TOOLS)/nothing.so: grader/supervisor/nothing.c grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -shared -o $@.new $< && mv $@.new $@
$(TOOLS)/librates.so: grader/supervisor/rates.c grader/supervisor/rates.h grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -O3 -march=native -ffp-contract=fast -shared -o $@.new $< \
	    && mv $@.new $@

$(TOOLS)/objects/%.o: grader/%.c grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -MMD -c -o $@ $<
$(WATCHED:%=$(TOOLS)/objects/watched/%.o): $(TOOLS)/objects/watched/%.o: \
    grader/worker/%.c grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -DSANITIZED -MMD -c -o $@ $<
$(COMMON:%=$(TOOLS)/objects/%.o): $(TOOLS)/objects/%.o: common/%.c grader/tools.mk
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_TOOLS) -MMD -c -o $@ $<

# a header that has moved is a reason to build again, and no error
%.h: ;
-include $(wildcard $(TOOLS)/objects/*/*.d $(TOOLS)/objects/*.d)
