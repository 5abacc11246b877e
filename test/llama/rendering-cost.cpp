#include "allocations.h"
#include "chat-templates.h"

#include "llama/chat/chat-template.h"

#include <log.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

// Rendering cost is measured in allocations, which are deterministic.
namespace {

thread_local size_t n_allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
    ++n_allocations;
    if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

size_t chasqui::test::allocations() { return n_allocations; }

using namespace chasqui;
using namespace chasqui::test;

namespace {

std::string conversation(size_t n_turns) {
    std::string messages = R"({"role": "system", "content": "Be terse."})";
    for (size_t i = 0; i < n_turns; ++i) {
        messages += R"(, {"role": "user", "content": "And how is the weather in the capital of the next country?"})"
                    R"(, {"role": "assistant", "content": "It is as grey as it was in the one before."})";
    }
    return "{\"messages\": [" + messages + R"(, {"role": "user", "content": "Thanks."}]})";
}

size_t allocations_of(const ChatTemplate& chat, const std::string& request) {
    const size_t before = n_allocations;
    chat.render(request);
    return n_allocations - before;
}

const Test cost("chat: a message is rendered once, and nothing is copied for it that does not belong to it", [] {
    common_log_pause(common_log_main());
    for (const char* name : {"Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct",
                             "openai-gpt-oss-120b", "google-gemma-2-2b-it", "mistralai-Mistral-Nemo-Instruct-2407"}) {
        const ChatTemplate chat(source_of(name));
        const size_t       few = allocations_of(chat, conversation(10)), many = allocations_of(chat, conversation(110));
        const size_t       each = (many - few) / 200;
        expect(each <= 400, name + (" to make " + std::to_string(each)) + " allocations for a message");
    }
});

}  // namespace
