#pragma once
// Thread: every thread of ggml's pool

#include "ggml-cpu-impl.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

// Products of weights of 16 or 32 bits in rows of any length (float-rows.cpp). Called by each thread of the pool. Returns
// false, without side effects, for types and shapes without a kernel.
bool ggml_cpu_float_rows_mul_mat(const struct ggml_compute_params * params, struct ggml_tensor * dst);

// Bytes of the work buffer; 0 for types without a kernel.
size_t ggml_cpu_float_rows_work_size(const struct ggml_tensor * dst);

#ifdef __cplusplus
}
#endif
