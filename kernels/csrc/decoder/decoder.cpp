#include "decoder/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include <omp.h>

#include "common/barrier.h"
#include "common/halves.h"
#include "linear.h"

namespace radixkv {

namespace {

void widen(const void* data, std::int64_t count, Type type, float* to) {
    if (type == Type::f32) {
        std::memcpy(to, data, count * sizeof(float));
        return;
    }
    const auto* halves = static_cast<const std::uint16_t*>(data);
    for (std::int64_t i = 0; i < count; ++i) to[i] = type == Type::bf16 ? from_bf16(halves[i]) : from_f16(halves[i]);
}

std::vector<float> widened(const void* data, std::int64_t count, Type type) {
    std::vector<float> values(count);
    widen(data, count, type, values.data());
    return values;
}

// Column of the packed matrix where row `row` of gate (or of up) goes: blocks of the two in turn.
std::int64_t interleaved(std::int64_t row, bool is_up) { return row / kLanes * 2 * kLanes + (is_up ? kLanes : 0) + row % kLanes; }

[[noreturn]] void refuse(const std::string& name, const std::string& what) { throw std::invalid_argument(name + ": " + what); }

void expect(const std::string& name, std::int64_t rows, std::int64_t columns, std::int64_t want_rows, std::int64_t want_columns) {
    if (rows == want_rows && columns == want_columns) return;
    refuse(name, "expected (" + std::to_string(want_rows) + ", " + std::to_string(want_columns) + "), got (" +
                     std::to_string(rows) + ", " + std::to_string(columns) + ")");
}

}  // namespace

// Grown to the largest step so far and kept: a step allocates nothing.
struct Decoder::Buffers {
    std::vector<float> residual, heads, cosines, sines;
    std::vector<char> normed, attended, gated;

    void fit(const DecoderShape& shape, std::int64_t tokens) {
        const std::int64_t size = size_of(shape.type);
        residual.resize(tokens * shape.hidden);
        heads.resize(tokens * shape.qkv_features());
        cosines.resize(tokens * (shape.head_dim / 2));
        sines.resize(tokens * (shape.head_dim / 2));
        normed.resize(tokens * shape.hidden * size);
        attended.resize(tokens * shape.query_features() * size);
        gated.resize(tokens * shape.padded_intermediate() * size);
    }
};

struct Decoder::Step {
    const std::int32_t* token_ids;
    std::int64_t tokens;
    KVView kv;
    StepAttention& attention;
    Buffers& buffers;
    Barrier& barrier;
};

Decoder::Decoder(DecoderShape shape, std::vector<float> frequencies, Isa isa)
    : shape_(std::move(shape)), frequencies_(std::move(frequencies)), kernels_(kernels_of(isa)), buffers_(std::make_shared<Buffers>()) {
    const std::int64_t lane = lane_elements(shape_.type);
    if (shape_.hidden % lane != 0 || shape_.query_features() % lane != 0 || shape_.head_dim % 2 != 0) {
        throw std::invalid_argument("shape: expected even hidden and head sizes");
    }
    layers_.resize(shape_.layers);
    arena_ = std::make_unique<Arena>(weights_bytes());
    free_ = static_cast<char*>(arena_->data());
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
        Layer& layer = layers_[i];
        layer.qkv = matrix(shape_.qkv_features(), shape_.hidden);
        layer.output = matrix(shape_.hidden, shape_.query_features());
        layer.gate_up = matrix(2 * shape_.padded_intermediate(), shape_.hidden);
        layer.down = matrix(shape_.hidden, shape_.padded_intermediate());
        const std::string prefix = "layers." + std::to_string(i) + ".";
        for (const char* name : {"attention_norm.weight", "attention.qkv.weight", "attention.output.weight", "mlp_norm.weight",
                                 "mlp.gate_up.weight", "mlp.down.weight"}) {
            missing_.push_back(prefix + name);
        }
        if (shape_.qkv_bias) missing_.push_back(prefix + "attention.qkv.bias");
        if (shape_.output_bias) missing_.push_back(prefix + "attention.output.bias");
        if (shape_.mlp_bias) missing_.insert(missing_.end(), {prefix + "mlp.gate_up.bias", prefix + "mlp.down.bias"});
        if (shape_.qk_norm) missing_.insert(missing_.end(), {prefix + "attention.q_norm.weight", prefix + "attention.k_norm.weight"});
    }
    head_ = matrix(shape_.vocab, shape_.hidden);
    if (!shape_.tied) {
        embedding_ = free_;
        missing_.push_back("head.weight");
    }
    missing_.insert(missing_.end(), {"norm.weight", "embedding.weight"});
}

