#include "common/cpu.h"

#include <stdexcept>

namespace radixkv {

namespace {

constexpr Isa kLevels[] = {Isa::plain, Isa::avx2, Isa::avx512, Isa::avx512_bf16};

bool offers(Isa isa) {
#if defined(RADIXKV_X86_VARIANTS)
    switch (isa) {
        case Isa::plain:
            return true;
        case Isa::avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
        case Isa::avx512:
            return offers(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
        case Isa::avx512_bf16:
            return offers(Isa::avx512) && __builtin_cpu_supports("avx512bf16");
    }
#endif
    return isa == Isa::plain;
}

}  // namespace

std::vector<Isa> available_isas() {
    std::vector<Isa> found;
    for (Isa isa : kLevels) {
        if (offers(isa)) found.push_back(isa);
    }
    return found;
}

Isa best_isa() { return available_isas().back(); }

const char* isa_name(Isa isa) {
    switch (isa) {
        case Isa::plain:
            return "plain";
        case Isa::avx2:
            return "avx2";
        case Isa::avx512:
            return "avx512";
        case Isa::avx512_bf16:
            return "avx512_bf16";
    }
    return "";
}

Isa isa_of(const std::string& name) {
    std::string known;
    for (Isa isa : kLevels) {
        if (name == isa_name(isa)) return isa;
        known += known.empty() ? "" : ", ";
        known += isa_name(isa);
    }
    throw std::invalid_argument("isa: expected one of " + known + ", got " + name);
}

}  // namespace radixkv
