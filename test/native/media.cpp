#include "check.h"

#include "core/encode-queue.h"
#include "core/image-encoder.h"
#include "core/scheduler.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace chasqui;
using namespace chasqui::test;

namespace {

ImageDigest digest(char digit) { return ImageDigest(64, digit); }

// Text of `n_before` tokens, an image, text of `n_after` tokens.
Job job_with_image(uint32_t id, char image, size_t n_before, size_t n_image, size_t n_after, bool mrope = false,
                   bool indivisible = false) {
    auto media = std::make_shared<Media>();
    media->images.push_back({digest(image), std::make_shared<ImageSource>()});
    ImageChunk chunk{n_before, n_image, 0, 0, static_cast<int32_t>(n_before), static_cast<int32_t>(n_image), {}};
    chunk.is_indivisible = indivisible;
    if (mrope) {
        chunk.n_positions = 2;  // two rows and two columns at most
        chunk.positions.assign(4 * n_image, chunk.first_position);
    }
    media->chunks.push_back(chunk);
    Job job;
    job.id = id;
    job.prompt.assign(n_before, 7);
    for (size_t i = 0; i < n_image; ++i) job.prompt.push_back(image_token(digest(image), 0, i));
    job.prompt.insert(job.prompt.end(), n_after, 8);
    job.media = std::move(media);
    return job;
}

std::unique_ptr<Sequence> with_image(uint32_t id, char image, size_t n_before, size_t n_image, size_t n_after) {
    return std::make_unique<Sequence>(job_with_image(id, image, n_before, n_image, n_after));
}

std::unique_ptr<Sequence> text(uint32_t id, size_t n_prompt) {
    Job job;
    job.id     = id;
    job.prompt = std::vector<TokenId>(n_prompt, static_cast<TokenId>(1000 + id));
    return std::make_unique<Sequence>(std::move(job));
}

SchedulerOptions options(size_t n_slots, size_t n_batch) { return {n_batch, 100, {n_slots, 1, 0, false}}; }

std::shared_ptr<const ImageEmbeddings> embeddings(size_t n_numbers) {
    return std::make_shared<const ImageEmbeddings>(ImageEmbeddings{std::vector<float>(n_numbers)});
}

void give(Sequence* sequence) { sequence->embeddings[0] = embeddings(1); }

void compute(Scheduler& scheduler, const Plan& plan) {
    scheduler.computed(plan, 10);
    for (const PlanRow& row : plan.rows) {
        if (row.sequence->n_pending() == 0) row.sequence->accept(2, "x", false, 1000000);
    }
}

const Test tokens("media: an image's tokens are negative and are another image's nowhere", [] {
    size_t n_equal = 0;
    for (size_t i = 0; i < 16; ++i) {
        const TokenId one = image_token(digest('1'), 0, i), other = image_token(digest('2'), 0, i);
        expect(one < 0 && other < 0, "negative ids");
        expect_equal(one, image_token(digest('1'), 0, i));
        n_equal += one == other || one == image_token(digest('1'), 1, i) ? 1 : 0;
    }
    expect_equal(n_equal, 0u);
});

const Test every_digit("media: every digit of a digest counts within eight tokens", [] {
    for (size_t at = 0; at < 64; ++at) {
        ImageDigest other = digest('1');
        other[at]         = '3';
        bool differs      = false;
        for (size_t i = 0; i < 8; ++i) differs |= image_token(other, 0, i) != image_token(digest('1'), 0, i);
        expect(differs, "a difference for digit " + std::to_string(at));
    }
});

const Test positions("media: with two-dimensional positions, text goes on after the image's longer side", [] {
    const Sequence sequence(job_with_image(1, '1', 5, 4, 3, true));
    expect_equal(sequence.position(4), 4);
    expect_equal(sequence.position(5), 5);
    expect_equal(sequence.position(8), 5);
    expect_equal(sequence.position(9), 7);
    expect_equal(sequence.position(12), 10);
});

const Test runs("media: a run ends where text meets an image", [] {
    Sequence sequence(job_with_image(1, '1', 5, 4, 3));
    expect_equal(sequence.run_length(), 5u);
    expect(sequence.next_chunk() == nullptr, "text first");
    sequence.advance(5);
    expect_equal(sequence.run_length(), 4u);
    expect(sequence.next_chunk() != nullptr, "then the image");
    sequence.advance(3);
    expect_equal(sequence.run_length(), 1u);
    sequence.advance(1);
    expect_equal(sequence.run_length(), 3u);
});

const Test resumable("media: only an image with plain positions and causal attention can be continued from within", [] {
    expect_equal(job_with_image(1, '1', 5, 4, 3).media->resumable(7), 7u);
    expect_equal(job_with_image(1, '1', 5, 4, 3, true).media->resumable(7), 5u);
    expect_equal(job_with_image(1, '1', 5, 4, 3, false, true).media->resumable(7), 5u);
    expect_equal(job_with_image(1, '1', 5, 4, 3, true).media->resumable(9), 9u);
    expect_equal(job_with_image(1, '1', 0, 4, 3, true).media->resumable(2), 0u);
});

const Test waits("scheduler: a sequence waits for its image without a slot, and others pass it", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(with_image(1, '1', 5, 40, 3));
    scheduler.submit(text(2, 10));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(plan.pending_images.size(), 1u);
    expect_equal(plan.rows.size(), 1u);
    expect_equal(plan.rows[0].sequence->id(), 2u);
    expect_equal(scheduler.find(1)->slot, Sequence::kNoSlot);
});

