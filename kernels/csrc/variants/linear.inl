// Products of a few rows with a packed matrix.
//
// A tile is R rows by two blocks of columns, its sums in registers. Sums run over in_features in order, whatever R is and
// whichever thread does it, so a row's result is the same bits in every batch.

#if defined(__AVX512F__)
constexpr int kTileRows = 12;  // 24 sums, 2 weights, and inputs from memory: 32 registers
#elif defined(__AVX2__)
constexpr int kTileRows = 2;  // a vector is two registers of 16
#else
constexpr int kTileRows = 1;
#endif

template <class T, int R, int C>
static RADIXKV_INLINE void multiply(const LinearArgs& args, std::int64_t row, std::int64_t block, f32x16 (&sums)[R][C]) {
    using Element = typename T::Element;
    const PackedWeights& weights = *args.weights;
    const char* columns = static_cast<const char*>(weights.data) + block * weights.block_bytes();
    const Element* inputs = static_cast<const Element*>(args.input) + row * args.input_stride;
    const std::int64_t steps = weights.steps(), block_bytes = weights.block_bytes();
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) sums[r][c] = f32x16{};
    }
    for (std::int64_t step = 0; step < steps; ++step) {
        u32x16 lanes[C];
        for (int c = 0; c < C; ++c) lanes[c] = load<u32x16>(columns + c * block_bytes + step * kLanes * 4);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            std::uint32_t input;
            __builtin_memcpy(&input, inputs + r * args.input_stride + step * T::kPerLane, 4);
#pragma GCC unroll 2
            for (int c = 0; c < C; ++c) sums[r][c] = T::dot(sums[r][c], lanes[c], input);
        }
    }
}

static RADIXKV_INLINE f32x16 silu(f32x16 x) { return x / (splat(1.0f) + exp2_of(x * splat(-kLog2E))); }

template <class T>
static RADIXKV_INLINE void finish_block(const LinearArgs& args, std::int64_t row, std::int64_t block, f32x16 sums) {
    const PackedWeights& weights = *args.weights;
    const std::int64_t first = block * kLanes, count = weights.out_features - first;
    if (weights.bias != nullptr) sums += load<f32x16>(weights.bias + first);
    if (args.finish == Finish::add) {
        float* to = static_cast<float*>(args.output) + row * args.output_stride + first;
        if (count >= kLanes) {
            store(to, load<f32x16>(to) + sums);
        } else {
            for (std::int64_t i = 0; i < count; ++i) to[i] += sums[i];
        }
    } else if (args.output_type == Type::f32) {
        store_some<F32>(static_cast<float*>(args.output) + row * args.output_stride + first, sums, count);
    } else {
        using Element = typename T::Element;
        store_some<T>(static_cast<Element*>(args.output) + row * args.output_stride + first, sums, count);
    }
}

template <class T, int R, int C>
static RADIXKV_INLINE void finish_tile(const LinearArgs& args, std::int64_t row, std::int64_t block, f32x16 (&sums)[R][C]) {
    for (int r = 0; r < R; ++r) {
        if constexpr (C == 2) {
            if (args.finish == Finish::silu_gate) {
                f32x16 gate = sums[r][0], up = sums[r][1];
                if (args.weights->bias != nullptr) {
                    gate += load<f32x16>(args.weights->bias + block * kLanes);
                    up += load<f32x16>(args.weights->bias + (block + 1) * kLanes);
                }
                using Element = typename T::Element;
                Element* to = static_cast<Element*>(args.output) + (row + r) * args.output_stride + block / 2 * kLanes;
                T::store(to, silu(gate) * up);
                continue;
            }
        }
        for (int c = 0; c < C; ++c) finish_block<T>(args, row + r, block + c, sums[r][c]);
    }
}

template <class T, int R, int C>
static void tile(const LinearArgs& args, std::int64_t row, std::int64_t block) {
    f32x16 sums[R][C];
    multiply<T, R, C>(args, row, block, sums);
    finish_tile<T, R, C>(args, row, block, sums);
}

// All rows from `row` to `end`, in tiles of at most R rows.
template <class T, int R, int C>
static void rows_of(const LinearArgs& args, std::int64_t row, std::int64_t end, std::int64_t block) {
    if constexpr (R > 0) {
        for (; end - row >= R; row += R) tile<T, R, C>(args, row, block);
        if (row < end) rows_of<T, lower(R), C>(args, row, end, block);
    }
}

constexpr std::int64_t kRowsAtOnce = 240;  // their inputs stay in the cache while all columns pass

template <class T>
static void linear_columns(const LinearArgs& args, std::int64_t first_pair, std::int64_t last_pair) {
    const std::int64_t blocks = args.weights->blocks();
    for (std::int64_t row = 0; row < args.rows; row += kRowsAtOnce) {
        const std::int64_t end = row + kRowsAtOnce < args.rows ? row + kRowsAtOnce : args.rows;
        for (std::int64_t pair = first_pair; pair < last_pair; ++pair) {
            if (2 * pair + 1 < blocks) {
                rows_of<T, kTileRows, 2>(args, row, end, 2 * pair);
            } else {
                rows_of<T, kTileRows, 1>(args, row, end, 2 * pair);
            }
        }
    }
}

// One thread's share of a product: pairs of column blocks, in equal parts.
static void linear(const LinearArgs& args, int thread, int threads) {
    const std::int64_t pairs = ceil_div(args.weights->blocks(), 2);
    const std::int64_t first = pairs * thread / threads, last = pairs * (thread + 1) / threads;
    switch (args.weights->type) {
        case Type::f32:
            return linear_columns<F32>(args, first, last);
        case Type::bf16:
            return linear_columns<BF16>(args, first, last);
        case Type::f16:
            return linear_columns<F16>(args, first, last);
    }
}
