#include "attention/store.h"

#include <cstring>
#include <utility>

namespace radixkv {

void KVStore::copy_slots(std::int64_t source, std::int64_t target, std::int64_t tokens) {
    const KVView all = view();
    if (tokens == shape_.block_size) {
        std::memcpy(all.keys(target, 0, 0), all.keys(source, 0, 0), shape_.block_bytes());
        return;
    }
    const std::int64_t per_lane = lane_elements(shape_.type), row = shape_.block_size * 4;
    for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
        for (std::int64_t head = 0; head < shape_.kv_heads; ++head) {
            const char* keys = all.keys(source, layer, head);
            char* keys_to = all.keys(target, layer, head);
            for (std::int64_t step = 0; step < shape_.head_dim / per_lane; ++step) {
                std::memcpy(keys_to + step * row, keys + step * row, tokens * 4);
            }
            const char* values = all.values(source, layer, head);
            char* values_to = all.values(target, layer, head);
            const std::int64_t whole = tokens / per_lane * shape_.head_dim * 4;
            std::memcpy(values_to, values, whole);
            if (tokens % per_lane == 0) continue;
            for (std::int64_t i = 0; i < shape_.head_dim; ++i) {  // the token beside the last one is not copied, but zero
                std::memcpy(values_to + whole + i * 4, values + whole + i * 4, 2);
                std::memset(values_to + whole + i * 4 + 2, 0, 2);
            }
        }
    }
}

void StepAttention::plan(AttentionPlan plan, const KVShape& shape, std::int64_t layers, std::int64_t heads, int threads) {
    plan_ = std::move(plan);
    next_.assign(layers, 0);
    sums_.resize(plan_.num_parts() * heads * shape.head_dim);
    stats_.resize(plan_.num_parts() * heads * 2);
    scratch_floats_ = scratch_floats(shape, heads / shape.kv_heads);
    scratch_.resize(scratch_floats_ * threads);
}

AttentionArgs StepAttention::completed(AttentionArgs args) const {
    args.positions = plan_.positions().data();
    args.part_sums = const_cast<float*>(sums_.data());
    args.part_stats = const_cast<float*>(stats_.data());
    return args;
}

void StepAttention::run(const Kernels& kernels, AttentionArgs args, std::int64_t layer, int thread) {
    args = completed(args);
    float* scratch = scratch_.data() + thread * scratch_floats_;
    const auto count = static_cast<std::int64_t>(plan_.tasks().size());
    while (true) {
        std::int64_t task;
#pragma omp atomic capture
        task = next_[layer]++;
        if (task >= count) return;
        kernels.attention(args, plan_.tasks()[task], scratch);
    }
}

void StepAttention::merge(const Kernels& kernels, AttentionArgs args, int thread, int threads) {
    args = completed(args);
    float* scratch = scratch_.data() + thread * scratch_floats_;
    const auto count = static_cast<std::int64_t>(plan_.merges().size());
    for (std::int64_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i) {
        kernels.merge(args, plan_.merges()[i], scratch);
    }
}

void StepAttention::rewind() { next_.assign(next_.size(), 0); }

}  // namespace radixkv
