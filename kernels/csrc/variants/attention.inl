// Attention of a task: scores of a chunk of keys, weights by an online softmax in base 2, weighted sums of values.
//
// Chunks begin at multiples of kKeyChunk whatever the task, and a row's numbers depend on no other row.

constexpr float kMasked = -1e30f;  // finite, so that a row that sees nothing yet is no NaN

template <class T>
struct RowState {
    using Element = typename T::Element;
    std::int64_t rows, dim, group;
    float* scores;     // (rows, kKeyChunk)
    float* sums;       // (rows, dim)
    float* most;       // (rows)
    float* total;      // (rows)
    Element* query;    // (rows, dim), scaled
    Element* weights;  // (rows, kKeyChunk)
    char* gathered;    // keys and then values of a chunk, where blocks have no groups of 16
};

template <class T>
static RADIXKV_INLINE RowState<T> row_state(const AttentionArgs& args, const AttentionTask& task, float* scratch) {
    using Element = typename T::Element;
    RowState<T> state;
    state.dim = args.kv.shape.head_dim;
    state.group = args.heads / args.kv.shape.kv_heads;
    state.rows = task.num_tokens * state.group;
    state.scores = scratch;
    state.sums = state.scores + state.rows * kKeyChunk;
    state.most = state.sums + state.rows * state.dim;
    state.total = state.most + state.rows;
    float* rest = state.total + state.rows;
    state.query = reinterpret_cast<Element*>(rest);
    rest += state.rows * state.dim;
    state.weights = reinterpret_cast<Element*>(rest);
    state.gathered = reinterpret_cast<char*>(rest + state.rows * kKeyChunk);
    return state;
}

template <class T>
static void begin_rows(const AttentionArgs& args, const AttentionTask& task, RowState<T>& state) {
    const std::int64_t count = state.group * state.dim;
    const f32x16 scale = splat(args.scale * kLog2E);
    for (std::int64_t i = 0; i < task.num_tokens; ++i) {
        const float* heads = args.query + task.tokens[i] * args.query_stride + task.kv_head * count;
        for (std::int64_t at = 0; at < count; at += kLanes) {
            store_some<T>(state.query + i * count + at, load_some(heads + at, count - at) * scale, count - at);
        }
    }
    for (std::int64_t i = 0; i < state.rows * state.dim; ++i) state.sums[i] = 0;
    for (std::int64_t row = 0; row < state.rows; ++row) {
        state.most[row] = kMasked;
        state.total[row] = 0;
    }
}

// --- scores ---

// Scores of R rows with C groups of 16 keys. Group c's keys lie at keys[c], the next pair of dimensions `stride` bytes on. `ahead[c]` is what
// will be read next.
template <class T, int R, int C>
static RADIXKV_INLINE void score_tile(
    const RowState<T>& state, std::int64_t row, std::int64_t at, const char* const* keys, std::int64_t stride, const char* const* ahead
) {
    f32x16 sums[R][C];
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) sums[r][c] = f32x16{};
    }
    const typename T::Element* query = state.query + row * state.dim;
    const std::int64_t steps = state.dim / T::kPerLane;
    for (std::int64_t step = 0; step < steps; ++step) {
        u32x16 lanes[C];
        for (int c = 0; c < C; ++c) {
            lanes[c] = load<u32x16>(keys[c] + step * stride);
            if (ahead != nullptr) __builtin_prefetch(ahead[c] + step * stride, 0, 2);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            std::uint32_t input;
            __builtin_memcpy(&input, query + r * state.dim + step * T::kPerLane, 4);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) sums[r][c] = T::dot(sums[r][c], lanes[c], input);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) store(state.scores + (row + r) * kKeyChunk + at + c * kLanes, sums[r][c]);
    }
}

template <class T, int R, int C>
static void score_rows(
    const RowState<T>& state, std::int64_t row, std::int64_t at, const char* const* keys, std::int64_t stride, const char* const* ahead
) {
    if constexpr (R > 0) {
        while (state.rows - row >= R) {
            score_tile<T, R, C>(state, row, at, keys, stride, ahead);
            row += R;
            ahead = nullptr;  // once is enough
        }
        if (row < state.rows) score_rows<T, lower(R), C>(state, row, at, keys, stride, ahead);
    }
}

