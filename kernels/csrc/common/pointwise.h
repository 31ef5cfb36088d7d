// What happens to rows between products.
#pragma once

#include <cstdint>

#include "common/kv.h"

namespace radixkv {

// output = input / sqrt(mean(input^2) + eps) * weight, per row (arXiv 1910.07467).
struct NormArgs {
    const float* input = nullptr;  // (rows, size)
    std::int64_t size = 0;
    const float* weight = nullptr;  // (size)
    float eps = 0;
    void* output = nullptr;  // (rows, size)
    Type output_type = Type::f32;
};

// Of each token's heads: queries and keys are normed where there are weights and rotated (arXiv 2104.09864, the first half of a head paired
// with the second), queries in place; keys and values go to their slots.
struct RotateArgs {
    float* heads = nullptr;  // (tokens, stride): queries, keys, values
    std::int64_t stride = 0;
    std::int64_t query_heads = 0;
    const float* cosines = nullptr;  // (tokens, head_dim / 2)
    const float* sines = nullptr;
    const float* query_norm = nullptr;  // (head_dim) or null
    const float* key_norm = nullptr;
    float eps = 0;
    KVView kv;
    std::int64_t layer = 0;
    const std::int32_t* slots = nullptr;  // (tokens): block * block_size + offset
    const std::uint8_t* is_last = nullptr;  // (tokens): whether the sequence has no token behind it
};

}  // namespace radixkv
