// The kernels of one instruction set, as a table.
#pragma once

#include "attention/tasks.h"
#include "common/cpu.h"
#include "common/pointwise.h"
#include "common/types.h"

namespace radixkv {

struct Kernels {
    // One thread's share; threads need no order among them.
    void (*linear)(const LinearArgs& args, int thread, int threads);
    void (*attention)(const AttentionArgs& args, const AttentionTask& task, float* scratch);
    void (*merge)(const AttentionArgs& args, const MergeTask& task, float* scratch);
    void (*norm)(const NormArgs& args, std::int64_t first_row, std::int64_t last_row);
    void (*rotate)(const RotateArgs& args, std::int64_t first_token, std::int64_t last_token);
    void (*convert)(const float* from, std::int64_t count, Type type, void* to);
};

// The table of an instruction set that this machine offers.
const Kernels& kernels_of(Isa isa);

}  // namespace radixkv
