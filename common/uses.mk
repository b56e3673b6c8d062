# What a rung uses of other objects, for rung.mk and cuda.mk. Both set USES, DTYPES, STEM,
# LINK and their first goal before they include this.

COMMA := ,
PAIRS = $(subst $(COMMA), ,$(firstword $(subst @, ,$(1))))
NAME  = $(firstword $(subst =, ,$(1)))
# how the rung calls each function, the part that each object becomes, the objects
NAMES := $(foreach use,$(USES),$(foreach pair,$(call PAIRS,$(use)),$(call NAME,$(pair))))
PARTS := $(foreach use,$(USES),$(call NAME,$(use)))
USED  := $(foreach use,$(USES),$(patsubst $(firstword $(subst @, ,$(use)))@%,%,$(use)))

# other used objects, or the same ones changed, are a reason to link again
$(STEM).uses: FORCE
	@mkdir -p $(@D)
	@{ echo '$(USES) $(LINK)'; cat /dev/null $(foreach d,$(DTYPES),$(subst %,$d,$(USED))); } \
	    | cksum > $@.new; cmp -s $@.new $@ || cp $@.new $@
