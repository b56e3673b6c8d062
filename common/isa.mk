# The instruction set of what is compiled, run and timed on this machine: all that it
# has, or with ISA=avx2 no more than a processor with AVX2 has, in our code (MARCH_HERE,
# the compiler's flags) and in PyTorch (a variable for each of its libraries).
# grader/toolchain/isa.py hands these variables on to the workers.

ISA ?=
ifeq ($(ISA),)
MARCH_HERE := -march=native
else ifeq ($(ISA),avx2)
MARCH_HERE := -march=x86-64-v3 -mtune=native
export ISA
export ATEN_CPU_CAPABILITY := avx2
export ONEDNN_MAX_CPU_ISA := AVX2
export MKL_ENABLE_INSTRUCTIONS := AVX2
# torch.compile's cache does not know for which instruction set its kernels were made
export TORCHINDUCTOR_CACHE_DIR := $(CURDIR)/build/inductor-avx2
else
$(error ISA is '$(ISA)', expected avx2, or nothing for all that this machine has)
endif
