// Thread: any; each thread has its own callback.
#pragma once

// Called regularly by tokenizing, rendering and parsing, because their input determines their duration. May throw to end
// the call.
using llama_interrupt_callback = void (*)(void* user_data);

inline thread_local llama_interrupt_callback llama_t_interrupt_callback  = nullptr;
inline thread_local void*                    llama_t_interrupt_user_data = nullptr;

// Sets the callback of the calling thread; nullptr removes it.
inline void llama_set_interrupt(llama_interrupt_callback callback, void* user_data) {
    llama_t_interrupt_callback  = callback;
    llama_t_interrupt_user_data = user_data;
}

inline void llama_check_interrupt() {
    if (llama_t_interrupt_callback != nullptr) llama_t_interrupt_callback(llama_t_interrupt_user_data);
}

// Checks in one of 1024 calls, for loops with short steps.
inline void llama_count_step() {
    static thread_local unsigned n_steps = 0;
    if (++n_steps % 1024 == 0) llama_check_interrupt();
}
