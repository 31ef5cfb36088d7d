#define RADIXKV_ISA avx2
#include "variants/kernels.inl"
