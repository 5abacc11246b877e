#pragma once
// Thread: any; ggml_cpu_panels_mul_mat: every thread of ggml's pool

#include "ggml-cpu-impl.h"
#include "ggml.h"

// Products of quantised weights and activations (panels.cpp). On CPUs with neither AVX-512 nor AVX2, FMA and F16C these functions
// return false or do nothing.

#ifdef __cplusplus
extern "C" {
#endif

#define GGML_MAX_PRODUCTS 4

// Products that are computed together: GGML_OP_MUL_MAT with the same activations and one type of weights.
struct ggml_products {
    struct ggml_tensor * dst[GGML_MAX_PRODUCTS];
    int                  n;
};

// Whether panels compute this GGML_OP_MUL_MAT.
bool ggml_cpu_panels_supports_mul_mat(const struct ggml_tensor * dst);

// Whether panels multiply this matrix in the file's layout, without repacking. False for experts.
bool ggml_cpu_panels_take(const struct ggml_tensor * weights);

// Whether two products can be computed together.
bool ggml_cpu_panels_go_together(const struct ggml_tensor * dst, const struct ggml_tensor * other);

// Returns the range of weights that thread `ith` of `nth` multiplies first, or null if panels do not compute these products.
void ggml_cpu_panels_first_share(const struct ggml_products * products, int ith, int nth, const char ** begin,
                                 const char ** end);

// Prefetches a cache line and returns the next one.
const char * ggml_cpu_panels_ask_for(const char * weights);

// Bytes of work buffer that a product needs, alone or together with others.
size_t ggml_cpu_panels_work_size(const struct ggml_tensor * dst, int n_threads);

// Called by each thread of the pool.
void ggml_cpu_panels_mul_mat(const struct ggml_compute_params * params, const struct ggml_products * products);

// The same for GGML_OP_MUL_MAT_ID, the products of a mixture of experts.
bool   ggml_cpu_panels_supports_mul_mat_id(const struct ggml_tensor * dst);
size_t ggml_cpu_panels_experts_work_size(const struct ggml_tensor * dst, int n_threads);
void   ggml_cpu_panels_mul_mat_id(const struct ggml_compute_params * params, struct ggml_tensor * dst);

#ifdef __cplusplus
}
#endif
