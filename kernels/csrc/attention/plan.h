// From a ragged batch to attention tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/tasks.h"

namespace radixkv {

// A step's batch. Sequence i has query tokens [query_pointers[i], query_pointers[i + 1]), the last ones of its kv_lengths[i] tokens, and
// blocks table_ids[table_pointers[i]..]. The rows of group g are group_rows[group_pointers[g]..]; their block tables begin with the
// same group_blocks[g] blocks. The numbers have been checked.
struct Batch {
    std::vector<std::int32_t> query_pointers, table_pointers, table_ids, kv_lengths;
    std::vector<std::int32_t> group_blocks, group_pointers, group_rows;

    std::int64_t sequences() const { return static_cast<std::int64_t>(kv_lengths.size()); }
    std::int64_t tokens() const { return query_pointers.back(); }
};

struct PlanOptions {
    std::int64_t heads = 0;
    std::int64_t threads = 1;
    bool share = true;  // attend to the blocks of groups once, and split long sequences; else each row is computed alone
};

// The tasks of a step, the costliest first, with the tables that they point into.
class AttentionPlan {
   public:
    AttentionPlan() = default;
    AttentionPlan(Batch batch, const KVShape& shape, const PlanOptions& options);
    AttentionPlan(const AttentionPlan&) = delete;
    AttentionPlan& operator=(const AttentionPlan&) = delete;
    AttentionPlan(AttentionPlan&&) = default;
    AttentionPlan& operator=(AttentionPlan&&) = default;

    std::int64_t tokens() const { return static_cast<std::int64_t>(positions_.size()); }
    std::int64_t num_parts() const { return num_parts_; }
    const std::vector<AttentionTask>& tasks() const { return tasks_; }
    const std::vector<MergeTask>& merges() const { return merges_; }
    const std::vector<std::int32_t>& positions() const { return positions_; }
    const std::vector<std::int32_t>& slots() const { return slots_; }
    const std::vector<std::uint8_t>& is_last() const { return is_last_; }

   private:
    struct Span;
    void place_tokens(const KVShape& shape);
    std::vector<Span> spans(const KVShape& shape, const PlanOptions& options) const;
    void number_parts(std::vector<Span>& spans);
    void make_tasks(const std::vector<Span>& spans, const KVShape& shape, const PlanOptions& options);

    Batch batch_;
    std::vector<std::int32_t> positions_, slots_;
    std::vector<std::uint8_t> is_last_;
    std::vector<std::vector<std::int32_t>> lists_;  // token lists and part lists of the tasks; their memory never moves
    std::vector<AttentionTask> tasks_;
    std::vector<MergeTask> merges_;
    std::int64_t num_parts_ = 0;
};

}  // namespace radixkv
