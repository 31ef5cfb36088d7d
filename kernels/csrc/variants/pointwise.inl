// Norms, rotation, and storing keys and values.

static void convert(const float* from, std::int64_t count, Type type, void* to) {
    for (std::int64_t i = 0; i < count; i += kLanes) store_typed(to, type, i, load_some(from + i, count - i), count - i);
}

static RADIXKV_INLINE float inverse_rms(const float* row, std::int64_t size, float eps) {
    f32x16 squares{};
    for (std::int64_t i = 0; i < size; i += kLanes) {
        const f32x16 value = load_some(row + i, size - i);
        squares += value * value;
    }
    return 1.0f / __builtin_sqrtf(sum_of(squares) / (float)size + eps);
}

static void norm(const NormArgs& args, std::int64_t first_row, std::int64_t last_row) {
    for (std::int64_t row = first_row; row < last_row; ++row) {
        const float* input = args.input + row * args.size;
        const f32x16 factor = splat(inverse_rms(input, args.size, args.eps));
        for (std::int64_t i = 0; i < args.size; i += kLanes) {
            const std::int64_t count = args.size - i;
            const f32x16 value = load_some(input + i, count) * factor * load_some(args.weight + i, count);
            store_typed(args.output, args.output_type, row * args.size + i, value, count);
        }
    }
}

static RADIXKV_INLINE void norm_head(float* head, const float* weight, std::int64_t dim, float eps) {
    const f32x16 factor = splat(inverse_rms(head, dim, eps));
    for (std::int64_t i = 0; i < dim; i += kLanes) {
        store_some<F32>(head + i, load_some(head + i, dim - i) * factor * load_some(weight + i, dim - i), dim - i);
    }
}

static RADIXKV_INLINE void rotate_head(float* head, const float* cosines, const float* sines, std::int64_t half) {
    for (std::int64_t i = 0; i < half; i += kLanes) {
        const std::int64_t count = half - i;
        const f32x16 first = load_some(head + i, count), second = load_some(head + half + i, count);
        const f32x16 cosine = load_some(cosines + i, count), sine = load_some(sines + i, count);
        store_some<F32>(head + i, first * cosine - second * sine, count);
        store_some<F32>(head + half + i, second * cosine + first * sine, count);
    }
}

template <class T>
static void store_key(const KVView& kv, std::int64_t layer, std::int64_t head, std::int64_t slot, const float* key) {
    using Element = typename T::Element;
    const std::int64_t size = kv.shape.block_size, dim = kv.shape.head_dim;
    char* to = kv.keys(slot / size, layer, head) + slot % size * 4;
    for (std::int64_t i = 0; i < dim; i += kLanes) {
        Element row[kLanes];
        T::store(row, load_some(key + i, dim - i));
        for (std::int64_t at = 0; at < kLanes && i + at < dim; at += T::kPerLane) {
            __builtin_memcpy(to + (i + at) / T::kPerLane * size * 4, row + at, 4);
        }
    }
}

template <class T>
static void store_value(
    const KVView& kv, std::int64_t layer, std::int64_t head, std::int64_t slot, const float* value, bool is_last
) {
    using Element = typename T::Element;
    constexpr std::int64_t kPer = T::kPerLane;
    const std::int64_t size = kv.shape.block_size, dim = kv.shape.head_dim, offset = slot % size;
    Element* to = reinterpret_cast<Element*>(kv.values(slot / size, layer, head)) + offset / kPer * dim * kPer;
    // A weight of zero times what is no number would be none: what shares a lane with the last token is zero.
    const bool clears = is_last && kPer == 2 && offset % 2 == 0;
    for (std::int64_t i = 0; i < dim; i += kLanes) {
        Element row[kLanes];
        T::store(row, load_some(value + i, dim - i));
        for (std::int64_t at = 0; at < kLanes && i + at < dim; ++at) {
            to[(i + at) * kPer + offset % kPer] = row[at];
            if (clears) to[(i + at) * kPer + 1] = 0;
        }
    }
}

template <class T>
static void rotate_tokens(const RotateArgs& args, std::int64_t first, std::int64_t last) {
    const KVShape& shape = args.kv.shape;
    const std::int64_t dim = shape.head_dim, half = dim / 2, keys_at = args.query_heads, values_at = keys_at + shape.kv_heads;
    for (std::int64_t token = first; token < last; ++token) {
        float* heads = args.heads + token * args.stride;
        for (std::int64_t head = 0; head < values_at; ++head) {
            const float* weight = head < keys_at ? args.query_norm : args.key_norm;
            if (weight != nullptr) norm_head(heads + head * dim, weight, dim, args.eps);
            if (args.cosines != nullptr) {
                rotate_head(heads + head * dim, args.cosines + token * half, args.sines + token * half, half);
            }
        }
        for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
            store_key<T>(args.kv, args.layer, head, args.slots[token], heads + (keys_at + head) * dim);
            const float* value = heads + (values_at + head) * dim;
            store_value<T>(args.kv, args.layer, head, args.slots[token], value, args.is_last[token] != 0);
        }
    }
}

static void rotate(const RotateArgs& args, std::int64_t first_token, std::int64_t last_token) {
    switch (args.kv.shape.type) {
        case Type::f32:
            return rotate_tokens<F32>(args, first_token, last_token);
        case Type::bf16:
            return rotate_tokens<BF16>(args, first_token, last_token);
        case Type::f16:
            return rotate_tokens<F16>(args, first_token, last_token);
    }
}
