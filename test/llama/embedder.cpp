#include "../native/check.h"
#include "test-files.h"

#include "llama/decoding/embedder.h"

#include <ggml-backend.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using std::chrono::milliseconds;

constexpr size_t kTexts = 400, kTokens = 64;

// An embedder that computes seconds of work.
struct Embedding {
    std::promise<bool> done;  // whether it went well
    Model              model;
    Embedder           embedder;

    Embedding() : model(demo_model(), OffloadOptions(), [](float) { return true; }), embedder(model, options()) {
        auto request = std::make_shared<EmbedRequest>();
        request->inputs.assign(kTexts, std::vector<TokenId>(kTokens, 5));
        request->on_done = [this](const auto&, const auto& failure) { done.set_value(!failure); };
        embedder.submit(std::move(request));
        while (embedder.n_tokens() == 0) std::this_thread::yield();
    }

    static std::string demo_model() {
        ggml_backend_load_all();
        return kDemoModel;
    }

    static EmbedderOptions options() {
        EmbedderOptions options;
        options.n_batch     = kTokens;
        options.threads     = 1;
        options.has_memory  = true;
        options.takes_turns = true;
        return options;
    }
};

const Test paused("embedder: computes nothing while it is paused, stops in the middle of a batch, and goes on", [] {
    Embedding embedding;
    auto      done = embedding.done.get_future();
    for (int round = 0; round < 5; ++round) {
        embedding.embedder.pause();
        const uint64_t before = embedding.embedder.n_tokens();
        expect(before < kTexts * kTokens, "it was paused in the middle");
        std::this_thread::sleep_for(milliseconds(30));
        expect_equal(embedding.embedder.n_tokens(), before);
        embedding.embedder.resume_for(milliseconds(0));
        while (embedding.embedder.n_tokens() == before) std::this_thread::yield();
    }
    expect(done.get(), "it went well");
});

const Test closed("embedder: can be closed while it is paused", [] {
    Embedding embedding;
    auto      done = embedding.done.get_future();
    embedding.embedder.pause();
    embedding.embedder.close();
    expect(!done.get(), "it failed");
});

}  // namespace
