// A step's attention as tasks that threads can do in any order.
#pragma once

#include <cstdint>

#include "common/kv.h"

namespace radixkv {

constexpr std::int64_t kKeyChunk = 128;  // keys whose scores are computed before they are turned into weights
constexpr std::int64_t kTaskRows = 192;  // query rows of a task at most; a row is one head of one token

// Attention of some tokens to keys [first_key, last_key) of one block table, for the heads that share one KV head. A token at
// position p sees keys from p - window + 1 to p of those.
struct AttentionTask {
    const std::int32_t* tokens = nullptr;  // indices into the step's tokens
    std::int64_t num_tokens = 0;
    const std::int32_t* blocks = nullptr;  // key k is in blocks[k / block_size]
    std::int64_t first_key = 0;
    std::int64_t last_key = 0;
    const std::int32_t* parts = nullptr;  // per token: where its partial result goes; null: the result is final
    std::int64_t kv_head = 0;
};

// What all tasks of a layer have in common. A partial result is (head_dim) sums, weighted by 2^(score - most), and with them
// `most` and the sum of the weights.
struct AttentionArgs {
    KVView kv;
    std::int64_t layer = 0;
    std::int64_t heads = 0;
    const float* query = nullptr;  // (tokens, query_stride): head_dim values per head
    std::int64_t query_stride = 0;
    void* output = nullptr;  // (tokens, output_stride)
    std::int64_t output_stride = 0;
    Type output_type = Type::f32;
    const std::int32_t* positions = nullptr;  // of the step's tokens
    float scale = 0;
    float soft_cap = 0;           // 0: none
    std::int64_t window = 0;      // 0: none
    float* part_sums = nullptr;   // (parts, heads, head_dim)
    float* part_stats = nullptr;  // (parts, heads, 2): most, sum of weights
};

// The partial results of one token: parts [first_part, first_part + num_parts) make up its attention.
struct MergeTask {
    std::int32_t token = 0;
    std::int32_t first_part = 0;
    std::int32_t num_parts = 0;
};

// Floats that one thread works in.
inline std::int64_t scratch_floats(const KVShape& shape, std::int64_t group) {
    const std::int64_t rows = kTaskRows > group ? kTaskRows : group;
    const std::int64_t chunk = 2 * kKeyChunk * shape.head_dim;  // keys and values, where they are gathered
    return rows * (2 * kKeyChunk + 2 * shape.head_dim + 2) + chunk + 4 * kLanes;
}

}  // namespace radixkv