std::int64_t Decoder::weights_bytes() const {
    const auto bytes = [&](std::int64_t out, std::int64_t in) {
        return ceil_div(out, kLanes) * kLanes * in * size_of(shape_.type);
    };
    const std::int64_t layer = bytes(shape_.qkv_features(), shape_.hidden) + bytes(shape_.hidden, shape_.query_features()) +
                               bytes(2 * shape_.padded_intermediate(), shape_.hidden) +
                               bytes(shape_.hidden, shape_.padded_intermediate());
    const std::int64_t head = bytes(shape_.vocab, shape_.hidden);
    return shape_.layers * layer + head + (shape_.tied ? 0 : shape_.vocab * shape_.hidden * size_of(shape_.type));
}

PackedWeights Decoder::matrix(std::int64_t out_features, std::int64_t in_features) {
    PackedWeights weights;
    weights.data = free_;
    weights.in_features = in_features;
    weights.out_features = out_features;
    weights.type = shape_.type;
    free_ += weights.bytes();
    return weights;
}

void Decoder::set_matrix(
    const PackedWeights& weights, const void* data, std::int64_t rows, std::int64_t columns, bool interleave
) {
    const std::int64_t half = rows / 2;
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t column = !interleave ? row : interleaved(row % half, row >= half);
        const char* from = static_cast<const char*>(data) + row * columns * size_of(shape_.type);
        pack_row(weights, const_cast<void*>(weights.data), column, from, columns);
    }
}

void Decoder::set_weights(const std::string& name, const void* data, std::int64_t rows, std::int64_t columns) {
    bool known = false;
    if (name == "norm.weight") {
        expect(name, rows, columns, shape_.hidden, 1);
        norm_ = widened(data, rows, shape_.type);
        known = true;
    } else if (name == "embedding.weight" || (name == "head.weight" && !shape_.tied)) {
        expect(name, rows, columns, shape_.vocab, shape_.hidden);
        if (name == "head.weight" || shape_.tied) {
            set_matrix(head_, data, rows, columns, false);
        } else {
            std::memcpy(const_cast<void*>(embedding_), data, rows * columns * size_of(shape_.type));
        }
        known = true;
    } else if (name.rfind("layers.", 0) == 0) {
        const std::size_t dot = name.find('.', 7);
        const std::int64_t index = dot == std::string::npos ? -1 : std::atoll(name.substr(7, dot - 7).c_str());
        if (index >= 0 && index < shape_.layers) known = set_layer(layers_[index], name.substr(dot + 1), data, rows, columns);
    }
    if (!known) refuse(name, "no such parameter");
    missing_.erase(std::remove(missing_.begin(), missing_.end(), name), missing_.end());
}

