// Single values of the 16-bit types.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/types.h"

namespace radixkv {

inline float from_bf16(std::uint16_t half) {
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

inline float from_f16(std::uint16_t half) {
    const std::uint32_t magnitude = (half & 0x7FFFu) << 13, sign = (half & 0x8000u) << 16;
    float value;
    std::memcpy(&value, &magnitude, 4);
    value *= 0x1p112f;  // moves the exponent, subnormals too
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits |= sign | (magnitude >= (0x7C00u << 13) ? 0x7F800000u : 0u);
    std::memcpy(&value, &bits, 4);
    return value;
}

}  // namespace radixkv
