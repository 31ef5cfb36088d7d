// Weights packed once.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace radixkv {

// Write a row of a matrix, `elements` values of the weights' type, into column `column` of the packed form. What the
// row lacks to in_features stays zero, as the memory is before.
void pack_row(const PackedWeights& weights, void* packed, std::int64_t column, const void* row, std::int64_t elements);

// The column as a row again: (in_features).
void unpack_row(const PackedWeights& weights, std::int64_t column, void* row);

}  // namespace radixkv
