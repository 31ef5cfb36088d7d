// Python bindings of the native CPU kernels. Arrays come as addresses: the Python side has checked types, shapes and layout.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "attention/store.h"
#include "common/cpu.h"
#include "decoder/decoder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace radixkv {
namespace {

// Threads that actually take part in a parallel region: the answer of the OpenMP runtime
// this module is linked to, so a caller can check that it follows torch.set_num_threads.
int parallel_region_threads() {
    int threads = 0;
#pragma omp parallel
    {
#pragma omp single
        threads = omp_get_num_threads();
    }
    return threads;
}

template <class T>
T* pointer(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
}

Type type_of(const std::string& name) {
    if (name == "fp32") return Type::f32;
    if (name == "bf16") return Type::bf16;
    if (name == "fp16") return Type::f16;
    throw std::invalid_argument("type: expected fp32, bf16 or fp16, got " + name);
}

std::string type_name(Type type) { return type == Type::f32 ? "fp32" : type == Type::bf16 ? "bf16" : "fp16"; }

// Attention over blocks, as Python calls it: one layer at a time.
class Attention {
   public:
    Attention(const KVShape& shape, Isa isa) : store_(shape), kernels_(kernels_of(isa)) {}

    void plan(Batch batch, std::int64_t heads, bool share) {
        const int threads = omp_get_max_threads();
        PlanOptions options;
        options.heads = heads;
        options.threads = threads;
        options.share = share;
        step_.plan(AttentionPlan(std::move(batch), store_.shape(), options), store_.shape(), store_.shape().layers, heads, threads);
        threads_ = threads;
    }

    // keys and values: (tokens, kv_heads, head_dim) fp32, contiguous.
    void write_kv(std::int64_t layer, std::uintptr_t keys, std::uintptr_t values) {
        const KVShape& shape = store_.shape();
        const std::int64_t features = shape.kv_heads * shape.head_dim, tokens = step_.current().tokens();
        std::vector<float> rows(tokens * 2 * features);
        for (std::int64_t token = 0; token < tokens; ++token) {
            std::copy_n(pointer<float>(keys) + token * features, features, rows.data() + token * 2 * features);
            std::copy_n(pointer<float>(values) + token * features, features, rows.data() + token * 2 * features + features);
        }
        RotateArgs args;
        args.heads = rows.data();
        args.stride = 2 * features;
        args.kv = store_.view();
        args.layer = layer;
        args.slots = step_.current().slots().data();
        args.is_last = step_.current().is_last().data();
        kernels_.rotate(args, 0, tokens);
    }

    // query and output: (tokens, heads, head_dim) fp32, contiguous.
    void run(std::int64_t layer, std::uintptr_t query, std::uintptr_t output, std::int64_t heads, float scale, std::int64_t window,
             float soft_cap) {
        AttentionArgs args;
        args.kv = store_.view();
        args.layer = layer;
        args.heads = heads;
        args.query = pointer<float>(query);
        args.query_stride = heads * store_.shape().head_dim;
        args.output = pointer<float>(output);
        args.output_stride = args.query_stride;
        args.scale = scale;
        args.window = window;
        args.soft_cap = soft_cap;
        step_.rewind();
#pragma omp parallel num_threads(threads_)
        {
            const int thread = omp_get_thread_num(), count = omp_get_num_threads();
            step_.run(kernels_, args, layer, thread);
#pragma omp barrier
            step_.merge(kernels_, args, thread, count);
        }
    }

    void copy_slots(std::int64_t source, std::int64_t target, std::int64_t tokens) { store_.copy_slots(source, target, tokens); }

    // For tests: with 255 everything that has not been written is no number.
    void fill_bytes(int value) { std::memset(store_.view().data, value, store_.shape().blocks * store_.shape().block_bytes()); }

    KVStore& store() { return store_; }
    StepAttention& step() { return step_; }
    int threads() const { return threads_; }

   private:
    KVStore store_;
    StepAttention step_;
    const Kernels& kernels_;
    int threads_ = 1;
};

KVShape kv_shape(std::int64_t layers, std::int64_t blocks, std::int64_t block_size, std::int64_t kv_heads, std::int64_t head_dim,
                 const std::string& type) {
    KVShape shape;
    shape.layers = layers;
    shape.blocks = blocks;
    shape.block_size = block_size;
    shape.kv_heads = kv_heads;
    shape.head_dim = head_dim;
    shape.type = type_of(type);
    return shape;
}

}  // namespace
}  // namespace radixkv

