# What a rung uses of other objects, for rung.mk and cuda.mk. Both set USES, DTYPES, STEM,
# LINK, JOIN, HIDE and their first goal before they include this.
#
#   USES   a list of OLD=NEW,OLD=NEW@OBJECT: one is of the rung itself, without an
#          object; each other one is an object that is linked in, once. Its names OLD
#          become NEW, those that it defines and those that it calls; % is the dtype.
#          NEW begins with convlab_part, which no rung may call (products.py), or is
#          what the library exports.
#          A word OTHER=NEW, without @, is one more name of a function: objcopy gives two
#          functions that a rung calls no common name
#   JOIN   links objects into one
#   HIDE   yes: the other names of an object are hidden from the rest

LINKED := $(foreach use,$(USES),$(if $(findstring @,$(use)),$(use)))
OTHERS := $(filter-out $(LINKED),$(USES))
USED   := $(foreach use,$(LINKED),$(patsubst $(firstword $(subst @, ,$(use)))@%,%,$(use)))

# other used objects, or the same ones changed, are a reason to link again
$(STEM).uses: FORCE
	@mkdir -p $(@D)
	@{ echo '$(USES) $(LINK)'; cat /dev/null $(foreach d,$(DTYPES),$(subst %,$d,$(USED))); } \
	    | cksum > $@.new; cmp -s $@.new $@ || cp $@.new $@

# the rung and the objects; afterwards no name of an object can be seen from outside
$(STEM).%.whole: $(STEM).%.o $(STEM).uses
	@mkdir -p $@.parts; parts=; number=0; \
	for use in $(subst %,$*,$(LINKED)); do \
	    object=$${use#*@} part=$@.parts/$$number.o rename= keep=; \
	    for pair in $$(echo "$${use%%@*}" | tr , ' '); do \
	        rename="$$rename --redefine-sym $$pair"; \
	        keep="$$keep --keep-global-symbol=$${pair#*=}"; \
	    done; \
	    $(OBJCOPY) $$rename "$${object:-$<}" $$part || exit 1; \
	    test -z "$$object" -o -z '$(HIDE)' || $(OBJCOPY) $$keep $$part || exit 1; \
	    parts="$$parts $$part" number=$$((number + 1)); \
	done; \
	$(JOIN) $(OTHERS:%=-Wl,--defsym=%) -o $@.new $$parts && rm -r $@.parts
	@$(OBJCOPY) --wildcard --localize-symbol='convlab_part*' $@.new && mv $@.new $@
