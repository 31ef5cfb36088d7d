// Which instructions this CPU and its operating system offer.
#pragma once

#include <string>
#include <vector>

namespace radixkv {

// Each level includes the ones before it.
enum class Isa { plain, avx2, avx512, avx512_bf16 };

Isa best_isa();

// The levels that this machine can run, the best one last.
std::vector<Isa> available_isas();

const char* isa_name(Isa isa);

// Throws std::invalid_argument with the known names.
Isa isa_of(const std::string& name);

}  // namespace radixkv