NB_MODULE(_cpu, module) {
    using namespace radixkv;
    module.doc() = "Native CPU kernels of radixkv.";
    module.def("parallel_region_threads", &parallel_region_threads,
               "Number of threads an OpenMP parallel region of this module gets.");
    module.def(
        "available_isas",
        [] {
            std::vector<std::string> names;
            for (Isa isa : available_isas()) names.emplace_back(isa_name(isa));
            return names;
        },
        "Instruction sets that this machine offers, the best one last.");

    nb::class_<KVShape>(module, "KVShape")
        .def_prop_ro("block_bytes", &KVShape::block_bytes);
    module.def("kv_shape", &kv_shape, "layers"_a, "blocks"_a, "block_size"_a, "kv_heads"_a, "head_dim"_a, "type_name"_a);

    nb::class_<Batch>(module, "Batch")
        .def(nb::init<>())
        .def_rw("query_pointers", &Batch::query_pointers)
        .def_rw("table_pointers", &Batch::table_pointers)
        .def_rw("table_ids", &Batch::table_ids)
        .def_rw("kv_lengths", &Batch::kv_lengths)
        .def_rw("group_blocks", &Batch::group_blocks)
        .def_rw("group_pointers", &Batch::group_pointers)
        .def_rw("group_rows", &Batch::group_rows);

    nb::class_<Attention>(module, "Attention")
        .def("__init__",
             [](Attention* self, const KVShape& shape, const std::string& isa) { new (self) Attention(shape, isa_of(isa)); })
        .def("plan", &Attention::plan, "batch"_a, "heads"_a, "share"_a)
        .def("write_kv", &Attention::write_kv, nb::call_guard<nb::gil_scoped_release>())
        .def("run", &Attention::run, nb::call_guard<nb::gil_scoped_release>())
        .def("copy_slots", &Attention::copy_slots)
        .def("fill_bytes", &Attention::fill_bytes);

    nb::class_<DecoderShape>(module, "DecoderShape")
        .def(nb::init<>())
        .def_rw("layers", &DecoderShape::layers)
        .def_rw("hidden", &DecoderShape::hidden)
        .def_rw("intermediate", &DecoderShape::intermediate)
        .def_rw("heads", &DecoderShape::heads)
        .def_rw("kv_heads", &DecoderShape::kv_heads)
        .def_rw("head_dim", &DecoderShape::head_dim)
        .def_rw("vocab", &DecoderShape::vocab)
        .def_rw("tied", &DecoderShape::tied)
        .def_rw("qk_norm", &DecoderShape::qk_norm)
        .def_rw("qkv_bias", &DecoderShape::qkv_bias)
        .def_rw("output_bias", &DecoderShape::output_bias)
        .def_rw("mlp_bias", &DecoderShape::mlp_bias)
        .def_rw("norm_eps", &DecoderShape::norm_eps)
        .def_rw("attention_factor", &DecoderShape::attention_factor)
        .def_rw("windows", &DecoderShape::windows)
        .def_prop_rw("type", [](const DecoderShape& shape) { return type_name(shape.type); },
                     [](DecoderShape& shape, const std::string& name) { shape.type = type_of(name); });

    nb::class_<Decoder>(module, "Decoder")
        .def("__init__", [](Decoder* self, const DecoderShape& shape, std::vector<float> frequencies,
                            const std::string& isa) { new (self) Decoder(shape, std::move(frequencies), isa_of(isa)); })
        .def("set_weights", [](Decoder& self, const std::string& name, std::uintptr_t data, std::int64_t rows,
                               std::int64_t columns) { self.set_weights(name, pointer<void>(data), rows, columns); })
        .def("check_complete", &Decoder::check_complete)
        .def("forward",
             [](Decoder& self, std::uintptr_t token_ids, Attention& attention, std::uintptr_t hidden) {
                 self.forward(pointer<std::int32_t>(token_ids), attention.store(), attention.step(), pointer<float>(hidden),
                              attention.threads());
             },
             nb::call_guard<nb::gil_scoped_release>())
        .def("logits",
             [](Decoder& self, std::uintptr_t hidden, std::int64_t rows, std::uintptr_t logits) {
                 self.logits(pointer<float>(hidden), rows, pointer<float>(logits), omp_get_max_threads());
             },
             nb::call_guard<nb::gil_scoped_release>());
}