#if defined(__AVX512F__)
constexpr int kFewRows = 6, kFewRowsGroups = 4, kManyRows = 12, kManyRowsGroups = 2, kSumRows = 6, kSumColumns = 4;
#elif defined(__AVX2__)
constexpr int kFewRows = 2, kFewRowsGroups = 2, kManyRows = 4, kManyRowsGroups = 1, kSumRows = 2, kSumColumns = 2;
#else
constexpr int kFewRows = 1, kFewRowsGroups = 1, kManyRows = 2, kManyRowsGroups = 1, kSumRows = 1, kSumColumns = 2;
#endif

// `count` groups of 16 keys, C at a time.
template <class T, int R, int C>
static void score_groups(
    const RowState<T>& state, std::int64_t first, std::int64_t count, const char* const* keys, std::int64_t stride,
    const char* const* ahead
) {
    if constexpr (C > 0) {
        while (count - first >= C) {
            score_rows<T, R, C>(state, 0, first * kLanes, keys + first, stride, ahead == nullptr ? nullptr : ahead + first);
            first += C;
        }
        if (first < count) score_groups<T, R, C / 2>(state, first, count, keys, stride, ahead);
    }
}

// --- weights ---

static RADIXKV_INLINE f32x16 capped(f32x16 score, float cap) {  // scores are in base 2
    const f32x16 power = exp2_of(score * splat(-2.0f / cap));
    return splat(cap * kLog2E) * (splat(1.0f) - power) / (splat(1.0f) + power);
}

// Turn a row's scores into weights; keys outside [low, high) of the chunk are masked. Sums so far are rescaled to the new maximum.
template <class T>
static RADIXKV_INLINE void weigh_row(
    const AttentionArgs& args, RowState<T>& state, std::int64_t row, std::int64_t groups, std::int64_t low, std::int64_t high
) {
    float* scores = state.scores + row * kKeyChunk;
    const i32x16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    f32x16 most = splat(kMasked);
    for (std::int64_t g = 0; g < groups; ++g) {
        f32x16 score = load<f32x16>(scores + g * kLanes);
        if (args.soft_cap > 0) score = capped(score, args.soft_cap);
        const i32x16 key = lane + (i32x16)splat_bits((std::uint32_t)(g * kLanes));
        const i32x16 seen = (key >= (i32x16)splat_bits((std::uint32_t)low)) & (key < (i32x16)splat_bits((std::uint32_t)high));
        score = select(seen, score, splat(kMasked));
        most = larger(most, score);
        store(scores + g * kLanes, score);
    }
    const float before = state.most[row], highest = max_of(most), now = highest > before ? highest : before;
    if (now > before) {
        const f32x16 shrink = exp2_of(splat(before - now));
        state.total[row] *= shrink[0];
        float* sums = state.sums + row * state.dim;
        std::int64_t at = 0;
        for (; at + kLanes <= state.dim; at += kLanes) store(sums + at, load<f32x16>(sums + at) * shrink);
        for (; at < state.dim; ++at) sums[at] *= shrink[0];
        state.most[row] = now;
    }
    f32x16 total{};
    for (std::int64_t g = 0; g < groups; ++g) {
        const f32x16 score = load<f32x16>(scores + g * kLanes);
        const f32x16 weight = select(score < splat(0.5f * kMasked), f32x16{}, exp2_of(score - splat(now)));  // NaN stays
        total += weight;
        T::store(state.weights + row * kKeyChunk + g * kLanes, weight);
    }
    state.total[row] += sum_of(total);
}

// --- sums of values ---

