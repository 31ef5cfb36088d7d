// Where threads of one region wait for one another.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace radixkv {

// A step has hundreds of barriers, some microseconds apart. OpenMP's own puts a thread to sleep at each of them as soon as the process has
// more OpenMP threads than cores, which any second thread that uses torch brings about. This one spins for some tens of
// microseconds, and then lets others have the core between one look and the next.
class Barrier {
   public:
    explicit Barrier(int threads) : threads_(threads) {}

    void wait() {
        const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            phase_.store(phase + 1, std::memory_order_release);
            return;
        }
        for (int spin = 0; phase_.load(std::memory_order_acquire) == phase; ++spin) {
            if (spin < kSpins) {
                pause();
            } else {
                sched_yield();
            }
        }
    }

   private:
    static constexpr int kSpins = 1000;

    static void pause() {
#if defined(__x86_64__)
        _mm_pause();
#endif
    }

    const int threads_;
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<std::uint32_t> phase_{0};
};

}  // namespace radixkv
