#include "check.h"

#include "core/encode-queue.h"
#include "core/encode-turns.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// An encoder of one picture that rests between its operations.
struct Encoder {
    EncodeTurns&      turns;
    std::atomic<bool> computing{false}, finish{false}, gave_up{false};
    std::atomic<int>  n_operations{0};
    std::thread       thread{[this] {
        while (!finish && turns.rest()) {
            computing = true;
            std::this_thread::sleep_for(milliseconds(1));
            ++n_operations;
            computing = false;
        }
        gave_up = !finish;
        turns.done();
    }};

    ~Encoder() {
        turns.stop();
        if (thread.joinable()) thread.join();
    }
    void wait_for_operations(int n) const {
        for (const int until = n_operations + n; n_operations < until;) std::this_thread::yield();
    }
};

const Test held("encode turns: the encoder does nothing from hold() to let(), however often", [] {
    EncodeTurns turns;
    turns.add();
    Encoder encoder{turns};
    for (int round = 0; round < 20; ++round) {
        encoder.wait_for_operations(1);
        turns.hold();
        const int before = encoder.n_operations;
        expect(!encoder.computing, "it rests");
        std::this_thread::sleep_for(milliseconds(3));
        expect_equal(encoder.n_operations.load(), before);
        turns.let(milliseconds(2));
    }
});

const Test idle("encode turns: hold() does not wait out the time when there is nothing left to encode", [] {
    EncodeTurns turns;
    turns.let(hours(1));
    turns.hold();
    turns.let(hours(1));
    turns.add();
    turns.hold();  // the picture's file is still being decoded
    turns.let(hours(1));
    Encoder encoder{turns};
    encoder.wait_for_operations(1);
    encoder.finish = true;
    turns.hold();
});

const Test stopped("encode turns: stop() lets everybody go", [] {
    EncodeTurns turns;
    turns.add();
    turns.let(hours(1));
    Encoder encoder{turns};
    encoder.wait_for_operations(1);
    std::thread engine([&turns] { turns.hold(); });
    turns.stop();
    engine.join();
    encoder.thread.join();
    expect(encoder.gave_up, "the encoder gave up");
});

const Test broken_off("encode queue: stop() breaks off the picture that is being encoded", [] {
    std::atomic<bool> begun{false};
    Mailbox<Encoded>  answers;
    EncodeQueue       queue(
              [] {},
              [&](const ImageSource&, const EncodeQueue::Rest& rest) -> ImageEmbeddings {
            while (rest()) begun = true;
            throw Error(ErrorCode::engine_closed, "closed");
        },
              [&](Encoded encoded) { answers.put(std::move(encoded)); });
    const auto source = std::make_shared<const ImageSource>();
    queue.request({"digest", source});
    while (!begun) std::this_thread::yield();
    queue.stop();
    const auto answer = answers.take(true);
    expect(answer[0].failure && answer[0].failure->code == ErrorCode::engine_closed, "it says so");
});

}  // namespace
