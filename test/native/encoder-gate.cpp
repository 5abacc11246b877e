#include "check.h"

#include "core/encode-queue.h"
#include "core/encoder-gate.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// An encoder of one image that yields between its operations.
struct Encoder {
    EncoderGate&      gate;
    std::atomic<bool> computing{false}, finish{false}, gave_up{false};
    std::atomic<int>  n_operations{0};
    std::thread       thread{[this] {
        while (!finish && gate.yield_to_engine()) {
            computing = true;
            std::this_thread::sleep_for(milliseconds(1));
            ++n_operations;
            computing = false;
        }
        gave_up = !finish;
        gate.work_done();
    }};

    ~Encoder() {
        gate.stop();
        if (thread.joinable()) thread.join();
    }
    void wait_for_operations(int n) const {
        for (const int until = n_operations + n; n_operations < until;) std::this_thread::yield();
    }
};

const Test held("encoder gate: the encoder does nothing while it is paused, however often", [] {
    EncoderGate gate;
    Encoder encoder{gate};
    for (int round = 0; round < 20; ++round) {
        encoder.wait_for_operations(1);
        gate.pause_encoder();
        const int before = encoder.n_operations;
        expect(!encoder.computing, "it is paused");
        std::this_thread::sleep_for(milliseconds(3));
        expect_equal(encoder.n_operations.load(), before);
        gate.resume_encoder_for(milliseconds(2));
    }
});

const Test idle("encoder gate: pausing does not wait out the time when there is nothing left to encode", [] {
    EncoderGate gate;
    gate.resume_encoder_for(hours(1));
    gate.pause_encoder();  // nothing to encode yet, or an image file is still being decoded
    gate.resume_encoder_for(hours(1));
    Encoder encoder{gate};
    encoder.wait_for_operations(1);
    encoder.finish = true;
    gate.pause_encoder();
});

const Test stopped("encoder gate: stop() releases both threads", [] {
    EncoderGate gate;
    gate.resume_encoder_for(hours(1));
    Encoder encoder{gate};
    encoder.wait_for_operations(1);
    std::thread engine([&gate] { gate.pause_encoder(); });
    gate.stop();
    engine.join();
    encoder.thread.join();
    expect(encoder.gave_up, "the encoder gave up");
});

const Test broken_off("encode queue: stop() breaks off the image that is being encoded", [] {
    std::atomic<bool>     begun{false};
    Mailbox<EncodeResult> results;
    EncodeQueue           queue(
              [] {},
              [&](const ImageSource&, size_t, const EncodeQueue::Yield& yield) -> ImageEmbeddings {
            while (yield()) begun = true;
            throw Error(ErrorCode::engine_closed, "closed");
        },
              [&](EncodeResult result) { results.put(std::move(result)); });
    const auto source = std::make_shared<const ImageSource>();
    queue.request({"digest", source}, source);
    while (!begun) std::this_thread::yield();
    queue.stop();
    const auto taken = results.take(true);
    expect(taken[0].failure && taken[0].failure->code == ErrorCode::engine_closed, "it says so");
});

}  // namespace
