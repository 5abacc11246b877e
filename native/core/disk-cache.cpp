#include "disk-cache.h"

#include "checksum.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <set>
#include <stdexcept>
#include <utility>

namespace chasqui {

namespace {

using Clock = TaskThread::Clock;

// A state is read and loaded as a whole. Reading this many tokens takes less time than computing one.
constexpr size_t kReadsPerComputedToken = 32;
// Startup scan: maximum of files, most recently used first ...
constexpr size_t kMaxFiles = 10'000;
// ... and of its duration, which delays loading the model.
constexpr std::chrono::seconds kMaxScanTime{2};
// Additional wait beyond a time limit: a disk that responds is not much later.
constexpr std::chrono::seconds kGracePeriod{1};
// Pause after a failed write: a full disk does not become empty at once.
constexpr std::chrono::minutes kPauseAfterFailure{1};

bool has_image(const std::vector<TokenId>& tokens) {
    return std::any_of(tokens.begin(), tokens.end(), [](TokenId token) { return token < 0; });
}

uint64_t checksum_of(const StateOrigin& origin) {
    const uint64_t scope = checksum(origin.scope.data(), origin.scope.size());
    return checksum(origin.tokens.data(), origin.tokens.size() * sizeof(TokenId), scope);
}

}  // namespace

DiskCache::DiskCache(DiskCacheOptions options, OnFetched on_fetched)
    : options_(std::move(options)),
      on_fetched_(std::move(on_fetched)),
      folder_(options_.folder, options_.model, options_.max_bytes),
      reader_(options_.prepare_thread),
      writer_(options_.prepare_thread) {}

std::shared_ptr<DiskCache> DiskCache::open(DiskCacheOptions options, OnFetched on_fetched) {
    const std::shared_ptr<DiskCache> cache(new DiskCache(std::move(options), std::move(on_fetched)));
    cache->run_on(cache->reader_, Clock::now() + kMaxScanTime + kGracePeriod, [&cache = *cache] { cache.scan(); });
    return cache;
}

void DiskCache::run_on(TaskThread& thread, Clock::time_point until, std::function<void()> task) {
    // A dropped task breaks its promise, which also ends the wait.
    auto              done  = std::make_shared<std::promise<void>>();
    std::future<void> ended = done->get_future();
    thread.put([self = shared_from_this(), done = std::move(done), task = std::move(task)] {
        task();
        done->set_value();
    });
    if (until == Clock::time_point::max()) return ended.wait();
    ended.wait_until(until);
}

// Thread: reader.
void DiskCache::scan() {
    folder_.free_space(0);
    if (!folder_.is_trusted()) return;
    const auto              until = Clock::now() + kMaxScanTime;
    const std::vector<Path> paths = folder_.whole_files();
    for (size_t i = 0; i < std::min(paths.size(), kMaxFiles) && Clock::now() < until; ++i) {
        const Path&                path   = paths[paths.size() - 1 - i];
        std::optional<StateOrigin> origin = read_state_origin(path);
        if (!origin || origin->model != options_.model || origin->tokens.size() > options_.max_tokens) continue;
        const std::lock_guard<std::mutex> lock(mutex_);
        add({path, std::move(origin->scope), std::move(origin->tokens)});
    }
}

// The entry that saves the most computation; no entry if computing the tokens is as fast. The last token is always left
// to compute.
DiskCache::Hit DiskCache::best(const std::vector<TokenId>& tokens, const std::string& scope) const {
    Hit        hit;
    const auto tree = trees_.find(scope);
    if (tree == trees_.end() || tokens.empty()) return hit;
    for (const auto& [id, length] : tree->second.find(tokens)) {
        const size_t n_common = std::min(length, tokens.size() - 1);
        const size_t n_held   = entries_.at(id).tokens.size();
        if (n_common != n_held && options_.truncation != Truncation::anywhere) continue;
        const size_t n_saved = n_common - std::min(n_common, n_held / kReadsPerComputedToken);
        if (n_saved > hit.n_saved) hit = {id, n_common, n_saved};
    }
    return hit;
}

size_t DiskCache::n_saved(const std::vector<TokenId>& tokens, const std::string& scope) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Hit hit = best(tokens, scope);
    return hit.n_tokens < kMinTokens ? 0 : hit.n_saved;
}

