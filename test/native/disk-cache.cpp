#include "disk-caching.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test restart("disk-cache: another process finds a state by its tokens, and uses as much as they have in common", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one");
    Cache later(folder);
    expect_equal(later.disk.n_saved(joined(kLong, {9}), ""), size_t{388});
    expect_equal(later.disk.n_saved(kLong, ""), size_t{387});
    expect_equal(later.disk.n_saved(joined(counting(0, 300), {9, 9}), ""), size_t{288});
    expect_equal(later.disk.n_saved(counting(0, 200), ""), size_t{0});
    expect_equal(later.disk.n_saved(counting(1, 400), ""), size_t{0});
    const FetchedState fetched = later.fetch(joined(kLong, {9}));
    expect(fetched.state != nullptr && text_of(*fetched.state) == "one" && fetched.tokens == kLong, "the state");
    expect(fetched.job_ids == std::vector<uint32_t>{7}, "whose it is");
});

const Test fair_share("disk-cache: a long state is not read for a few of its tokens, and the shortest one of those that help", [] {
    const Folder folder;
    Cache        cache(folder);
    cache.save(counting(0, 20'000), "long");
    const Tokens shares = joined(counting(0, 500), {9, 9});
    expect_equal(cache.disk.n_saved(shares, ""), size_t{0});
    expect_equal(cache.disk.n_saved(joined(counting(0, 900), {9, 9}), ""), size_t{275});
    cache.save(joined(counting(0, 500), counting(50'000, 100)), "short");
    expect_equal(cache.disk.n_saved(shares, ""), size_t{482});
    expect_equal(text_of(*cache.fetch(shares).state), std::string("short"));
});

const Test as_a_whole("disk-cache: a state that cannot be cut off is used as a whole only", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one");
    const Cache later(folder, "m", 1 << 20, Truncation::never);
    expect_equal(later.disk.n_saved(joined(kLong, {9}), ""), size_t{388});
    expect_equal(later.disk.n_saved(kLong, ""), size_t{0});
    expect_equal(later.disk.n_saved(joined(counting(0, 300), {9, 9}), ""), size_t{0});
});

const Test others("disk-cache: states of another model, or with other adapters, are not those", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one", "a 1");
    const Tokens more = joined(kLong, {9});
    expect_equal(Cache(folder).disk.n_saved(more, "a 1"), size_t{388});
    expect_equal(Cache(folder).disk.n_saved(more, ""), size_t{0});
    expect_equal(Cache(folder).disk.n_saved(more, "a 2"), size_t{0});
    expect_equal(Cache(folder, "another").disk.n_saved(more, "a 1"), size_t{0});
    // Also where the file lies in that model's folder.
    const fs::path file = folder.files().at(0);
    Cache          another(folder, "another");
    another.save(counting(5000, 300), "two");
    for (const fs::path& each : folder.files()) {
        if (each != file) fs::copy_file(file, each.parent_path() / "0000000000000000.state");
    }
    expect_equal(Cache(folder, "another").disk.n_saved(more, "a 1"), size_t{0});
});

const Test not_kept("disk-cache: short states, states with images, and what is there already are not written", [] {
    const Folder folder;
    Cache        cache(folder);
    expect(!cache.disk.lacks(counting(0, 255), ""), "a short one");
    Tokens image = kLong;
    image[3]     = -4;
    expect(!cache.disk.lacks(image, ""), "one with an image");
    cache.save(kLong, "one");
    expect(!cache.disk.lacks(kLong, "") && !cache.disk.lacks(counting(0, 300), ""), "one that is there");
    expect(cache.disk.lacks(joined(kLong, {1}), "") && cache.disk.lacks(kLong, "a 1"), "one that is not");
});

const Test longer("disk-cache: a longer state takes the place of those that it goes on from, where states can be cut off", [] {
    const Folder folder;
    Cache        cache(folder);
    cache.save(kLong, "one");
    cache.save(joined(counting(0, 300), counting(9000, 100)), "another way");
    cache.save(joined(kLong, {1, 2}), "two");
    expect_equal(folder.files().size(), size_t{2});
    expect(text_of(*cache.fetch(joined(kLong, {1, 2, 3})).state) == "two", "the longer one");

    const Folder whole;
    Cache        recurrent(whole, "m", 1 << 20, Truncation::never);
    recurrent.save(kLong, "one");
    recurrent.save(joined(kLong, {1, 2}), "two");
    expect_equal(whole.files().size(), size_t{2});
});

const Test limit("disk-cache: the least recently used files of all models go where there is no room", [] {
    const Folder      folder;
    const std::string large(20'000, 'x');
    Cache             first(folder, "one", 100'000), second(folder, "two", 100'000);
    std::vector<Tokens> kept;
    for (TokenId i = 0; i < 4; ++i) {
        kept.push_back(counting(1000 * i, 300));
        (i % 2 == 0 ? first : second).save(kept.back(), large);
        for (const fs::path& file : folder.files()) {
            fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(10));
        }
    }
    expect_equal(folder.files().size(), size_t{4});
    // The first becomes the last that was used.
    expect(first.fetch(joined(kept[0], {1})).state != nullptr, "the first");
    second.save(counting(7000, 300), large);
    uint64_t taken = 0;
    for (const fs::path& file : folder.files()) taken += fs::file_size(file);
    expect(taken <= 100'000, "the limit");
    expect_equal(folder.files().size(), size_t{4});
    Cache again(folder, "two", 100'000);
    expect_equal(again.disk.n_saved(joined(kept[1], {1}), ""), size_t{0});
    expect_equal(again.disk.n_saved(joined(kept[3], {1}), ""), size_t{291});
    expect_equal(Cache(folder, "one", 100'000).disk.n_saved(joined(kept[0], {1}), ""), size_t{291});
    // What is larger than all of the room removes nothing.
    second.save(counting(8000, 300), std::string(200'000, 'x'));
    expect_equal(folder.files().size(), size_t{4});
    // Nor do files go that are not of this kind, wherever they lie.
    const fs::path own = folder.files().at(0).parent_path();
    for (const fs::path& each : {folder.path / "notes.state", own / "notes.state", folder.path / "other" / "0123456789abcdef.state"}) {
        fs::create_directories(each.parent_path());
        std::ofstream(each) << std::string(90'000, 'x');
        fs::last_write_time(each, fs::last_write_time(each) - std::chrono::hours(1));
    }
    // A smaller limit holds from the start.
    const Cache smaller(folder, "one", 30'000);
    expect_equal(folder.files().size(), size_t{1 + 3});
});

const Test gone("disk-cache: a file that is damaged or gone gives nothing, and is not asked for again", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one");
    Cache        cache(folder), other(folder);
    const Tokens more = joined(kLong, {1});
    {
        std::fstream file(folder.files().at(0), std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(-1, std::ios::end);
        file.put('x');
    }
    const FetchedState damaged = cache.fetch(more);
    expect(damaged.state == nullptr && damaged.job_ids.size() == 1, "a damaged one");
    expect_equal(cache.disk.n_saved(more, ""), size_t{0});
    fs::remove(folder.files().at(0));
    expect(other.fetch(more).state == nullptr, "one that is gone");
    expect_equal(other.disk.n_saved(more, ""), size_t{0});
    // It is written again.
    cache.save(kLong, "one");
    expect(cache.fetch(more).state != nullptr, "a new one");
});

const Test useless("disk-cache: what was of no use is not fetched again", [] {
    const Folder folder;
    Cache        cache(folder);
    cache.save(kLong, "one");
    cache.disk.forget(joined(kLong, {1}), "");
    expect_equal(cache.disk.n_saved(joined(kLong, {1}), ""), size_t{0});
});

const Test together("disk-cache: jobs that want the same state get it together", [] {
    const Folder folder;
    Cache        cache(folder);
    cache.save(kLong, std::string(1000, 'x'));
    size_t n_jobs = 0;
    for (uint32_t id = 0; id < 5; ++id) expect(cache.disk.fetch(id, joined(kLong, {1}), ""), "a state");
    while (n_jobs < 5) {
        for (const FetchedState& each : cache.fetched.take(true)) {
            n_jobs += each.job_ids.size();
            cache.disk.taken();
        }
    }
    expect_equal(n_jobs, size_t{5});
});

const Test background("disk-cache: what is to be written in the background is there after the end", [] {
    const Folder folder;
    Cache        cache(folder);
    for (TokenId i = 0; i < 5; ++i) cache.disk.save(counting(1000 * i, 300), "", state_of("state"));
    cache.disk.end_by(TaskThread::Clock::now() + std::chrono::hours(1));
    cache.disk.close();
    expect_equal(folder.files().size(), size_t{5});
});

const Test in_time("disk-cache: when its time is over nothing is written, and what was being written is given up", [] {
    const Folder folder;
    Cache        cache(folder, "m", uint64_t{1} << 30, Truncation::anywhere, uint64_t{1} << 30);
    for (TokenId i = 0; i < 5; ++i) cache.disk.save(counting(1000 * i, 300), "", state_of(std::string(50 << 20, 'x')));
    cache.disk.end_by(TaskThread::Clock::now());
    cache.save(counting(9000, 300), "another");
    cache.disk.close();
    for (const fs::path& file : folder.files()) expect(file.extension() == ".state", file.string());
    expect(folder.files().size() < 5, "not all of them");
    const Cache later(folder, "m", uint64_t{1} << 30);
    expect_equal(later.disk.n_saved(counting(9000, 301), ""), size_t{0});
});

const Test nowhere("disk-cache: a folder that cannot be written to is no failure of anything else", [] {
    const Folder folder;
    std::ofstream(folder.path / "file") << "no folder";
    DiskCacheOptions options = Cache::options(folder, "m", 1 << 20, Truncation::anywhere, 1 << 20);
    options.folder           = folder.path / "file" / "cache";
    const auto disk = DiskCache::open(options, [](FetchedState) {});
    disk->save_now(kLong, "", state_of("one"));
    expect(!disk->fetch(1, joined(kLong, {1}), ""), "nothing");
});

const Test too_long("disk-cache: states that are longer than a sequence may be are passed over", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one");
    DiskCacheOptions options = Cache::options(folder, "m", 1 << 20, Truncation::anywhere, 1 << 20);
    options.max_tokens       = 399;
    expect_equal(Cache(options).disk.n_saved(joined(kLong, {1}), ""), size_t{0});
    options.max_tokens = 400;
    expect_equal(Cache(options).disk.n_saved(joined(kLong, {1}), ""), size_t{388});
});

const Test too_large("disk-cache: a state that could not be read again is not written", [] {
    const Folder folder;
    Cache        cache(folder, "m", 1 << 20, Truncation::anywhere, 1000);
    cache.save(kLong, std::string(1001, 'x'));
    cache.disk.save(kLong, "", state_of(std::string(1001, 'x')));
    cache.disk.end_by(TaskThread::Clock::time_point::max());
    cache.disk.close();
    expect(folder.files().empty(), "nothing");
});

const Test removed("disk-cache: what was removed to make room is forgotten, and written again when it is wanted", [] {
    const Folder      folder;
    const std::string large(20'000, 'x');
    Cache             cache(folder, "m", 50'000);
    for (TokenId i = 0; i < 5; ++i) cache.save(counting(1000 * i, 300), large);
    expect_equal(folder.files().size(), size_t{2});
    for (TokenId i = 0; i < 5; ++i) {
        expect_equal(cache.disk.lacks(counting(1000 * i, 300), ""), i < 3);
        expect_equal(cache.disk.n_saved(counting(1000 * i, 301), ""), size_t{i < 3 ? 0u : 291u});
    }
    cache.save(counting(0, 300), large);
    expect(cache.fetch(counting(0, 301)).state != nullptr, "the first one again");
});

const Test own_prefix("disk-cache: where there is no room for both, what a state goes on from gives way before all others", [] {
    const Folder folder;
    Cache        cache(folder, "m", 50'000);
    cache.save(counting(5000, 300), std::string(20'000, 'o'));
    cache.save(kLong, std::string(20'000, 'x'));
    cache.save(joined(kLong, {1}), std::string(20'000, 'y'));
    expect_equal(folder.files().size(), size_t{2});
    expect_equal(cache.disk.n_saved(counting(5000, 301), ""), size_t{291});
    expect(text_of(*cache.fetch(joined(kLong, {1, 2})).state).at(0) == 'y', "the longer one");
});

const Test one_by_one("disk-cache: no state is read before the last one has been taken over", [] {
    const Folder folder;
    Cache        cache(folder);
    for (TokenId i = 0; i < 3; ++i) cache.save(counting(1000 * i, 300), "state");
    for (uint32_t i = 0; i < 3; ++i) cache.disk.fetch(i, counting(1000 * static_cast<TokenId>(i), 301), "");
    size_t n_fetched = cache.fetched.take(true).size();
    expect_equal(n_fetched, size_t{1});
    expect(cache.fetched.take_for(std::chrono::milliseconds(100)).empty(), "the others wait");
    for (; n_fetched < 3; ++n_fetched) {
        cache.disk.taken();
        expect_equal(cache.fetched.take(true).size(), size_t{1});
    }
    // A cache can be closed while one waits.
    for (uint32_t i = 0; i < 3; ++i) cache.disk.fetch(i, counting(1000 * static_cast<TokenId>(i), 301), "");
});

const Test unfinished("disk-cache: files of writers that were ended count for the limit, and go after a while", [] {
    const Folder folder;
    Cache(folder, "m").save(kLong, "one");
    const fs::path part = folder.files().at(0).parent_path() / "0123456789abcdef.state.17.part";
    std::ofstream(part) << std::string(60'000, 'x');
    Cache cache(folder, "another", 100'000);
    cache.save(counting(5000, 300), std::string(50'000, 'x'));
    expect_equal(folder.files().size(), size_t{1});
    expect(fs::exists(part), "somebody may be writing it");
    fs::last_write_time(part, fs::last_write_time(part) - std::chrono::hours(1));
    cache.save(counting(5000, 300), std::string(50'000, 'x'));
    expect(!fs::exists(part) && folder.files().size() == 1, "nobody is");
    std::ofstream(part) << std::string(60'000, 'x');
    fs::last_write_time(part, fs::last_write_time(part) + std::chrono::hours(10'000));
    const Cache later(folder, "another", 100'000);
    expect(!fs::exists(part), "nobody writes in the future");
    // Half of a file under the name of a whole one is none.
    const fs::path whole = folder.files().at(0);
    fs::resize_file(whole, fs::file_size(whole) / 2);
    expect_equal(Cache(folder, "another").disk.n_saved(counting(5000, 301), ""), size_t{0});
});

const Test at_once("disk-cache: processes that write at the same time keep the limit together", [] {
    const Folder folder;
    std::vector<std::thread> threads;
    for (TokenId thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&folder, thread] {
            Cache cache(folder, thread % 2 == 0 ? "one" : "two", 100'000);
            for (TokenId i = 0; i < 20; ++i)
                cache.save(counting(10'000 * thread + 1000 * i, 300), std::string(20'000, 'x'));
        });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t n_bytes = 0;
    for (const fs::path& file : folder.files()) n_bytes += fs::file_size(file);
    expect(n_bytes <= 100'000 && n_bytes >= 20'000, std::to_string(n_bytes) + " bytes");
});

// Simulates a disk that blocks until it is released.
class HungDisk {
public:
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        answered_.wait(lock, [this] { return answers_; });
    }
    void answer() {
        const std::lock_guard<std::mutex> lock(mutex_);
        answers_ = true;
        answered_.notify_all();
    }

private:
    std::mutex              mutex_;
    std::condition_variable answered_;
    bool                    answers_ = false;
};

const Test hung("disk-cache: a disk that does not answer is not waited for, and its answer comes to nothing", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one");
    const auto       disk    = std::make_shared<HungDisk>();
    DiskCacheOptions options = Cache::options(folder, "m", 1 << 20, Truncation::anywhere, 1 << 20);
    options.prepare_thread   = [disk] { disk->wait(); };
    std::weak_ptr<DiskCache> left_behind;
    {
        // What is on the disk is not known.
        Cache cache(options);
        left_behind = cache.owned;
        expect(!cache.disk.fetch(1, joined(kLong, {1}), ""), "nothing");
        cache.disk.save(counting(5000, 300), "", state_of("two"));
        cache.disk.end_by(TaskThread::Clock::now());
        cache.save(counting(6000, 300), "three");
        expect(!cache.disk.close() && !cache.disk.close(), "a thread that goes on");
    }
    disk->answer();
    while (!left_behind.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_equal(folder.files().size(), size_t{1});
});

#ifndef _WIN32
const Test permissions("disk-cache: nobody else may look into a model's folder, however it came to be", [] {
    const Folder folder;
    Cache(folder).save(kLong, "one");
    const fs::path own = folder.files().at(0).parent_path();
    expect(fs::status(own).permissions() == fs::perms::owner_all, "0700");
    fs::permissions(own, fs::perms::all);
    Cache(folder).disk.n_saved(kLong, "");
    expect(fs::status(own).permissions() == fs::perms::owner_all, "0700 again");
});

const Test elsewhere("disk-cache: a link in the place of the model's folder is not followed", [] {
    const Folder folder, other;
    Cache(folder).save(kLong, "one");
    const fs::path own = folder.files().at(0).parent_path();
    fs::rename(own, other.path / "moved");
    fs::create_directory_symlink(other.path / "moved", own);
    Cache cache(folder);
    expect_equal(cache.disk.n_saved(joined(kLong, {1}), ""), size_t{0});
    cache.save(counting(5000, 300), "two");
    expect_equal(other.files().size(), size_t{1});
});
#endif

}  // namespace
