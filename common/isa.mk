# The instruction set that code of this machine is compiled for: all it has, or with
# ISA=avx2 no more than a processor with AVX2 has (grader/isa.py holds PyTorch to the
# same). Included by every Makefile that compiles what is run and timed here.
#
#   MARCH_HERE   the compiler's flags

ISA ?=
MARCH_OF_avx2 := -march=x86-64-v3 -mtune=native
MARCH_HERE := $(if $(ISA),$(or $(MARCH_OF_$(ISA)),\
    $(error ISA is '$(ISA)', expected avx2, or nothing for all that this machine has)),\
    -march=native)
