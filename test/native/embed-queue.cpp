#include "check.h"

#include "core/embed-queue.h"

#include <map>
#include <random>
#include <string>
#include <utility>

using namespace chasqui;
using namespace chasqui::test;

namespace {

std::shared_ptr<EmbedRequest> request_of(const std::vector<size_t>& lengths) {
    auto request = std::make_shared<EmbedRequest>();
    for (const size_t length : lengths) request->inputs.emplace_back(length, TokenId{1});
    return request;
}

size_t n_tokens(const std::vector<EmbedRow>& rows) {
    size_t sum = 0;
    for (const EmbedRow& row : rows) sum += row.n_tokens;
    return sum;
}

const Test shares("embed-queue: short inputs share a step up to its size", [] {
    EmbedQueue queue({10, 8, 100, true});
    queue.add(request_of({4, 4, 4}));
    expect_equal(queue.plan().size(), size_t{2});
    expect_equal(queue.plan().size(), size_t{1});
    expect(queue.empty(), "an empty queue");
});

const Test whole("embed-queue: an indivisible input that is longer than a step has one of its own", [] {
    EmbedQueue queue({10, 8, 100, true});
    queue.add(request_of({3, 40, 3}));
    expect_equal(n_tokens(queue.plan()), size_t{3});
    const std::vector<EmbedRow> alone = queue.plan();
    expect_equal(alone.size(), size_t{1});
    expect_equal(alone[0].n_tokens, size_t{40});
    expect(alone[0].is_last, "a whole input");
    expect_equal(n_tokens(queue.plan()), size_t{3});
});

const Test split("embed-queue: divisible inputs fill steps completely, in order", [] {
    EmbedQueue queue({10, 8, 100, false});
    queue.add(request_of({25, 5}));
    const std::vector<EmbedRow> first = queue.plan(), second = queue.plan(), third = queue.plan();
    expect_equal(first[0].n_tokens, size_t{10});
    expect(!first[0].is_last, "more to come");
    expect_equal(second[0].begin, size_t{10});
    expect_equal(third[0].begin, size_t{20});
    expect_equal(n_tokens(third), size_t{10});
    expect(third[0].is_last && third[1].is_last, "both ended");
    expect_equal(third[1].input, size_t{1});
    expect(queue.empty(), "an empty queue");
});

// An image of 6 tokens after 3 tokens of text, and 2 after it.
std::shared_ptr<EmbedRequest> request_with_image(bool is_indivisible) {
    auto       request = request_of({11});
    auto       media   = std::make_shared<Media>();
    ImageChunk chunk;
    chunk.begin          = 3;
    chunk.n_tokens       = 6;
    chunk.is_indivisible = is_indivisible;
    media->chunks        = {chunk};
    request->media       = media;
    return request;
}

const Test images("embed-queue: parts end before and after an image", [] {
    EmbedQueue queue({10, 8, 100, false});
    queue.add(request_with_image(true));
    const std::vector<std::pair<size_t, bool>> expected = {{3, false}, {6, true}, {2, false}};
    for (const auto& [length, is_image] : expected) {
        const std::vector<EmbedRow> rows = queue.plan();
        expect_equal(rows.size(), size_t{1});
        expect_equal(rows[0].n_tokens, length);
        expect_equal(rows[0].chunk() != nullptr, is_image);
        expect_equal(rows[0].is_last, length == 2);
    }
    expect(queue.empty(), "an empty queue");
});

const Test whole_images("embed-queue: an indivisible image waits for a step with room, others are cut", [] {
    for (const bool is_indivisible : {true, false}) {
        EmbedQueue queue({10, 8, 100, false});
        queue.add(request_with_image(is_indivisible));
        queue.add(request_with_image(is_indivisible));
        expect_equal(n_tokens(queue.plan()), size_t{6});
        const std::vector<EmbedRow> rows = queue.plan();
        expect_equal(rows[0].n_tokens, size_t{6});
        expect_equal(n_tokens(rows), is_indivisible ? size_t{6} : size_t{10});
        while (!queue.empty()) expect(!queue.plan().empty(), "a step");
    }
});

const Test turns("embed-queue: a single text does not wait for another request's many", [] {
    EmbedQueue queue({10, 8, 100, true});
    const auto many = request_of(std::vector<size_t>(100, 5)), one = request_of({5});
    queue.add(many);
    queue.add(one);
    bool found = false;
    for (const EmbedRow& row : queue.plan()) found = found || row.request == one;
    expect(found, "the single text in the first pass");
});

const Test dropped("embed-queue: a dropped request gives its slots back and takes no further part", [] {
    EmbedQueue queue({10, 1, 100, false});
    const auto gone = request_of({25, 25}), stays = request_of({5});
    queue.add(gone);
    queue.plan();
    queue.add(stays);
    const std::vector<int32_t> slots = queue.drop(*gone);
    expect_equal(slots.size(), size_t{1});
    const std::vector<EmbedRow> rows = queue.plan();
    expect_equal(rows.size(), size_t{1});
    expect(rows[0].request == stays, "the other's text");
    expect_equal(rows[0].slot, slots[0]);
    expect(queue.empty(), "an empty queue");
});

// Any traffic: each token of each input is computed once and in order, no two inputs share a slot, no limit is
// exceeded.
const Test random_traffic("embed-queue: any traffic is computed once, in order, within the limits", [] {
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937                                       random(seed);
        const auto                                         draw = [&](size_t n_max) { return 1 + random() % n_max; };
        const bool                                         whole_inputs = seed % 2 == 0;
        const EmbedLimits                                  limits{draw(40), draw(6), 60, whole_inputs};
        EmbedQueue                                         queue(limits);
        std::map<std::pair<EmbedRequest*, size_t>, size_t> computed;
        std::vector<std::shared_ptr<EmbedRequest>>         requests;
        const std::string                                  where = " (seed " + std::to_string(seed) + ")";
        for (int round = 0; round < 400 || !queue.empty(); ++round) {
            if (round < 400 && random() % 4 == 0) {
                std::vector<size_t> lengths(draw(5));
                for (size_t& length : lengths) length = draw(60);
                requests.push_back(request_of(lengths));
                queue.add(requests.back());
            }
            const std::vector<EmbedRow> rows = queue.plan();
            std::map<int32_t, size_t>   slots;
            size_t                      cells = 0;
            for (const EmbedRow& row : rows) {
                size_t& done = computed[{row.request.get(), row.input}];
                expect(row.begin == done, "no token twice and none left out" + where);
                done += row.n_tokens;
                const size_t length = row.request->inputs[row.input].size();
                expect(row.is_last == (done == length), "the end said where it is" + where);
                expect(++slots[row.slot] == 1, "a slot of its own" + where);
                cells += length;
            }
            expect(rows.size() <= limits.n_slots && cells <= limits.n_cells, "no more than fits" + where);
            expect(n_tokens(rows) <= limits.n_batch || (whole_inputs && rows.size() == 1), "a step's size" + where);
            expect(!rows.empty() || queue.empty(), "progress" + where);
        }
        for (const auto& request : requests) {
            for (size_t i = 0; i < request->inputs.size(); ++i) {
                expect((computed[{request.get(), i}]) == request->inputs[i].size(), "all of it" + where);
            }
        }
    }
});

}  // namespace
