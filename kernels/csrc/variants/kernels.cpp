#include "variants/kernels.h"

namespace radixkv {

namespace plain {
extern const Kernels kKernels;
}
#if defined(RADIXKV_X86_VARIANTS)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx512_bf16 {
extern const Kernels kKernels;
}
#endif

const Kernels& kernels_of(Isa isa) {
#if defined(RADIXKV_X86_VARIANTS)
    switch (isa) {
        case Isa::plain:
            break;
        case Isa::avx2:
            return avx2::kKernels;
        case Isa::avx512:
            return avx512::kKernels;
        case Isa::avx512_bf16:
            return avx512_bf16::kKernels;
    }
#endif
    return plain::kKernels;
}

}  // namespace radixkv
