// Selects the kernel of a node.
#include "ggml-cpu-kernels.h"

#include "attention.h"
#include "float-panels.h"
#include "float-rows.h"
#include "ggml-cpu-impl.h"
#include "ggml-impl.h"
#include "graph-walk.h"
#include "panels-lanes.h"
#include "panels.h"

namespace {

bool multiply(const ggml_compute_params * params, ggml_tensor * node) {
    if (ggml_get_op_params_i32(node, 1) == GGML_HINT_SRC0_IS_HADAMARD) return false;
    if (ggml_cpu_panels_supports_mul_mat(node)) {
        const ggml_products products = ggml::cpu::kernels::products_with(node);
        ggml_cpu_panels_mul_mat(params, &products);
        return true;
    }
    return ggml_cpu_float_panels_mul_mat(params, node) || ggml_cpu_float_rows_mul_mat(params, node);
}

bool multiply_experts(const ggml_compute_params * params, ggml_tensor * node) {
    if (!ggml_cpu_panels_supports_mul_mat_id(node)) return false;
    ggml_cpu_panels_mul_mat_id(params, node);
    return true;
}

bool attend(const ggml_compute_params * params, ggml_tensor * node) {
    if (!ggml_cpu_attention_supports(node)) return false;
    ggml_cpu_attention(params, node);
    return true;
}

}  // namespace

bool ggml_cpu_kernels_compute(const struct ggml_compute_params * params, struct ggml_tensor * node) {
    if (params->use_ref) return false;
    switch (node->op) {
        case GGML_OP_MUL_MAT: return multiply(params, node);
        case GGML_OP_MUL_MAT_ID: return multiply_experts(params, node);
        case GGML_OP_FLASH_ATTN_EXT: return attend(params, node);
        default: return false;
    }
}

size_t ggml_cpu_kernels_work_size(const struct ggml_tensor * node, int n_threads) {
    switch (node->op) {
        case GGML_OP_MUL_MAT:
            return ggml_cpu_panels_supports_mul_mat(node) ? ggml_cpu_panels_work_size(node, n_threads)
                                                          : ggml_cpu_float_rows_work_size(node);
        case GGML_OP_MUL_MAT_ID:
            return ggml_cpu_panels_supports_mul_mat_id(node) ? ggml_cpu_panels_experts_work_size(node, n_threads) : 0;
        case GGML_OP_FLASH_ATTN_EXT:
            return ggml_cpu_attention_supports(node) ? ggml_cpu_attention_work_size(node, n_threads) : 0;
        default: return 0;
    }
}

bool ggml_cpu_kernels_need_plain_weights(const struct ggml_tensor * node) {
    const ggml_tensor * weights = node->src[0];
    if (weights == nullptr) return false;
    if (node->op == GGML_OP_MUL_MAT_ID) return ggml_cpu_panels_supports_mul_mat_id(node);
#if defined(GGML_LANES_512) || defined(GGML_LANES_256)
    // AMX has no kernel for F16: its buffer would only change the rounding.
    if (weights->type == GGML_TYPE_F16) return true;
#endif
    return ggml_cpu_panels_take(weights);
}
