#include "linear.h"

#include <cstring>

namespace radixkv {

namespace {

// Where a column lies in the first step of its block; later steps follow at 16 lanes each.
std::uint32_t* first_lane(const PackedWeights& weights, void* packed, std::int64_t column) {
    char* block = static_cast<char*>(packed) + column / kLanes * weights.block_bytes();
    return reinterpret_cast<std::uint32_t*>(block) + column % kLanes;
}

}  // namespace

void pack_row(const PackedWeights& weights, void* packed, std::int64_t column, const void* row, std::int64_t elements) {
    std::uint32_t* lane = first_lane(weights, packed, column);
    const char* from = static_cast<const char*>(row);
    const std::int64_t bytes = elements * size_of(weights.type);
    for (std::int64_t at = 0; at < bytes; at += 4, lane += kLanes) std::memcpy(lane, from + at, bytes - at < 4 ? bytes - at : 4);
}

void unpack_row(const PackedWeights& weights, std::int64_t column, void* row) {
    const std::uint32_t* lane = first_lane(weights, const_cast<void*>(weights.data), column);
    char* to = static_cast<char*>(row);
    for (std::int64_t step = 0; step < weights.steps(); ++step) std::memcpy(to + step * 4, lane + step * kLanes, 4);
}

}  // namespace radixkv
