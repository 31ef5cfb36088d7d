// The KV of all blocks, and attention over it.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/plan.h"
#include "common/arena.h"
#include "common/kv.h"
#include "variants/kernels.h"

namespace radixkv {

class KVStore {
   public:
    explicit KVStore(const KVShape& shape) : shape_(shape), arena_(shape.blocks * shape.block_bytes()) {}

    const KVShape& shape() const { return shape_; }
    KVView view() const { return {static_cast<char*>(arena_.data()), shape_}; }

    // Copy the first `tokens` slots of a block to another one, every layer.
    void copy_slots(std::int64_t source, std::int64_t target, std::int64_t tokens);

   private:
    KVShape shape_;
    Arena arena_;
};

// What a layer's attention computes, beside the batch.
struct LayerAttention {
    std::int64_t heads = 0;
    float scale = 0;
    std::int64_t window = 0;
    float soft_cap = 0;
};

// One step's attention: the plan, and the memory for partial results. Called from inside a parallel region, where every thread
// calls `run` once per layer, with a barrier before and after.
class StepAttention {
   public:
    void plan(AttentionPlan plan, const KVShape& shape, std::int64_t layers, std::int64_t heads, int threads);

    const AttentionPlan& current() const { return plan_; }

    // One thread's share of the tasks. `args` lacks positions and parts, which are filled in here. Ends with the parts written:
    // after a barrier `merge` puts them together.
    void run(const Kernels& kernels, AttentionArgs args, std::int64_t layer, int thread);
    void merge(const Kernels& kernels, AttentionArgs args, int thread, int threads);
    bool has_parts() const { return plan_.num_parts() > 0; }

    // Let `run` begin again for every layer.
    void rewind();

   private:
    AttentionArgs completed(AttentionArgs args) const;

    AttentionPlan plan_;
    std::vector<std::int64_t> next_;  // per layer: the next task to be done
    std::vector<float> sums_, stats_;
    std::vector<float> scratch_;
    std::int64_t scratch_floats_ = 0;
};

}  // namespace radixkv
