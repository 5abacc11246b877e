// Counts the passes over the weights: patch 0010 calls this. Part of the library llama.
#include "passes.h"

static thread_local uint64_t g_n_passes = 0;

void chasqui_count_pass() {
    ++g_n_passes;
}

uint64_t chasqui_passes() {
    return g_n_passes;
}
