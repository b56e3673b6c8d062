# The instruction set of what is compiled, run and timed on this machine: all that it
# has, or with ISA=avx2 or ISA=avx512 no more than that level has, in our code (MARCH_HERE,
# the compiler's flags) and in PyTorch (a variable for each of its libraries). What is
# built and found out goes into a folder of its own, build/avx2.
# grader/toolchain/isa.py hands the variables on to the workers.

override ISA := $(value ISA)
CPUINFO ?= /proc/cpuinfo
KNOWN_ISA := avx2 avx512

# what the compiler calls it; what the processor must have; what oneDNN and MKL call it
LEVEL_avx2    := x86-64-v3
NEEDS_avx2    := avx2 bmi2 fma
ONEDNN_avx2   := AVX2
MKL_avx2      := AVX2
LEVEL_avx512  := x86-64-v4
NEEDS_avx512  := avx512f avx512bw avx512cd avx512dq avx512vl
ONEDNN_avx512 := AVX512_CORE
MKL_avx512    := AVX512

ifeq ($(ISA),)
MARCH_HERE := -march=native
else ifeq ($(LEVEL_$(ISA)),)
$(error ISA is '$(ISA)', expected $(subst $() $(), or ,$(KNOWN_ISA)), or nothing for all that this machine has)
else
# empty where no file tells: then nothing is refused
HAS_HERE   := $(shell grep -m1 -i -E '^(flags|features)' $(CPUINFO) 2> /dev/null)
LACKS_HERE := $(if $(HAS_HERE),$(filter-out $(HAS_HERE),$(NEEDS_$(ISA))))
ifneq ($(LACKS_HERE),)
$(error ISA is '$(ISA)', expected what this processor has, and it lacks $(LACKS_HERE); leave ISA= away to use all that it has)
endif
MARCH_HERE := -march=$(LEVEL_$(ISA)) -mtune=native
export ISA
export CONVLAB_BUILD ?= $(CURDIR)/build/$(ISA)
export ATEN_CPU_CAPABILITY := $(ISA)
export ONEDNN_MAX_CPU_ISA := $(ONEDNN_$(ISA))
# obeyed on Intel's processors only
export MKL_ENABLE_INSTRUCTIONS := $(MKL_$(ISA))
# torch.compile's cache does not know for which instruction set its kernels were made
export TORCHINDUCTOR_CACHE_DIR := $(CURDIR)/build/$(ISA)/inductor
endif
