#pragma once
// Thread: any; what computes or waits is called by every thread of ggml's pool

// The functions that ggml's CPU backend calls in vendor/patches/0002-cpu-kernels.patch. On CPUs without AVX2, FMA and F16C
// they compute nothing and return false or 0.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_cgraph;
struct ggml_compute_params;
struct ggml_tensor;

// Computes a node, called by each thread of the pool. Returns false, without side effects, for nodes without a kernel.
bool ggml_cpu_kernels_compute(const struct ggml_compute_params * params, struct ggml_tensor * node);

// Bytes of work buffer that the node needs.
size_t ggml_cpu_kernels_work_size(const struct ggml_tensor * node, int n_threads);

// Whether the weights of this product must stay in the file's layout: no repacking, no AMX buffer.
bool ggml_cpu_kernels_need_plain_weights(const struct ggml_tensor * node);

// Quantises a row to Q8_K with the same bits as quantize_row_q8_K_ref. Returns false where there is no vector code.
bool ggml_cpu_kernels_quantize_row_q8_K(const float * x, void * y, int64_t n);

// Whether the rows of this node's result have the same bits whatever the number of rows and threads. `node` belongs to a
// graph for several tokens and its weights have buffers. Exported through ggml_backend_reg_get_proc_address.
bool ggml_cpu_rounds_alike(const struct ggml_tensor * node);

// Each thread of the pool calls the following three during a graph; their state is thread-local.

// Called before each node. Returns true if the node was already computed together with an earlier one.
bool ggml_cpu_kernels_is_computed(const struct ggml_cgraph * graph, int node);

// Called before the barrier after each node: lets the wait prefetch the weights of this thread's next product.
void ggml_cpu_kernels_prefetch_at_barrier(const struct ggml_compute_params * params);

// Called in spin loops, with a counter that starts at 0. Prefetches or yields the core and returns true, or returns false: the
// caller relaxes the CPU.
bool ggml_cpu_kernels_wait(int * n_spins);

#ifdef __cplusplus
}
#endif
