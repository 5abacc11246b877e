// Reports batch-invariant nodes: their rows have the same bits for any number of rows and threads.
#include "attention.h"
#include "ggml-backend.h"
#include "ggml-cpu-kernels.h"
#include "panels-lanes.h"
#include "panels.h"

namespace {

// Float panels, float rows and vec_dot are chosen by the shape of the weights alone. Exceptions are several planes of one column
// each, and columns that are not contiguous.
bool floats_round_alike(const ggml_tensor * weights, const ggml_tensor * columns) {
#if defined(GGML_LANES_512) || defined(GGML_LANES_256)
    switch (weights->type) {
        case GGML_TYPE_F32:
        case GGML_TYPE_F16:
        case GGML_TYPE_BF16:
            return ggml_n_dims(weights) <= 2 && columns->type == GGML_TYPE_F32 && ggml_is_contiguous(columns) &&
                   columns->ne[2] * columns->ne[3] == 1;
        default: return false;
    }
#else
    GGML_UNUSED(weights);
    GGML_UNUSED(columns);
    return false;
#endif
}

// Weights in other buffers have another layout and other kernels. Operands that are not leaves are not weights: attention by
// products has planes of one column.
bool product_rounds_alike(const ggml_tensor * dst) {
    const ggml_tensor * weights = dst->src[0];
    if (weights->op != GGML_OP_NONE || !weights->buffer || !ggml_backend_buffer_is_host(weights->buffer)) return false;
    if (dst->op == GGML_OP_MUL_MAT_ID) return ggml_cpu_panels_supports_mul_mat_id(dst);
    return ggml_cpu_panels_supports_mul_mat(dst) || floats_round_alike(weights, dst->src[1]);
}

}  // namespace

bool ggml_cpu_rounds_alike(const struct ggml_tensor * node) {
    switch (node->op) {
        case GGML_OP_MUL_MAT:
        case GGML_OP_MUL_MAT_ID: return product_rounds_alike(node);
        case GGML_OP_FLASH_ATTN_EXT: return ggml_cpu_attention_supports(node);
        // Element-wise and row-wise operations.
        case GGML_OP_NONE:
        case GGML_OP_VIEW:
        case GGML_OP_RESHAPE:
        case GGML_OP_PERMUTE:
        case GGML_OP_TRANSPOSE:
        case GGML_OP_DUP:
        case GGML_OP_CPY:
        case GGML_OP_CONT:
        case GGML_OP_CONCAT:
        case GGML_OP_REPEAT:
        case GGML_OP_GET_ROWS:
        case GGML_OP_SET_ROWS:
        case GGML_OP_ADD:
        case GGML_OP_ADD_ID:
        case GGML_OP_SUB:
        case GGML_OP_MUL:
        case GGML_OP_DIV:
        case GGML_OP_SCALE:
        case GGML_OP_CLAMP:
        case GGML_OP_SQR:
        case GGML_OP_SQRT:
        case GGML_OP_SUM_ROWS:
        case GGML_OP_SOFT_MAX:
        case GGML_OP_ARGSORT:
        case GGML_OP_TOP_K:
        case GGML_OP_UNARY:
        case GGML_OP_GLU:
        case GGML_OP_NORM:
        case GGML_OP_RMS_NORM:
        case GGML_OP_L2_NORM:
        case GGML_OP_ROPE:
            return true;
        // Recurrent states, and operations that were not examined.
        default: return false;
    }
}