const Test in_turn("scheduler: images are computed in steps of their own, in turn with text", [] {
    Scheduler scheduler(options(2, 1000));
    scheduler.submit(text(2, 10));
    compute(scheduler, scheduler.plan(Clock::now()));
    scheduler.submit(with_image(1, '1', 5, 300, 3));
    give(scheduler.find(1));
    std::string kinds;
    while (scheduler.find(1)->n_sampled() == 0) {
        const Plan plan     = scheduler.plan(Clock::now());
        const bool is_image = plan.rows[0].sequence->next_chunk() != nullptr;
        kinds += is_image ? 'i' : 't';
        expect(!is_image || plan.rows.size() == 1, "an image alone");
        for (const PlanRow& row : plan.rows) {
            expect(row.n_tokens <= row.sequence->run_length(), "a row of one kind");
        }
        compute(scheduler, plan);
    }
    expect(kinds.find('i') != std::string::npos, "steps of images");
    expect(kinds.find("ii") == std::string::npos, "text between them, got " + kinds);
    expect(scheduler.find(1)->embeddings[0] == nullptr, "the embeddings are let go of");
});

const Test turns("scheduler: encoding gets what a step leaves of the target time, and less beside images' slices", [] {
    Scheduler scheduler(options(2, 1000));  // 100 ms
    scheduler.submit(with_image(1, '1', 5, 300, 3));
    scheduler.plan(Clock::now());
    expect_equal(scheduler.encoding_ms(700), 700.0);  // no sequence decodes: as long as the step
    expect_equal(scheduler.encoding_ms(9000), 1000.0);
    scheduler.submit(text(2, 10));
    compute(scheduler, scheduler.plan(Clock::now()));
    expect_equal(scheduler.encoding_ms(30), 70.0);
    expect_equal(scheduler.encoding_ms(80), 40.0);
    expect_equal(scheduler.encoding_ms(400), 50.0);
    give(scheduler.find(1));
    while (scheduler.find(1)->slot == Sequence::kNoSlot || scheduler.find(1)->next_chunk() == nullptr) {
        compute(scheduler, scheduler.plan(Clock::now()));
    }
    expect_equal(scheduler.encoding_ms(30), 15.0);
    for (bool was_image = false; !was_image;) {
        const Plan plan = scheduler.plan(Clock::now());
        was_image       = plan.rows[0].sequence->next_chunk() != nullptr;
        compute(scheduler, plan);
    }
    expect_equal(scheduler.encoding_ms(30), 0.0);
    scheduler.find(1)->paused = true;
    expect_equal(scheduler.encoding_ms(30), 70.0);
});

const Test in_one("scheduler: an image whose attention is not causal is computed in one piece", [] {
    Scheduler scheduler(options(2, 1000));
    scheduler.submit(text(2, 10));
    compute(scheduler, scheduler.plan(Clock::now()));
    scheduler.submit(std::make_unique<Sequence>(job_with_image(1, '1', 5, 300, 3, false, true)));
    give(scheduler.find(1));
    for (int i = 0; i < 10; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        if (plan.rows[0].sequence->next_chunk() != nullptr) {
            expect_equal(plan.rows[0].n_tokens, 300u);
            return;
        }
        compute(scheduler, plan);
    }
    fail("the image was never computed");
});

const Test cached("scheduler: an image that the cache holds need not be encoded", [] {
    Scheduler scheduler(options(2, 1000));
    scheduler.submit(with_image(1, '1', 5, 40, 3));
    give(scheduler.find(1));
    for (int i = 0; i < 4; ++i) compute(scheduler, scheduler.plan(Clock::now()));
    scheduler.remove(scheduler.find(1));
    scheduler.submit(with_image(2, '1', 5, 40, 9));
    scheduler.submit(with_image(3, '2', 5, 40, 9));
    const Plan plan = scheduler.plan(Clock::now());
    expect_equal(plan.pending_images.size(), 1u);
    expect_equal(plan.pending_images[0].sequence->id(), 3u);
    expect(scheduler.find(2)->n_computed >= 45, "the image is found");
});

