// Vectors of 16 lanes in the compiler's own notation: one source for every instruction set.
//
// Included inside the namespace of a variant, never by anything else. Nothing here, nor in the other .inl files, may use a
// function that is not in this namespace or inlined by force: the linker keeps one copy of a shared inline function, which may be the
// one compiled for an instruction set that the machine does not have.

typedef float f32x16 __attribute__((vector_size(64)));
typedef std::uint32_t u32x16 __attribute__((vector_size(64)));
typedef std::int32_t i32x16 __attribute__((vector_size(64)));
typedef std::uint16_t u16x16 __attribute__((vector_size(32)));

#define RADIXKV_INLINE inline __attribute__((always_inline))

template <class Vector>
static RADIXKV_INLINE Vector load(const void* from) {
    Vector loaded;
    __builtin_memcpy(&loaded, from, sizeof(Vector));
    return loaded;
}

template <class Vector>
static RADIXKV_INLINE void store(void* to, Vector value) {
    __builtin_memcpy(to, &value, sizeof(Vector));
}

static RADIXKV_INLINE f32x16 splat(float value) { return value - f32x16{}; }
static RADIXKV_INLINE u32x16 splat_bits(std::uint32_t value) { return value - u32x16{}; }

static RADIXKV_INLINE f32x16 select(i32x16 condition, f32x16 yes, f32x16 no) {
    return (f32x16)(((i32x16)yes & condition) | ((i32x16)no & ~condition));
}

static RADIXKV_INLINE f32x16 larger(f32x16 a, f32x16 b) { return select(a > b, a, b); }

static RADIXKV_INLINE float sum_of(f32x16 v) {
    float sums[8], total = 0;
    for (int i = 0; i < 8; ++i) sums[i] = v[i] + v[i + 8];
    for (int i = 0; i < 4; ++i) sums[i] += sums[i + 4];
    total = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    return total;
}

static RADIXKV_INLINE float max_of(f32x16 v) {
    float most = v[0];
    for (int i = 1; i < 16; ++i) most = v[i] > most ? v[i] : most;
    return most;
}

// 2^x, relative error below 3e-7 for |x| <= 126; 0 below that, and NaN stays NaN. The polynomial is a minimax fit of 2^f on
// [-1/2, 1/2].
static RADIXKV_INLINE f32x16 exp2_of(f32x16 x) {
    const f32x16 low = splat(-126.0f), high = splat(127.0f);
    const i32x16 tiny = x < low;
    f32x16 bounded = select(tiny, low, x);
    bounded = select(bounded > high, high, bounded);
    const f32x16 magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest whole number
    const f32x16 shifted = bounded + magic;
    const f32x16 fraction = bounded - (shifted - magic);
    f32x16 power = splat(1.5403530e-4f);
    power = power * fraction + splat(1.3333558e-3f);
    power = power * fraction + splat(9.6181291e-3f);
    power = power * fraction + splat(5.5504109e-2f);
    power = power * fraction + splat(2.4022651e-1f);
    power = power * fraction + splat(6.9314718e-1f);
    power = power * fraction + splat(1.0f);
    const i32x16 exponent = ((i32x16)shifted - (i32x16)magic) << 23;
    return select(tiny, f32x16{}, (f32x16)((i32x16)power + exponent));
}

constexpr float kLog2E = 1.44269504088896341f;

// --- bf16 and fp16 ---

static RADIXKV_INLINE u32x16 widen(u16x16 halves) { return __builtin_convertvector(halves, u32x16); }
static RADIXKV_INLINE u16x16 narrow(u32x16 lanes) { return __builtin_convertvector(lanes, u16x16); }

static RADIXKV_INLINE f32x16 of_bf16(u32x16 halves) { return (f32x16)(halves << 16); }

static RADIXKV_INLINE u32x16 to_bf16(f32x16 value) {  // round to nearest even, NaN stays one
    const u32x16 bits = (u32x16)value;
    const u32x16 rounded = (bits + splat_bits(0x7FFF) + ((bits >> 16) & 1)) >> 16;
    const u32x16 quiet = (bits >> 16) | 0x40;
    const u32x16 is_nan = (u32x16)((bits & 0x7FFFFFFF) > splat_bits(0x7F800000));
    return (quiet & is_nan) | (rounded & ~is_nan);
}

static RADIXKV_INLINE f32x16 of_f16(u32x16 halves) {
    const u32x16 magnitude = (halves & 0x7FFF) << 13, sign = (halves & 0x8000) << 16;
    const u32x16 finite = (u32x16)((f32x16)magnitude * splat(0x1p112f));  // moves the exponent, subnormals too
    const u32x16 special = (u32x16)(magnitude >= splat_bits(0x7C00u << 13));
    return (f32x16)(sign | finite | (special & 0x7F800000));
}

