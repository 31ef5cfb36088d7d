// Where keys and values lie.
//
// A block holds `block_size` tokens of every layer. Of one layer it has, for each KV head,
//     keys    [head_dim / p][block_size][p]
//     values  [ceil(block_size / p)][head_dim][p]
// all heads' keys before all heads' values, with p elements to 4 bytes: a vector of lanes then holds the keys of 16 tokens,
// or 16 columns of the values of p tokens, as products take them. What values have more than block_size tokens is padding.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace radixkv {

struct KVShape {
    std::int64_t layers = 0;
    std::int64_t blocks = 0;
    std::int64_t block_size = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    Type type = Type::f32;

    std::int64_t value_rows() const { return ceil_div(block_size, lane_elements(type)); }
    std::int64_t head_key_bytes() const { return block_size * head_dim * size_of(type); }
    std::int64_t head_value_bytes() const { return value_rows() * head_dim * 4; }
    std::int64_t layer_bytes() const { return kv_heads * (head_key_bytes() + head_value_bytes()); }
    std::int64_t block_bytes() const { return layers * layer_bytes(); }
};

struct KVView {
    char* data = nullptr;
    KVShape shape;

    char* keys(std::int64_t block, std::int64_t layer, std::int64_t head) const {
        return data + block * shape.block_bytes() + layer * shape.layer_bytes() + head * shape.head_key_bytes();
    }
    char* values(std::int64_t block, std::int64_t layer, std::int64_t head) const {
        return data + block * shape.block_bytes() + layer * shape.layer_bytes() + shape.kv_heads * shape.head_key_bytes() +
               head * shape.head_value_bytes();
    }
};

}  // namespace radixkv
