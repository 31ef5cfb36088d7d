#define RADIXKV_ISA plain
#include "variants/kernels.inl"