static RADIXKV_INLINE u32x16 to_f16(f32x16 value) {  // round to nearest even; beyond the range is infinity
    const u32x16 bits = (u32x16)value, magnitude = bits & 0x7FFFFFFF, sign = (bits >> 16) & 0x8000;
    const u32x16 normal = (magnitude + splat_bits(0xC8000FFF) + ((magnitude >> 13) & 1)) >> 13;
    const u32x16 small = (u32x16)((f32x16)magnitude + splat(0.5f)) - splat_bits(0x3F000000);
    const u32x16 is_small = (u32x16)(magnitude < splat_bits(0x38800000));
    const u32x16 is_large = (u32x16)(magnitude >= splat_bits(0x47800000));
    const u32x16 is_nan = (u32x16)(magnitude > splat_bits(0x7F800000));
    const u32x16 finite = (small & is_small) | (normal & ~is_small);
    const u32x16 infinite = splat_bits(0x7C00) | (is_nan & 0x0200);
    return sign | (infinite & is_large) | (finite & ~is_large);
}

// --- element types ---
//
// `Element` is one stored value. `dot(sum, weights, inputs)` adds to each lane the products of the elements that the lane
// of `weights` has with those of `inputs`, which are the same for all lanes.

struct F32 {
    using Element = float;
    static constexpr Type kType = Type::f32;
    static constexpr int kPerLane = 1;
    static RADIXKV_INLINE f32x16 load(const Element* from) { return RADIXKV_ISA::load<f32x16>(from); }
    static RADIXKV_INLINE void store(Element* to, f32x16 value) { RADIXKV_ISA::store(to, value); }
    static RADIXKV_INLINE f32x16 dot(f32x16 sum, u32x16 weights, std::uint32_t inputs) {
        return sum + (f32x16)weights * (f32x16)splat_bits(inputs);
    }
};

struct BF16 {
    using Element = std::uint16_t;
    static constexpr Type kType = Type::bf16;
    static constexpr int kPerLane = 2;
    static RADIXKV_INLINE f32x16 load(const Element* from) { return of_bf16(widen(RADIXKV_ISA::load<u16x16>(from))); }
    static RADIXKV_INLINE void store(Element* to, f32x16 value) { RADIXKV_ISA::store(to, narrow(to_bf16(value))); }
    static RADIXKV_INLINE f32x16 dot(f32x16 sum, u32x16 weights, std::uint32_t inputs) {
#if defined(__AVX512BF16__)
        return (f32x16)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)inputs), (__m512bh)(__m512i)weights);
#else
        const u32x16 both = splat_bits(inputs);
        sum += (f32x16)(weights << 16) * (f32x16)(both << 16);
        return sum + (f32x16)(weights & 0xFFFF0000) * (f32x16)(both & 0xFFFF0000);
#endif
    }
};

struct F16 {
    using Element = std::uint16_t;
    static constexpr Type kType = Type::f16;
    static constexpr int kPerLane = 2;
    static RADIXKV_INLINE f32x16 load(const Element* from) { return of_f16(widen(RADIXKV_ISA::load<u16x16>(from))); }
    static RADIXKV_INLINE void store(Element* to, f32x16 value) { RADIXKV_ISA::store(to, narrow(to_f16(value))); }
    static RADIXKV_INLINE f32x16 dot(f32x16 sum, u32x16 weights, std::uint32_t inputs) {
        const u32x16 both = splat_bits(inputs);
        sum += of_f16(weights & 0xFFFF) * of_f16(both & 0xFFFF);
        return sum + of_f16(weights >> 16) * of_f16(both >> 16);
    }
};

// The first `count` lanes; what lies behind them belongs to somebody else.
template <class T>
static RADIXKV_INLINE void store_some(typename T::Element* to, f32x16 value, std::int64_t count) {
    if (count >= kLanes) {
        T::store(to, value);
        return;
    }
    typename T::Element whole[kLanes];
    T::store(whole, value);
    for (std::int64_t i = 0; i < count; ++i) to[i] = whole[i];
}

template <class T>
static RADIXKV_INLINE void store_row(void* to, std::int64_t at, f32x16 value, std::int64_t count) {
    store_some<T>(static_cast<typename T::Element*>(to) + at, value, count);
}

static RADIXKV_INLINE void store_typed(void* to, Type type, std::int64_t at, f32x16 value, std::int64_t count) {
    switch (type) {
        case Type::f32:
            return store_row<F32>(to, at, value, count);
        case Type::bf16:
            return store_row<BF16>(to, at, value, count);
        case Type::f16:
            return store_row<F16>(to, at, value, count);
    }
}

static RADIXKV_INLINE f32x16 load_some(const float* from, std::int64_t count) {
    if (count >= kLanes) return load<f32x16>(from);
    f32x16 value{};
    for (std::int64_t i = 0; i < count; ++i) value[i] = from[i];
    return value;
}

// The next lower height of a tile that there is code for.
constexpr int lower(int rows) { return rows > 8 ? 8 : rows > 4 ? 4 : rows / 2; }