const Test ahead("scheduler: it asks for the images of no more sequences than can run at a time", [] {
    Scheduler scheduler(options(2, 1000));
    for (uint32_t id = 1; id <= 9; ++id) scheduler.submit(with_image(id, static_cast<char>('0' + id), 5, 40, 3));
    expect_equal(scheduler.plan(Clock::now()).pending_images.size(), 2u);
});

const Test held("scheduler: no more waiting sequences hold embeddings than can run at a time", [] {
    Scheduler scheduler(options(2, 1000));
    scheduler.submit(text(11, 10));
    scheduler.submit(text(12, 10));
    compute(scheduler, scheduler.plan(Clock::now()));
    const auto holders = [&scheduler] {
        std::vector<uint32_t> ids;
        for (const Sequence* each : scheduler.all()) {
            if (each->media() != nullptr && each->embeddings[0] != nullptr) ids.push_back(each->id());
        }
        return ids;
    };
    const auto step = [&scheduler] {
        const Plan plan = scheduler.plan(Clock::now());
        for (const PendingImage& image : plan.pending_images) give(image.sequence);
        compute(scheduler, plan);
    };
    for (uint32_t id = 1; id <= 9; ++id) scheduler.submit(with_image(id, static_cast<char>('0' + id), 5, 40, 3));
    for (int i = 0; i < 5; ++i) step();
    expect(holders() == std::vector<uint32_t>{1, 2}, "the first two");
    Job urgent      = job_with_image(10, 'a', 5, 40, 3);
    urgent.priority = 1;
    scheduler.submit(std::make_unique<Sequence>(std::move(urgent)));
    step();
    expect(holders() == std::vector<uint32_t>{1, 10}, "those who come first now");
});

