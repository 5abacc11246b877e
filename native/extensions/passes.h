// Thread: any; each thread has its own count.
#pragma once

#include <cstdint>

// Called for each ubatch: its graph is about to be computed.
void chasqui_count_pass();

// Ubatches that the calling thread has computed. Each reads all weights.
uint64_t chasqui_passes();
