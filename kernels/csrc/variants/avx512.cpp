#define RADIXKV_ISA avx512
#include "variants/kernels.inl"
