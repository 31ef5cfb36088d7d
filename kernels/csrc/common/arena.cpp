#include "common/arena.h"

#include <new>

#include <sys/mman.h>

namespace radixkv {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

// A mapping begins anywhere, so one page more is asked for and what lies before and after the aligned part is given back.
Arena::Arena(std::size_t bytes) : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
    if (bytes_ == 0) bytes_ = kHugePage;
    const std::size_t asked = bytes_ + kHugePage;
    void* mapped = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<char*>(mapped);
    const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
    if (before > 0) munmap(begin, before);
    if (asked > before + bytes_) munmap(begin + before + bytes_, asked - before - bytes_);
    data_ = begin + before;
#if defined(MADV_HUGEPAGE)
    madvise(data_, bytes_, MADV_HUGEPAGE);  // advice: works without it, slower
#endif
}

Arena::~Arena() { munmap(data_, bytes_); }

}  // namespace radixkv