bool DiskCache::fetch(uint32_t job_id, const std::vector<TokenId>& tokens, const std::string& scope) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Hit hit = best(tokens, scope);
    if (hit.n_tokens < kMinTokens) return false;
    const Path path           = entries_.at(hit.id).path;
    const auto [jobs, is_new] = fetching_.try_emplace(path);
    try {
        jobs->second.push_back(job_id);
        if (is_new) reader_.put([self = shared_from_this(), path] { self->read(path); });
    } catch (...) {
        if (is_new) fetching_.erase(path);
        throw;
    }
    return true;
}

void DiskCache::taken() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        has_fetched_ = false;
    }
    was_taken_.notify_one();
}

void DiskCache::forget(const std::vector<TokenId>& tokens, const std::string& scope) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Hit hit = best(tokens, scope);
    if (hit.n_tokens > 0) remove(hit.id);
}

// Thread: reader. Reports a result for every file, because jobs wait for it.
void DiskCache::read(const Path& path) {
    {
        std::unique_lock<std::mutex> lock(mutex_);
        was_taken_.wait(lock, [this] { return !has_fetched_ || !reads_; });
        if (!reads_) return;
    }
    std::optional<StateFile> file = read_state_file(path, options_.max_state_bytes, [this] { return reads_.load(); });
    std::error_code          ignored;
    if (file) std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
    FetchedState fetched;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        fetched.job_ids = std::move(fetching_[path]);
        fetching_.erase(path);
        // The file may have been replaced since the scan; its current content counts.
        if (file && !is_entry(path, file->origin)) file.reset();
        if (!file) remove(path);
        has_fetched_ = true;
    }
    try {
        if (file) fetched.state = std::make_shared<const SnapshotBuffer>(std::move(file->state));
        if (file) fetched.tokens = std::move(file->origin.tokens);
    } catch (const std::bad_alloc&) {
        fetched.state.reset();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (on_fetched_) on_fetched_(std::move(fetched));
}

bool DiskCache::is_entry(const Path& path, const StateOrigin& origin) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const auto& each) {
        const Entry& entry = each.second;
        return entry.path == path && StateOrigin{options_.model, entry.scope, entry.tokens} == origin;
    });
}

bool DiskCache::is_covered(const std::vector<TokenId>& tokens, const std::string& scope) const {
    const auto tree = trees_.find(scope);
    if (tree == trees_.end()) return false;
    const auto matches = tree->second.find(tokens);
    return std::any_of(matches.begin(), matches.end(), [&](const PrefixTree::Match& match) {
        if (match.length < tokens.size()) return false;
        return options_.truncation == Truncation::anywhere || entries_.at(match.holder).tokens.size() == tokens.size();
    });
}

bool DiskCache::lacks(const std::vector<TokenId>& tokens, const std::string& scope) const {
    if (tokens.size() < kMinTokens || has_image(tokens)) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    return !is_covered(tokens, scope);
}

// Whether read_state_file() would accept the state.
bool DiskCache::is_readable(const std::shared_ptr<const SnapshotBuffer>& state) const {
    return state != nullptr && state->size() > 0 && state->size() <= options_.max_state_bytes;
}

void DiskCache::save(const std::vector<TokenId>& tokens, const std::string& scope,
                     std::shared_ptr<const SnapshotBuffer> state) {
    if (!is_readable(state) || !lacks(tokens, scope)) return;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        // States in the queue take memory in addition to the snapshots, once those are evicted.
        if (bytes_to_write_ > 0 && bytes_to_write_ + state->size() > options_.max_state_bytes / 2) return;
        bytes_to_write_ += state->size();
    }
    const StateOrigin origin{options_.model, scope, tokens};
    writer_.put([self = shared_from_this(), origin, state = std::move(state)] {
        self->write(origin, *state);
        const std::lock_guard<std::mutex> lock(self->mutex_);
        self->bytes_to_write_ -= state->size();
    });
}

void DiskCache::save_now(const std::vector<TokenId>& tokens, const std::string& scope,
                         const std::shared_ptr<const SnapshotBuffer>& state) {
    if (!is_readable(state)) return;
    const StateOrigin origin{options_.model, scope, tokens};
    run_on(writer_, give_up_, [this, origin, state] { write(origin, *state); });
}

