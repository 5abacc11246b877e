#pragma once
// Thread: every thread of ggml's pool

#include "ggml-cpu-impl.h"
#include "ggml.h"

// Attention by vectors of 512 or 256 bits (attention.cpp). Supports no node on CPUs without them.

#ifdef __cplusplus
extern "C" {
#endif

// Whether the kernel computes this GGML_OP_FLASH_ATTN_EXT.
bool ggml_cpu_attention_supports(const struct ggml_tensor * dst);

// Bytes of work buffer that it needs.
size_t ggml_cpu_attention_work_size(const struct ggml_tensor * dst, int n_threads);

// Called by each thread of the pool.
void ggml_cpu_attention(const struct ggml_compute_params * params, struct ggml_tensor * dst);

#ifdef __cplusplus
}
#endif
