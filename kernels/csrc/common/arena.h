// Memory that lives as long as its owner and lies on 2 MiB pages where the system gives them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace radixkv {

// One region, zero-filled; pages are committed when they are first written. Throws std::bad_alloc.
class Arena {
   public:
    explicit Arena(std::size_t bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

   private:
    void* data_;
    std::size_t bytes_;
};

}  // namespace radixkv