// Add to columns [column, column + 16 * C) of R rows the values of `count` groups of 16 tokens.
template <class T, int R, int C>
static RADIXKV_INLINE void sum_tile(
    const RowState<T>& state, std::int64_t row, std::int64_t column, std::int64_t value_rows, const char* const* values,
    const char* const* ahead
) {
    constexpr std::int64_t kRows = kLanes / T::kPerLane;  // rows of values in a group of 16 tokens
    float* to = state.sums + row * state.dim + column;
    f32x16 sums[R][C];
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) sums[r][c] = load<f32x16>(to + r * state.dim + c * kLanes);
    }
    for (std::int64_t step = 0; step < value_rows; ++step) {
        const std::int64_t offset = (step % kRows * state.dim + column) * 4;
        const char* from = values[step / kRows] + offset;
        u32x16 lanes[C];
        for (int c = 0; c < C; ++c) {
            lanes[c] = load<u32x16>(from + c * kLanes * 4);
            if (ahead != nullptr) __builtin_prefetch(ahead[step / kRows] + offset + c * kLanes * 4, 0, 2);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            std::uint32_t weight;
            __builtin_memcpy(&weight, state.weights + (row + r) * kKeyChunk + step * T::kPerLane, 4);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) sums[r][c] = T::dot(sums[r][c], lanes[c], weight);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) store(to + r * state.dim + c * kLanes, sums[r][c]);
    }
}

template <class T, int R, int C>
static void sum_rows(
    const RowState<T>& state, std::int64_t row, std::int64_t column, std::int64_t value_rows, const char* const* values,
    const char* const* ahead
) {
    if constexpr (R > 0) {
        while (state.rows - row >= R) {
            sum_tile<T, R, C>(state, row, column, value_rows, values, ahead);
            row += R;
            ahead = nullptr;
        }
        if (row < state.rows) sum_rows<T, lower(R), C>(state, row, column, value_rows, values, ahead);
    }
}

// The columns behind the last whole vector.
template <class T>
static void sum_rest(
    const RowState<T>& state, std::int64_t row, std::int64_t column, std::int64_t value_rows, const char* const* values
) {
    constexpr std::int64_t kRows = kLanes / T::kPerLane;
    const std::int64_t count = state.dim - column;
    float* to = state.sums + row * state.dim + column;
    f32x16 sums = load_some(to, count);
    for (std::int64_t step = 0; step < value_rows; ++step) {
        u32x16 lanes{};
        __builtin_memcpy(&lanes, values[step / kRows] + (step % kRows * state.dim + column) * 4, count * 4);
        std::uint32_t weight;
        __builtin_memcpy(&weight, state.weights + row * kKeyChunk + step * T::kPerLane, 4);
        sums = T::dot(sums, lanes, weight);
    }
    store_some<F32>(to, sums, count);
}

template <class T, int C>
static void sum_columns(
    const RowState<T>& state, std::int64_t column, std::int64_t value_rows, const char* const* values, const char* const* ahead
) {
    if constexpr (C > 0) {
        while (state.dim - column >= C * kLanes) {
            sum_rows<T, kSumRows, C>(state, 0, column, value_rows, values, ahead);
            column += C * kLanes;
        }
        if (column < state.dim) sum_columns<T, C / 2>(state, column, value_rows, values, ahead);
    } else {
        for (std::int64_t row = 0; row < state.rows; ++row) sum_rest<T>(state, row, column, value_rows, values);
    }
}

// --- a task ---

static RADIXKV_INLINE void write_output(
    const AttentionArgs& args, std::int64_t token, std::int64_t head, const float* sums, float factor
) {
    const std::int64_t dim = args.kv.shape.head_dim, at = token * args.output_stride + head * dim;
    for (std::int64_t i = 0; i < dim; i += kLanes) {
        store_typed(args.output, args.output_type, at + i, load_some(sums + i, dim - i) * splat(factor), dim - i);
    }
}

// A chunk of keys as groups of 16.
struct KeyGroups {
    std::int64_t base = 0;   // the first key
    std::int64_t count = 0;  // groups
    std::int64_t keys_end = 0;
    std::int64_t key_stride = 0;  // bytes from one step of dimensions to the next
    const char* keys[kKeyChunk / kLanes];
    const char* values[kKeyChunk / kLanes];
};