bool Decoder::set_layer(Layer& layer, const std::string& name, const void* data, std::int64_t rows, std::int64_t columns) {
    const std::int64_t inner = shape_.intermediate;
    struct Matrix {
        const char* name;
        PackedWeights& weights;
        std::int64_t rows, columns;
    };
    const Matrix matrices[] = {
        {"attention.qkv.weight", layer.qkv, shape_.qkv_features(), shape_.hidden},
        {"attention.output.weight", layer.output, shape_.hidden, shape_.query_features()},
        {"mlp.gate_up.weight", layer.gate_up, 2 * inner, shape_.hidden},
        {"mlp.down.weight", layer.down, shape_.hidden, inner},
    };
    for (const Matrix& matrix : matrices) {
        if (name != matrix.name) continue;
        expect(name, rows, columns, matrix.rows, matrix.columns);
        set_matrix(matrix.weights, data, rows, columns, &matrix.weights == &layer.gate_up);
        return true;
    }
    struct Vector {
        const char* name;
        std::vector<float>& values;
        std::int64_t size;
        PackedWeights* biased;
    };
    const Vector vectors[] = {
        {"attention_norm.weight", layer.attention_norm, shape_.hidden, nullptr},
        {"mlp_norm.weight", layer.mlp_norm, shape_.hidden, nullptr},
        {"attention.q_norm.weight", layer.query_norm, shape_.head_dim, nullptr},
        {"attention.k_norm.weight", layer.key_norm, shape_.head_dim, nullptr},
        {"attention.qkv.bias", layer.qkv_bias, shape_.qkv_features(), &layer.qkv},
        {"attention.output.bias", layer.output_bias, shape_.hidden, &layer.output},
        {"mlp.gate_up.bias", layer.gate_up_bias, 2 * inner, &layer.gate_up},
        {"mlp.down.bias", layer.down_bias, shape_.hidden, &layer.down},
    };
    for (const Vector& vector : vectors) {
        if (name != vector.name) continue;
        expect(name, rows, columns, vector.size, 1);
        const std::vector<float> values = widened(data, rows, shape_.type);
        if (vector.biased == nullptr) {
            vector.values = values;
            return true;
        }
        vector.values.assign(vector.biased->blocks() * kLanes, 0.0f);
        for (std::int64_t row = 0; row < rows; ++row) {
            const bool is_gate_up = vector.biased == &layer.gate_up;
            vector.values[is_gate_up ? interleaved(row % inner, row >= inner) : row] = values[row];
        }
        vector.biased->bias = vector.values.data();
        return true;
    }
    return false;
}

void Decoder::check_complete() const {
    if (!missing_.empty()) refuse(missing_.front(), "not set");
}

void Decoder::embed(const Step& step, std::int64_t first, std::int64_t last) const {
    std::vector<char> row(shape_.hidden * size_of(shape_.type));
    for (std::int64_t token = first; token < last; ++token) {
        const std::int64_t id = step.token_ids[token];
        if (shape_.tied) unpack_row(head_, id, row.data());
        const char* from = shape_.tied ? row.data() : static_cast<const char*>(embedding_) + id * row.size();
        widen(from, shape_.hidden, shape_.type, step.buffers.residual.data() + token * shape_.hidden);
        const std::int64_t half = shape_.head_dim / 2;
        const auto position = static_cast<float>(step.attention.current().positions()[token]);
        for (std::int64_t i = 0; i < half; ++i) {
            const float angle = position * frequencies_[i];
            step.buffers.cosines[token * half + i] = std::cos(angle) * shape_.attention_factor;
            step.buffers.sines[token * half + i] = std::sin(angle) * shape_.attention_factor;
        }
    }
}

