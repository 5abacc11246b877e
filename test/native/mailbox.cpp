#include "check.h"

#include "core/event.h"
#include "core/mailbox.h"

#include <thread>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test order("mailbox: commands of one sender arrive in order, none lost, however many senders", [] {
    constexpr int    kSenders = 4, kEach = 2000;
    Mailbox<int>             mailbox;
    std::vector<std::thread> senders;
    for (int sender = 0; sender < kSenders; ++sender) {
        senders.emplace_back([&mailbox, sender] {
            for (int i = 0; i < kEach; ++i) mailbox.put(sender * kEach + i);
        });
    }
    std::vector<int> next(kSenders, 0);
    int              received = 0;
    while (received < kSenders * kEach) {
        for (const int command : mailbox.take(true)) {
            const auto sender = static_cast<size_t>(command / kEach);
            expect_equal(command % kEach, next[sender]++);
            ++received;
        }
    }
    for (std::thread& sender : senders) sender.join();
    expect(mailbox.take(false).empty(), "an empty mailbox");
});

const Test timeout("mailbox: taking with a timeout returns what has arrived, and nothing after that time", [] {
    using std::chrono::milliseconds;
    Mailbox<int> mailbox;
    expect(mailbox.take_for(milliseconds(1)).empty(), "nothing");
    expect(mailbox.take_for(milliseconds(0)).empty(), "nothing");
    mailbox.put(1);
    expect(mailbox.take_for(milliseconds(0)) == std::vector<int>{1}, "what was there");
    std::thread sender([&mailbox] { mailbox.put(2); });
    expect(mailbox.take_for(milliseconds(60000)) == std::vector<int>{2}, "what came");
    sender.join();
});

const Test batches("event: batches append column by column", [] {
    EventBatch first, second;
    first.append(std::move(second));
    expect(first.empty(), "an empty batch");
    EventBatch third;
    third.records.push_back({1, 10, 1, 0});
    third.text = "a";
    first.append(std::move(third));
    EventBatch fourth;
    fourth.records.push_back({2, 20, 1, EventBatch::has_failure});
    fourth.text = "b";
    fourth.failures.push_back({ErrorCode::decode_failed, "no"});
    first.append(std::move(fourth));
    expect_equal(first.records.size(), size_t{2});
    expect_equal(first.text, "ab");
    expect_equal(first.failures.size(), size_t{1});
});

}  // namespace
