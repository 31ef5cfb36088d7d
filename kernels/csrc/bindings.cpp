// Python bindings of the native CPU kernels.

#include <nanobind/nanobind.h>
#include <omp.h>

namespace nb = nanobind;

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

}  // namespace

NB_MODULE(_cpu, module) {
    module.doc() = "Native CPU kernels of radixkv.";
    module.def("parallel_region_threads", &parallel_region_threads,
               "Number of threads an OpenMP parallel region of this module gets.");
}