const Test other_slot("scheduler: what is encoded is asked anew when a slot becomes free for a sequence", [] {
    Scheduler scheduler(options(2, 100'000));
    // Both start with the same 400 tokens. The new one also shares the image of the first.
    scheduler.submit(with_image(1, '1', 400, 256, 8'344));
    give(scheduler.find(1));
    Job  other   = job_with_image(2, '1', 400, 1, 0);
    other.media  = nullptr;
    other.prompt = std::vector<TokenId>(400, 7);
    other.prompt.insert(other.prompt.end(), 1'600, 9);
    scheduler.submit(std::make_unique<Sequence>(std::move(other)));
    for (int i = 0; i < 40; ++i) compute(scheduler, scheduler.plan(Clock::now()));
    expect(scheduler.find(1)->n_sampled() > 0 && scheduler.find(2)->n_sampled() > 0, "both decode");
    scheduler.pause(*scheduler.find(2), true);
    // While both run, it would copy the first one's tokens. In the slot of the other it can go on with 400 at once.
    scheduler.submit(with_image(3, '1', 400, 256, 20));
    for (int i = 0; i < 3; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        for (const PlanRow& row : plan.rows) {
            const bool has_image = row.sequence->next_chunk() == nullptr || row.sequence->embeddings[0] != nullptr;
            expect(has_image, "an image that is computed is encoded");
        }
        for (const PendingImage& image : plan.pending_images) give(image.sequence);
        compute(scheduler, plan);
    }
    expect(scheduler.find(3)->slot != Sequence::kNoSlot, "it runs");
});

const Test while_full("scheduler: it asks for images while all slots are taken", [] {
    Scheduler scheduler(options(1, 100));
    scheduler.submit(text(1, 10));
    compute(scheduler, scheduler.plan(Clock::now()));
    scheduler.submit(with_image(2, '1', 5, 40, 3));
    for (int i = 0; i < 2; ++i) {
        const Plan plan = scheduler.plan(Clock::now());
        expect_equal(plan.pending_images.size(), 1u);
        compute(scheduler, plan);
    }
    expect_equal(scheduler.find(2)->slot, Sequence::kNoSlot);
});

const Test again("scheduler: when a cached prefix cannot be copied into the slot, images are asked for again", [] {
    Scheduler scheduler(options(1, 1000));
    scheduler.submit(with_image(1, '1', 5, 40, 30));
    give(scheduler.find(1));
    for (int i = 0; i < 4; ++i) compute(scheduler, scheduler.plan(Clock::now()));
    scheduler.remove(scheduler.find(1));
    scheduler.submit(with_image(2, '1', 5, 40, 30));
    Plan plan = scheduler.plan(Clock::now());
    expect_equal(plan.rows.size(), 1u);
    scheduler.placement_failed(plan.placements[0].slot, plan);
    expect(plan.rows.empty(), "nothing to compute");
    plan = scheduler.plan(Clock::now());
    expect_equal(plan.pending_images.size(), 1u);
    scheduler.cache().check_invariants();
});

const Test least_recent("encoder cache: the least recently used are evicted", [] {
    EncoderCache cache(3 * 100 * sizeof(float));
    for (const char each : {'1', '2', '3'}) cache.insert(digest(each), embeddings(100));
    expect(cache.find(digest('1')) != nullptr, "the first is there");
    cache.insert(digest('4'), embeddings(100));
    expect(cache.find(digest('1')) != nullptr, "what was used stays");
    expect(cache.find(digest('2')) == nullptr, "what was not goes");
    expect_equal(cache.bytes(), 3 * 100 * sizeof(float));
    cache.insert(digest('5'), embeddings(301));
    expect(cache.find(digest('5')) == nullptr, "too large");
    expect_equal(cache.size(), 3u);
});

// Collects the results of a queue.
struct Results {
    Mailbox<EncodeResult>      box;
    std::vector<EncodeResult>  all;
    std::vector<EncodeResult>& wait_for(size_t n) {
        while (all.size() < n) {
            for (EncodeResult& each : box.take(true)) all.push_back(std::move(each));
        }
        return all;
    }
};

const Test one_by_one("image encoder: two that need the same image have it encoded once", [] {
    Results          results;
    std::atomic<int> n_encoded{0};
    ImageEncoder     encoder(
             1000, [] {},
             [&](const ImageSource&, size_t, const EncodeQueue::Yield&) {
            ++n_encoded;
            return ImageEmbeddings{std::vector<float>(10)};
        },
             [&](EncodeResult result) { results.box.put(std::move(result)); });
    const auto one = with_image(1, '1', 5, 10, 3), other = with_image(2, '1', 9, 10, 3);
    expect(!encoder.request_embeddings({{one.get(), 0}, {other.get(), 0}}), "not there yet");
    const EncodeResult result = results.wait_for(1)[0];
    expect(encoder.deliver(result, {one.get(), other.get()}).empty(), "no failures");
    expect(one->embeddings[0] != nullptr && one->embeddings[0] == other->embeddings[0], "both have it");
    const auto third = with_image(3, '1', 1, 10, 3);
    expect(encoder.request_embeddings({{third.get(), 0}}), "from the cache");
    expect(third->embeddings[0] != nullptr, "at once");
    encoder.stop();
    expect_equal(n_encoded.load(), 1);
});

const Test unwanted("image encoder: what no sequence needs any more is not encoded, and can be requested again", [] {
    Results           results;
    std::atomic<bool> go{false};
    std::atomic<int>  n_encoded{0};
    ImageEncoder      encoder(
              1000, [] {},
              [&](const ImageSource&, size_t, const EncodeQueue::Yield&) {
            while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ++n_encoded;
            return ImageEmbeddings{std::vector<float>(10)};
        },
              [&](EncodeResult result) { results.box.put(std::move(result)); });
    const auto first = with_image(1, '1', 5, 10, 3);
    auto       gone  = with_image(2, '2', 5, 10, 3);
    const auto media = gone->job().media;  // which JavaScript still holds
    encoder.request_embeddings({{first.get(), 0}, {gone.get(), 0}});
    gone.reset();
    go = true;
    for (const EncodeResult& each : results.wait_for(2)) encoder.deliver(each, {first.get()});
    expect_equal(n_encoded.load(), 1);
    const auto late = with_image(3, '2', 5, 10, 3);
    encoder.request_embeddings({{late.get(), 0}});
    encoder.deliver(results.wait_for(3)[2], {late.get()});
    expect(late->embeddings[0] != nullptr, "encoded after all");
});

const Test failure("image encoder: an image that cannot be encoded fails the sequences with it, and no other", [] {
    Results      results;
    ImageEncoder encoder(
        1000, [] {},
        [&](const ImageSource&, size_t, const EncodeQueue::Yield&) -> ImageEmbeddings {
            throw Error(ErrorCode::invalid_image, "damaged");
        },
        [&](EncodeResult result) { results.box.put(std::move(result)); });
    const auto one = with_image(1, '1', 5, 10, 3), other = with_image(2, '2', 5, 10, 3);
    encoder.request_embeddings({{one.get(), 0}});
    const EncodeResult& result = results.wait_for(1)[0];
    const auto          failed = encoder.deliver(result, {one.get(), other.get()});
    expect_equal(failed.size(), 1u);
    expect_equal(failed[0].sequence->id(), 1u);
    expect(result.failure && result.failure->code == ErrorCode::invalid_image, "the reason");
});

}  // namespace
