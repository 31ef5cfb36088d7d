#include "attention/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace radixkv {

namespace {

constexpr std::int64_t kSmallestSplit = 512;  // keys: below that, putting parts together costs more than it brings
constexpr std::int64_t kSmallestRows = 48;    // query rows of a task that reads shared keys

}  // namespace

// Tokens that attend to the same keys of one block table.
struct AttentionPlan::Span {
    std::vector<std::int32_t> tokens;
    const std::int32_t* blocks = nullptr;
    std::int64_t first_key = 0;
    std::int64_t last_key = 0;
    std::vector<std::int32_t> parts;  // per token; empty: final
    bool is_decode = false;           // one token of one sequence
};

AttentionPlan::AttentionPlan(Batch batch, const KVShape& shape, const PlanOptions& options) : batch_(std::move(batch)) {
    place_tokens(shape);
    std::vector<Span> all = spans(shape, options);
    number_parts(all);
    make_tasks(all, shape, options);
}

void AttentionPlan::place_tokens(const KVShape& shape) {
    positions_.resize(batch_.tokens());
    slots_.resize(batch_.tokens());
    is_last_.assign(batch_.tokens(), 0);
    for (std::int64_t i = 0; i < batch_.sequences(); ++i) {
        const std::int32_t begin = batch_.query_pointers[i], end = batch_.query_pointers[i + 1];
        const std::int32_t* table = batch_.table_ids.data() + batch_.table_pointers[i];
        for (std::int32_t token = begin; token < end; ++token) {
            const std::int32_t position = batch_.kv_lengths[i] - end + token;
            positions_[token] = position;
            slots_[token] = static_cast<std::int32_t>(table[position / shape.block_size] * shape.block_size +
                                                      position % shape.block_size);
        }
        is_last_[end - 1] = 1;
    }
}

std::vector<AttentionPlan::Span> AttentionPlan::spans(const KVShape& shape, const PlanOptions& options) const {
    std::vector<Span> found;
    std::vector<std::int64_t> covered(batch_.sequences(), 0);  // blocks
    if (options.share) {
        std::vector<std::int64_t> order(batch_.group_blocks.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            return batch_.group_blocks[a] < batch_.group_blocks[b];
        });
        for (std::int64_t group : order) {
            // Rows come from groups of different depth at times: those of equal depth are read together.
            std::map<std::int64_t, Span> by_depth;
            for (std::int32_t at = batch_.group_pointers[group]; at < batch_.group_pointers[group + 1]; ++at) {
                const std::int32_t row = batch_.group_rows[at];
                if (covered[row] >= batch_.group_blocks[group]) continue;
                Span& span = by_depth[covered[row]];
                span.blocks = batch_.table_ids.data() + batch_.table_pointers[row];
                span.first_key = covered[row] * shape.block_size;
                span.last_key = batch_.group_blocks[group] * shape.block_size;
                for (std::int32_t t = batch_.query_pointers[row]; t < batch_.query_pointers[row + 1]; ++t) {
                    span.tokens.push_back(t);
                }
                covered[row] = batch_.group_blocks[group];
            }
            for (auto& [depth, span] : by_depth) found.push_back(std::move(span));
        }
    }
    std::int64_t decodes = 0;
    for (std::int64_t i = 0; i < batch_.sequences(); ++i) {
        decodes += batch_.query_pointers[i + 1] - batch_.query_pointers[i] == 1;
    }
    const std::int64_t wanted = ceil_div(4 * options.threads, std::max<std::int64_t>(1, decodes * shape.kv_heads));
    for (std::int64_t i = 0; i < batch_.sequences(); ++i) {
        Span own;
        own.blocks = batch_.table_ids.data() + batch_.table_pointers[i];
        own.is_decode = batch_.query_pointers[i + 1] - batch_.query_pointers[i] == 1;
        for (std::int32_t t = batch_.query_pointers[i]; t < batch_.query_pointers[i + 1]; ++t) own.tokens.push_back(t);
        const std::int64_t first = covered[i] * shape.block_size, last = batch_.kv_lengths[i];
        std::int64_t splits = 1;
        if (options.share && own.is_decode) {
            splits = std::max<std::int64_t>(1, std::min(wanted, (last - first) / kSmallestSplit));
        }
        const std::int64_t length = ceil_div(ceil_div(last - first, splits), kKeyChunk) * kKeyChunk;
        for (std::int64_t from = first; from < last; from += length) {
            found.push_back(own);
            found.back().first_key = from;
            found.back().last_key = splits == 1 ? last : std::min(last, from + length);
            if (splits == 1) break;
        }
    }
    return found;
}

// Tokens that are in several spans get a part for each.
void AttentionPlan::number_parts(std::vector<Span>& spans) {
    std::vector<std::int32_t> count(tokens(), 0);
    for (const Span& span : spans) {
        for (std::int32_t token : span.tokens) ++count[token];
    }
    std::vector<std::int32_t> next(tokens(), 0);
    for (std::int64_t token = 0; token < tokens(); ++token) {
        if (count[token] < 2) continue;
        next[token] = static_cast<std::int32_t>(num_parts_);
        merges_.push_back({static_cast<std::int32_t>(token), next[token], count[token]});
        num_parts_ += count[token];
    }
    for (Span& span : spans) {
        if (count[span.tokens[0]] < 2) continue;
        for (std::int32_t token : span.tokens) span.parts.push_back(next[token]++);
    }
}

void AttentionPlan::make_tasks(const std::vector<Span>& spans, const KVShape& shape, const PlanOptions& options) {
    const std::int64_t group = options.heads / shape.kv_heads;
    std::vector<std::pair<std::int64_t, AttentionTask>> found;
    for (const Span& span : spans) {
        const auto total = static_cast<std::int64_t>(span.tokens.size());
        std::int64_t pieces = ceil_div(total, std::max<std::int64_t>(1, kTaskRows / group));
        if (total * group >= 2 * kSmallestRows) pieces = std::max(pieces, std::min(options.threads, total * group / kSmallestRows));
        lists_.push_back(span.tokens);
        const std::int32_t* tokens = lists_.back().data();
        lists_.push_back(span.parts);
        const std::int32_t* parts = span.parts.empty() ? nullptr : lists_.back().data();
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            const std::int64_t begin = total * piece / pieces, end = total * (piece + 1) / pieces;
            AttentionTask task;
            task.tokens = tokens + begin;
            task.num_tokens = end - begin;
            task.blocks = span.blocks;
            task.first_key = span.first_key;
            task.last_key = span.last_key;
            task.parts = parts == nullptr ? nullptr : parts + begin;
            std::int64_t seen = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                seen = std::max<std::int64_t>(seen, std::min<std::int64_t>(span.last_key, positions_[span.tokens[i]] + 1));
            }
            const std::int64_t cost = (seen - span.first_key) * (16 + (end - begin) * group);
            for (task.kv_head = 0; task.kv_head < shape.kv_heads; ++task.kv_head) found.push_back({cost, task});
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    tasks_.reserve(found.size());
    for (const auto& [cost, task] : found) tasks_.push_back(task);
}

}  // namespace radixkv
