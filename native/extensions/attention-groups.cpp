// Part of the library llama.
#include "attention-groups.h"

#include <algorithm>
#include <iterator>

namespace chasqui {
namespace {

// Their graphs use rows of the ubatch only through build_attn_inp_kv().
constexpr llm_arch kArchs[] = {LLM_ARCH_LLAMA,    LLM_ARCH_MISTRAL3, LLM_ARCH_GRANITE,  LLM_ARCH_QWEN2,
                               LLM_ARCH_QWEN2MOE, LLM_ARCH_QWEN3,    LLM_ARCH_QWEN3MOE};

uint32_t rows_of_sequence(llama_seq_id* const* seq_id, uint32_t first, uint32_t n_rows) {
    uint32_t end = first + 1;
    while (end < n_rows && seq_id[end][0] == seq_id[first][0]) ++end;
    return end - first;
}

}  // namespace

bool computes_in_groups(llm_arch arch, const llama_batch& batch) {
    if (batch.token == nullptr || std::find(std::begin(kArchs), std::end(kArchs), arch) == std::end(kArchs)) return false;
    uint32_t     n_groups = 0, n_of_group = 0;
    llama_seq_id last     = -1;
    const auto   n_rows   = static_cast<uint32_t>(batch.n_tokens);
    for (uint32_t row = 0; row < n_rows;) {
        const uint32_t     n        = rows_of_sequence(batch.seq_id, row, n_rows);
        const llama_seq_id sequence = batch.seq_id[row][0];
        if (sequence <= last) return false;
        if (n != n_of_group || sequence != last + 1) ++n_groups;
        last       = sequence;
        n_of_group = n;
        for (const uint32_t end = row + n; row < end; ++row) {
            if (batch.n_seq_id[row] != 1) return false;
        }
    }
    return n_groups > 1 && n_groups <= kMaxAttentionGroups;
}

std::vector<llama_ubatch> attention_groups(const llama_ubatch& ubatch) {
    std::vector<llama_ubatch> groups;
    for (uint32_t row = 0, sequence = 0; row < ubatch.n_tokens; ++sequence) {
        const uint32_t n = rows_of_sequence(ubatch.seq_id, row, ubatch.n_tokens);
        if (groups.empty() || groups.back().n_seq_tokens != n ||
            ubatch.seq_id_unq[sequence] != ubatch.seq_id_unq[sequence - 1] + 1) {
            llama_ubatch& group = groups.emplace_back(ubatch);
            group.b_equal_seqs  = true;
            group.n_tokens = group.n_seqs = group.n_seqs_unq = 0;
            group.n_seq_tokens                               = n;
            group.token += row;
            group.pos += row;
            group.n_seq_id += row;
            group.seq_id += row;
            group.seq_id_unq += sequence;
            group.output += row;
        }
        llama_ubatch& group = groups.back();
        group.n_tokens += n;
        ++group.n_seqs;
        ++group.n_seqs_unq;
        row += n;
    }
    return groups;
}

}  // namespace chasqui
