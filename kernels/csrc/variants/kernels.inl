// Everything that is compiled once for each instruction set. RADIXKV_ISA is the variant's namespace.

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "variants/kernels.h"

namespace radixkv {
namespace RADIXKV_ISA {

#include "variants/simd.inl"

#include "variants/linear.inl"

#include "variants/attention.inl"

#include "variants/pointwise.inl"

extern const Kernels kKernels;
const Kernels kKernels = {&linear, &attention, &merge, &norm, &rotate, &convert};

}  // namespace RADIXKV_ISA
}  // namespace radixkv