// Copy the keys and values of tokens [groups.base, groups.keys_end) to groups of 16, padded with zeros.
template <class T>
static void gather(const AttentionArgs& args, const AttentionTask& task, KeyGroups& groups, char* to) {
    using Element = typename T::Element;
    constexpr std::int64_t kPer = T::kPerLane;
    const KVShape& shape = args.kv.shape;
    const std::int64_t dim = shape.head_dim, size = shape.block_size, group_bytes = kLanes * dim * (std::int64_t)sizeof(Element);
    __builtin_memset(to, 0, 2 * groups.count * group_bytes);
    char* values_to = to + groups.count * group_bytes;
    for (std::int64_t key = groups.base; key < groups.keys_end; ++key) {
        const std::int64_t block = task.blocks[key / size], slot = key % size, at = (key - groups.base) % kLanes;
        const std::int64_t group = (key - groups.base) / kLanes;
        const char* keys = args.kv.keys(block, args.layer, task.kv_head);
        const char* values = args.kv.values(block, args.layer, task.kv_head);
        Element* value_row = reinterpret_cast<Element*>(values_to + group * group_bytes) + at / kPer * dim * kPer + at % kPer;
        const Element* value_from = reinterpret_cast<const Element*>(values) + slot / kPer * dim * kPer + slot % kPer;
        for (std::int64_t step = 0; step < dim / kPer; ++step) {
            __builtin_memcpy(to + group * group_bytes + (step * kLanes + at) * 4, keys + (step * size + slot) * 4, 4);
        }
        for (std::int64_t i = 0; i < dim; ++i) value_row[i * kPer] = value_from[i * kPer];
    }
    groups.key_stride = kLanes * 4;
    for (std::int64_t g = 0; g < groups.count; ++g) {
        groups.keys[g] = to + g * group_bytes;
        groups.values[g] = values_to + g * group_bytes;
    }
}

// The groups of the chunk that begins at `chunk`, as far as they hold keys of [first, last).
template <class T>
static KeyGroups key_groups(
    const AttentionArgs& args, const AttentionTask& task, std::int64_t chunk, std::int64_t first, std::int64_t last, char* gathered
) {
    const KVShape& shape = args.kv.shape;
    KeyGroups groups;
    groups.base = first > chunk ? first / kLanes * kLanes : chunk;
    groups.keys_end = last < chunk + kKeyChunk ? last : chunk + kKeyChunk;
    groups.count = ceil_div(groups.keys_end - groups.base, kLanes);
    if (shape.block_size % kLanes != 0) {
        if (gathered != nullptr) gather<T>(args, task, groups, gathered);
        return groups;
    }
    groups.key_stride = shape.block_size * 4;
    for (std::int64_t g = 0; g < groups.count; ++g) {
        const std::int64_t key = groups.base + g * kLanes, slot = key % shape.block_size;
        const std::int64_t block = task.blocks[key / shape.block_size];
        groups.keys[g] = args.kv.keys(block, args.layer, task.kv_head) + slot * 4;
        groups.values[g] = args.kv.values(block, args.layer, task.kv_head) + slot / T::kPerLane * shape.head_dim * 4;
    }
    return groups;
}

template <class T>
static void attend_chunk(
    const AttentionArgs& args, const AttentionTask& task, RowState<T>& state, const KeyGroups& groups, const KeyGroups* next
) {
    const bool ahead = next != nullptr && next->count >= groups.count;
    if (state.rows <= kFewRows) {
        score_groups<T, kFewRows, kFewRowsGroups>(
            state, 0, groups.count, groups.keys, groups.key_stride, ahead ? next->keys : nullptr
        );
    } else {
        score_groups<T, kManyRows, kManyRowsGroups>(
            state, 0, groups.count, groups.keys, groups.key_stride, ahead ? next->keys : nullptr
        );
    }
    for (std::int64_t row = 0; row < state.rows; ++row) {
        const std::int64_t position = args.positions[task.tokens[row / state.group]];
        const std::int64_t after = position + 1 < groups.keys_end ? position + 1 : groups.keys_end;
        const std::int64_t from = args.window > 0 ? position + 1 - args.window : 0;
        const std::int64_t low = (from > task.first_key ? from : task.first_key) - groups.base;
        weigh_row<T>(args, state, row, groups.count, low > 0 ? low : 0, after - groups.base);
    }
    const std::int64_t value_rows = ceil_div(groups.keys_end - groups.base, T::kPerLane);
    sum_columns<T, kSumColumns>(state, 0, value_rows, groups.values, ahead ? next->values : nullptr);
}

