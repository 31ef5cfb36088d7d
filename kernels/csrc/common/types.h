// Element types and the packed form of a weight matrix.
#pragma once

#include <cstdint>

namespace radixkv {

enum class Type : std::int32_t { f32, bf16, f16 };

constexpr std::int64_t size_of(Type type) { return type == Type::f32 ? 4 : 2; }

// Elements that lie side by side in 4 bytes: what one lane of a product takes at once.
constexpr std::int64_t lane_elements(Type type) { return 4 / size_of(type); }

constexpr std::int64_t kLanes = 16;  // columns of a block, 32-bit lanes of a vector

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A matrix (out_features, in_features) as blocks of 16 columns: [column block][in_features / p][16][p], p elements to a
// lane. Columns beyond out_features are zero. This is the order of AMX and of vdpbf16ps operands.
struct PackedWeights {
    const void* data = nullptr;
    const float* bias = nullptr;  // (16 * blocks()) or null
    std::int64_t in_features = 0;
    std::int64_t out_features = 0;
    Type type = Type::f32;

    std::int64_t blocks() const { return ceil_div(out_features, kLanes); }
    std::int64_t steps() const { return in_features / lane_elements(type); }
    std::int64_t block_bytes() const { return steps() * kLanes * 4; }
    std::int64_t bytes() const { return blocks() * block_bytes(); }
};

enum class Finish : std::int32_t {
    store,      // output row = product + bias, in the output's type
    add,        // fp32 output row += product + bias
    silu_gate,  // columns are blocks of gate and up in turn; output row = silu(gate) * up, half as wide
};

// output (rows, ...) = finish(input (rows, in_features) x weights), one row at a time: a row's result does not depend on
// the others, nor on how rows and columns are divided among threads.
struct LinearArgs {
    const PackedWeights* weights = nullptr;
    const void* input = nullptr;  // in the weights' type
    std::int64_t rows = 0;
    std::int64_t input_stride = 0;  // elements
    void* output = nullptr;
    std::int64_t output_stride = 0;  // elements
    Type output_type = Type::f32;
    Finish finish = Finish::store;
};

}  // namespace radixkv
