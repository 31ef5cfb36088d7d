#define RADIXKV_ISA avx512_bf16
#include "variants/kernels.inl"
