#include "../native/check.h"
#include "on-cpu.h"

#include <cstdint>
#include <functional>
#include <string>

using namespace chasqui::test;

namespace {

using Build = std::function<ggml_tensor*(ggml_context*)>;

// Result of the best module of this CPU for the last node of a graph with several tokens.
bool says_alike(const Build& build) {
    const Owned<ggml_context*> context(ggml_init({1 << 20, nullptr, true}));
    ggml_tensor* const         node = build(context.get());
    const Owned<ggml_backend_buffer_t> buffer(ggml_backend_alloc_ctx_tensors(context.get(), cpu()));
    auto* const batch_invariant = reinterpret_cast<bool (*)(const ggml_tensor*)>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu())), "ggml_cpu_rounds_alike"));
    return batch_invariant(node);
}

constexpr int64_t n_tokens = 5;

ggml_tensor* columns_of(ggml_context* context, int64_t k) {
    return ggml_new_tensor_2d(context, GGML_TYPE_F32, k, n_tokens);
}

Build product(ggml_type type, int64_t n_rows) {
    return [=](ggml_context* context) {
        return ggml_mul_mat(context, ggml_new_tensor_2d(context, type, 512, n_rows), columns_of(context, 512));
    };
}

Build experts(ggml_type type) {
    return [=](ggml_context* context) {
        ggml_tensor* const columns = ggml_new_tensor_3d(context, GGML_TYPE_F32, 512, 1, n_tokens);
        ggml_tensor* const ids     = ggml_new_tensor_2d(context, GGML_TYPE_I32, 2, n_tokens);
        return ggml_mul_mat_id(context, ggml_new_tensor_3d(context, type, 512, 64, 4), columns, ids);
    };
}

Build attention(ggml_type keys, ggml_type values, int64_t width) {
    return [=](ggml_context* context) {
        ggml_tensor* const q = ggml_new_tensor_3d(context, GGML_TYPE_F32, width, n_tokens, 4);
        ggml_tensor* const k = ggml_new_tensor_3d(context, keys, width, 256, 2);
        ggml_tensor* const v = ggml_new_tensor_3d(context, values, width, 256, 2);
        ggml_tensor* const mask = ggml_new_tensor_2d(context, GGML_TYPE_F16, 256, n_tokens);
        return ggml_flash_attn_ext(context, q, k, v, mask, 1.0f, 0, 0);
    };
}

const Test products("ggml: says of products whether they round alike", [] {
    const bool panels = cpu_has_panels();
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        expect(says_alike(product(type, 64)) == panels, std::string(ggml_type_name(type)));
    }
    for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                                 GGML_TYPE_IQ4_NL, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K,
                                 GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4}) {
        expect(says_alike(product(type, 64)) == panels, std::string(ggml_type_name(type)));
        expect(says_alike(experts(type)) == panels, std::string("experts, ") + ggml_type_name(type));
        expect(!says_alike(product(type, 4)), std::string(ggml_type_name(type)) + " of fewer rows than a panel");
    }
    for (const ggml_type type : {GGML_TYPE_Q2_K, GGML_TYPE_Q3_K}) {
        expect(!says_alike(product(type, 64)), std::string(ggml_type_name(type)));
    }
});

// True if an additional buffer type would repack the weights of this product, which llama.cpp asks before loading.
bool stored_otherwise(const Build& build) {
    const ggml_backend_dev_t device = ggml_backend_get_device(cpu());
    auto* const list = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
    const Owned<ggml_context*> context(ggml_init({1 << 20, nullptr, true}));
    ggml_tensor* const         node = build(context.get());
    for (ggml_backend_buffer_type_t* kind = list(device); *kind != nullptr; ++kind) {
        const Owned<ggml_backend_buffer_t> none(ggml_backend_buft_alloc_buffer(*kind, 0));
        node->src[0]->buffer = none.get();
        if (ggml_backend_dev_supports_op(device, node)) return true;
    }
    return false;
}

const Test storage("ggml: weights that panels take are stored as they are in the file", [] {
    if (!cpu_has_panels()) return;
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                 GGML_TYPE_Q8_0, GGML_TYPE_IQ4_NL, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K,
                                 GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4}) {
        expect(!stored_otherwise(product(type, 64)), ggml_type_name(type));
        if (type != GGML_TYPE_F16) expect(!stored_otherwise(experts(type)), std::string("experts, ") + ggml_type_name(type));
    }
});

const Test other_products("ggml: says of no other products that they round alike", [] {
    expect(!says_alike([](ggml_context* context) {
        ggml_tensor* const all = ggml_new_tensor_2d(context, GGML_TYPE_F32, 600, n_tokens);
        ggml_tensor* const columns = ggml_view_2d(context, all, 512, n_tokens, all->nb[1], 0);
        return ggml_mul_mat(context, ggml_new_tensor_2d(context, GGML_TYPE_F32, 512, 64), columns);
    }), "columns with gaps");
    expect(!says_alike([](ggml_context* context) {
        ggml_tensor* const planes = ggml_new_tensor_3d(context, GGML_TYPE_F32, 512, 1, n_tokens);
        return ggml_mul_mat(context, ggml_new_tensor_2d(context, GGML_TYPE_F16, 512, 64), planes);
    }), "planes of one column");
    expect(!says_alike([](ggml_context* context) {
        ggml_tensor* const weights = ggml_new_tensor_3d(context, GGML_TYPE_F16, 512, 64, 2);
        return ggml_mul_mat(context, weights, ggml_new_tensor_3d(context, GGML_TYPE_F32, 512, n_tokens, 2));
    }), "weights of several planes");
    expect(!says_alike([](ggml_context* context) {
        ggml_tensor* const computed = ggml_sqr(context, ggml_new_tensor_2d(context, GGML_TYPE_F32, 512, 64));
        return ggml_mul_mat(context, computed, columns_of(context, 512));
    }), "what is computed times what is computed");
    expect(!says_alike([](ggml_context* context) {
        ggml_tensor* const stack   = ggml_new_tensor_3d(context, GGML_TYPE_F16, 512, 64, 4);
        ggml_tensor* const columns = ggml_new_tensor_3d(context, GGML_TYPE_F32, 512, 1, n_tokens);
        return ggml_mul_mat_id(context, stack, columns, ggml_new_tensor_2d(context, GGML_TYPE_I32, 2, n_tokens));
    }), "experts");
});

const Test attentions("ggml: says of attention whether it rounds alike, and nothing of what nobody has looked at", [] {
    const int  lanes = floats_of_a_vector();
    const bool known = lanes > 0;
    expect(says_alike(attention(GGML_TYPE_F16, GGML_TYPE_F16, 64)) == known, "halves");
    expect(says_alike(attention(GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, 64)) == known, "quantised cells");
    expect(says_alike(attention(GGML_TYPE_F16, GGML_TYPE_F16, 72)) == (lanes == 8), "widths that 8 divides, 16 does not");
    expect(!says_alike(attention(GGML_TYPE_F16, GGML_TYPE_F16, 76)), "widths that 8 does not divide");
    expect(!says_alike(attention(GGML_TYPE_F16, GGML_TYPE_BF16, 64)), "values in BF16");
    expect(!says_alike([](ggml_context* context) {
        return ggml_cumsum(context, ggml_new_tensor_2d(context, GGML_TYPE_F32, 64, n_tokens));
    }), "an operation that nobody has looked at");
});

}  // namespace
