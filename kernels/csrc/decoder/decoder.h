// A decoder of the Llama shape: all layers of a step in one parallel region.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention/store.h"
#include "common/arena.h"
#include "common/types.h"

namespace radixkv {

struct DecoderShape {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t intermediate = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t vocab = 0;
    bool tied = false;
    bool qk_norm = false;
    bool qkv_bias = false, output_bias = false, mlp_bias = false;
    float norm_eps = 0;
    float attention_factor = 1;  // cosines and sines are multiplied by it
    Type type = Type::f32;
    std::vector<std::int64_t> windows;  // per layer, 0: none

    std::int64_t query_features() const { return heads * head_dim; }
    std::int64_t qkv_features() const { return (heads + 2 * kv_heads) * head_dim; }
    std::int64_t padded_intermediate() const { return ceil_div(intermediate, kLanes) * kLanes; }
};

// Weights are packed as they are set. Not thread-safe.
class Decoder {
   public:
    Decoder(DecoderShape shape, std::vector<float> frequencies, Isa isa);

    const DecoderShape& shape() const { return shape_; }
    std::int64_t weights_bytes() const;

    // Set a parameter from contiguous memory: a matrix (rows, columns) in the decoder's type, a vector (rows) with columns 1.
    // Throws std::invalid_argument for a name or a shape that is not the decoder's.
    void set_weights(const std::string& name, const void* data, std::int64_t rows, std::int64_t columns);

    // Throws std::invalid_argument naming a parameter that has not been set.
    void check_complete() const;

    // One step, planned in `attention`: writes the KV of all tokens. hidden: (tokens, hidden), normed.
    void forward(const std::int32_t* token_ids, KVStore& store, StepAttention& attention, float* hidden, int threads);

    // hidden (rows, hidden) -> logits (rows, vocab).
    void logits(const float* hidden, std::int64_t rows, float* logits, int threads) const;

   private:
    struct Layer {
        PackedWeights qkv, output, gate_up, down;
        std::vector<float> attention_norm, mlp_norm, query_norm, key_norm;
        std::vector<float> qkv_bias, output_bias, gate_up_bias, down_bias;
    };
    struct Buffers;
    struct Step;

    PackedWeights matrix(std::int64_t out_features, std::int64_t in_features);
    bool set_layer(Layer& layer, const std::string& name, const void* data, std::int64_t rows, std::int64_t columns);
    void set_matrix(const PackedWeights& weights, const void* data, std::int64_t rows, std::int64_t columns, bool interleave);
    void run_layer(const Step& step, std::int64_t layer, int thread, int threads) const;
    void embed(const Step& step, std::int64_t first, std::int64_t last) const;

    DecoderShape shape_;
    std::vector<float> frequencies_;
    const Kernels& kernels_;
    std::unique_ptr<Arena> arena_;
    char* free_ = nullptr;  // where the next matrix begins
    std::vector<Layer> layers_;
    PackedWeights head_;
    const void* embedding_ = nullptr;  // (vocab, hidden) as it is, where the head has other weights
    std::vector<float> norm_;
    std::vector<std::string> missing_;
    std::shared_ptr<Buffers> buffers_;
};

}  // namespace radixkv