// Thread: writer.
void DiskCache::write(const StateOrigin& origin, const SnapshotBuffer& state) {
    try {
        if (Clock::now() < retry_at_ || !lacks(origin.tokens, origin.scope)) return;
        write_to_folder(origin, state);
        failed_ = false;
    } catch (const std::exception& error) {
        retry_at_ = Clock::now() + kPauseAfterFailure;
        log_failure(error.what());
    }
}

// If states can be truncated anywhere, the new one replaces all states of its prefixes. These stay until it is written,
// if there is space for both.
void DiskCache::write_to_folder(const StateOrigin& origin, const SnapshotBuffer& state) {
    const uint64_t n_bytes = state.size() + origin.tokens.size() * sizeof(TokenId) + origin.model.size() +
                             origin.scope.size() + kStateFileOverhead;
    const std::vector<Path> prefixes = prefixes_of(origin);
    folder_.prepare();
    const bool fits = folder_.free_space(n_bytes, prefixes);
    remove_missing();
    if (!fits) return;
    if (!folder_.has_space(n_bytes)) throw std::runtime_error("the disk is full");
    const Path path = folder_.path_of(checksum_of(origin));
    const ShouldContinue in_time = [this] { return Clock::now() < write_until_.load(); };
    if (!write_state_file(path, origin, state, in_time)) return;
    std::error_code ignored;
    for (const Path& each : prefixes) {
        if (each != path) std::filesystem::remove(each, ignored);
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        remove(path);
        for (const Path& each : prefixes) remove(each);
        add({path, origin.scope, origin.tokens});
    }
    // Another process may have written at the same time.
    folder_.free_space(0);
}

// The files that a state of this origin makes redundant.
std::vector<DiskCache::Path> DiskCache::prefixes_of(const StateOrigin& origin) const {
    std::vector<Path>                 prefixes;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto                        tree = trees_.find(origin.scope);
    if (options_.truncation != Truncation::anywhere || tree == trees_.end()) return prefixes;
    for (const auto& [id, length] : tree->second.find(origin.tokens)) {
        const Entry& entry = entries_.at(id);
        if (length == entry.tokens.size() && fetching_.count(entry.path) == 0) prefixes.push_back(entry.path);
    }
    return prefixes;
}

// Removes the entries of deleted files: any process may delete files.
void DiskCache::remove_missing() {
    const std::vector<Path> paths = folder_.whole_files();
    const std::set<Path>    there(paths.begin(), paths.end());
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Id>         missing;
    for (const auto& [id, entry] : entries_) {
        if (there.count(entry.path) == 0 && fetching_.count(entry.path) == 0) missing.push_back(id);
    }
    for (const Id id : missing) remove(id);
}

void DiskCache::add(Entry entry) {
    trees_[entry.scope].insert(next_id_, entry.tokens);
    entries_[next_id_++] = std::move(entry);
}

void DiskCache::remove(Id id) {
    const Entry& entry = entries_.at(id);
    const auto   tree  = trees_.find(entry.scope);
    tree->second.remove(id, entry.tokens);
    if (tree->second.is_empty()) trees_.erase(tree);
    entries_.erase(id);
}

void DiskCache::remove(const Path& path) {
    const auto is_it = [&](const auto& each) { return each.second.path == path; };
    const auto entry = std::find_if(entries_.begin(), entries_.end(), is_it);
    if (entry != entries_.end()) remove(entry->first);
}

// Logs only the first of consecutive failures, because no request fails with it.
void DiskCache::log_failure(const std::string& why) {
    if (!failed_) std::fprintf(stderr, "chasqui: could not write conversations to disk: %s\n", why.c_str());
    failed_ = true;
}

void DiskCache::end_by(Clock::time_point until) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        reads_ = false;
    }
    write_until_ = until;
    give_up_     = until == Clock::time_point::max() ? until : std::max(until, Clock::now()) + kGracePeriod;
    was_taken_.notify_one();
}

bool DiskCache::close() {
    if (reads_) end_by(Clock::time_point::min());
    const bool has_read    = reader_.close(Clock::time_point::min(), give_up_);
    const bool has_written = writer_.close(write_until_, give_up_);
    const std::lock_guard<std::mutex> lock(mutex_);
    on_fetched_ = nullptr;
    return has_read && has_written;
}

}  // namespace chasqui