template <class T>
static void end_rows(const AttentionArgs& args, const AttentionTask& task, const RowState<T>& state) {
    const std::int64_t dim = state.dim;
    for (std::int64_t row = 0; row < state.rows; ++row) {
        const std::int64_t i = row / state.group, head = task.kv_head * state.group + row % state.group;
        const float* sums = state.sums + row * dim;
        if (task.parts != nullptr) {
            const std::int64_t part = task.parts[i] * args.heads + head;
            __builtin_memcpy(args.part_sums + part * dim, sums, dim * sizeof(float));
            args.part_stats[2 * part] = state.most[row];
            args.part_stats[2 * part + 1] = state.total[row];
        } else {
            write_output(args, task.tokens[i], head, sums, 1.0f / state.total[row]);
        }
    }
}

template <class T>
static void attend(const AttentionArgs& args, const AttentionTask& task, float* scratch) {
    RowState<T> state = row_state<T>(args, task, scratch);
    begin_rows<T>(args, task, state);
    std::int64_t lowest = args.positions[task.tokens[0]], highest = lowest;
    for (std::int64_t i = 1; i < task.num_tokens; ++i) {
        const std::int64_t position = args.positions[task.tokens[i]];
        lowest = position < lowest ? position : lowest;
        highest = position > highest ? position : highest;
    }
    const std::int64_t from = args.window > 0 ? lowest + 1 - args.window : 0;
    const std::int64_t first = from > task.first_key ? from : task.first_key;
    const std::int64_t last = highest + 1 < task.last_key ? highest + 1 : task.last_key;
    const bool direct = args.kv.shape.block_size % kLanes == 0;
    for (std::int64_t chunk = first / kKeyChunk * kKeyChunk; first < last && chunk < last; chunk += kKeyChunk) {
        const KeyGroups groups = key_groups<T>(args, task, chunk, first, last, state.gathered);
        if (direct && chunk + kKeyChunk < last) {
            const KeyGroups next = key_groups<T>(args, task, chunk + kKeyChunk, first, last, nullptr);
            attend_chunk<T>(args, task, state, groups, &next);
        } else {
            attend_chunk<T>(args, task, state, groups, nullptr);
        }
    }
    end_rows<T>(args, task, state);
}

static void attention(const AttentionArgs& args, const AttentionTask& task, float* scratch) {
    switch (args.kv.shape.type) {
        case Type::f32:
            return attend<F32>(args, task, scratch);
        case Type::bf16:
            return attend<BF16>(args, task, scratch);
        case Type::f16:
            return attend<F16>(args, task, scratch);
    }
}

// Partial results put together: sums relative to the highest of their maxima (arXiv 2501.01005, section 2.2).
static void merge(const AttentionArgs& args, const MergeTask& task, float* sums) {
    const std::int64_t dim = args.kv.shape.head_dim;
    for (std::int64_t head = 0; head < args.heads; ++head) {
        float most = kMasked, total = 0;
        for (std::int64_t p = 0; p < task.num_parts; ++p) {
            const float here = args.part_stats[2 * ((task.first_part + p) * args.heads + head)];
            most = here > most ? here : most;
        }
        for (std::int64_t i = 0; i < dim; ++i) sums[i] = 0;
        for (std::int64_t p = 0; p < task.num_parts; ++p) {
            const std::int64_t part = (task.first_part + p) * args.heads + head;
            const float share = exp2_of(splat(args.part_stats[2 * part] - most))[0];
            total += share * args.part_stats[2 * part + 1];
            for (std::int64_t i = 0; i < dim; ++i) sums[i] += share * args.part_sums[part * dim + i];
        }
        write_output(args, task.token, head, sums, 1.0f / total);
    }
}