void Decoder::run_layer(const Step& step, std::int64_t index, int thread, int threads) const {
    const Layer& layer = layers_[index];
    Buffers& buffers = step.buffers;
    const std::int64_t first = step.tokens * thread / threads, last = step.tokens * (thread + 1) / threads;
    const AttentionPlan& plan = step.attention.current();

    NormArgs norm;
    norm.input = buffers.residual.data();
    norm.size = shape_.hidden;
    norm.weight = layer.attention_norm.data();
    norm.eps = shape_.norm_eps;
    norm.output = buffers.normed.data();
    norm.output_type = shape_.type;
    kernels_.norm(norm, first, last);
    step.barrier.wait();
    LinearArgs linear;
    linear.weights = &layer.qkv;
    linear.input = buffers.normed.data();
    linear.rows = step.tokens;
    linear.input_stride = shape_.hidden;
    linear.output = buffers.heads.data();
    linear.output_stride = shape_.qkv_features();
    kernels_.linear(linear, thread, threads);
    step.barrier.wait();
    RotateArgs rotate;
    rotate.heads = buffers.heads.data();
    rotate.stride = shape_.qkv_features();
    rotate.query_heads = shape_.heads;
    rotate.cosines = buffers.cosines.data();
    rotate.sines = buffers.sines.data();
    rotate.query_norm = shape_.qk_norm ? layer.query_norm.data() : nullptr;
    rotate.key_norm = shape_.qk_norm ? layer.key_norm.data() : nullptr;
    rotate.eps = shape_.norm_eps;
    rotate.kv = step.kv;
    rotate.layer = index;
    rotate.slots = plan.slots().data();
    rotate.is_last = plan.is_last().data();
    kernels_.rotate(rotate, first, last);
    step.barrier.wait();
    AttentionArgs attention;
    attention.kv = step.kv;
    attention.layer = index;
    attention.heads = shape_.heads;
    attention.query = buffers.heads.data();
    attention.query_stride = shape_.qkv_features();
    attention.output = buffers.attended.data();
    attention.output_stride = shape_.query_features();
    attention.output_type = shape_.type;
    attention.scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    attention.window = shape_.windows[index];
    step.attention.run(kernels_, attention, index, thread);
    step.barrier.wait();
    if (step.attention.has_parts()) {
        step.attention.merge(kernels_, attention, thread, threads);
        step.barrier.wait();
    }
    linear.weights = &layer.output;
    linear.input = buffers.attended.data();
    linear.input_stride = shape_.query_features();
    linear.output = buffers.residual.data();
    linear.output_stride = shape_.hidden;
    linear.finish = Finish::add;
    kernels_.linear(linear, thread, threads);
    step.barrier.wait();
    norm.weight = layer.mlp_norm.data();
    kernels_.norm(norm, first, last);
    step.barrier.wait();
    linear.weights = &layer.gate_up;
    linear.input = buffers.normed.data();
    linear.input_stride = shape_.hidden;
    linear.output = buffers.gated.data();
    linear.output_stride = shape_.padded_intermediate();
    linear.output_type = shape_.type;
    linear.finish = Finish::silu_gate;
    kernels_.linear(linear, thread, threads);
    step.barrier.wait();
    linear.weights = &layer.down;
    linear.input = buffers.gated.data();
    linear.input_stride = shape_.padded_intermediate();
    linear.output = buffers.residual.data();
    linear.output_stride = shape_.hidden;
    linear.finish = Finish::add;
    kernels_.linear(linear, thread, threads);
    step.barrier.wait();
}

void Decoder::forward(const std::int32_t* token_ids, KVStore& store, StepAttention& attention, float* hidden, int threads) {
    const std::int64_t tokens = attention.current().tokens();
    buffers_->fit(shape_, tokens);
    attention.rewind();
    std::optional<Barrier> barrier;
#pragma omp parallel num_threads(threads)
    {
        const int thread = omp_get_thread_num(), count = omp_get_num_threads();
#pragma omp single
        barrier.emplace(count);  // of the threads that there really are
        const Step step{token_ids, tokens, store.view(), attention, *buffers_, *barrier};
        const std::int64_t first = tokens * thread / count, last = tokens * (thread + 1) / count;
        embed(step, first, last);
        barrier->wait();
        for (std::int64_t layer = 0; layer < shape_.layers; ++layer) run_layer(step, layer, thread, count);
        NormArgs norm;
        norm.input = buffers_->residual.data();
        norm.size = shape_.hidden;
        norm.weight = norm_.data();
        norm.eps = shape_.norm_eps;
        norm.output = hidden;
        kernels_.norm(norm, first, last);
    }
}

void Decoder::logits(const float* hidden, std::int64_t rows, float* logits, int threads) const {
    std::vector<char> input(rows * shape_.hidden * size_of(shape_.type));
    kernels_.convert(hidden, rows * shape_.hidden, shape_.type, input.data());
    LinearArgs linear;
    linear.weights = &head_;
    linear.input = input.data();
    linear.rows = rows;
    linear.input_stride = shape_.hidden;
    linear.output = logits;
    linear.output_stride = shape_.vocab;
#pragma omp parallel num_threads(threads)
    kernels_.linear(linear, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace radixkv
