// The part of the engine that saves conversations to disk and restores them.
#include "engine.h"

#include "llama/decoding/state-key.h"
#include "llama/system/system.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace chasqui {

namespace {

// Niceness of the reader and writer threads.
constexpr int kNiceness = 10;
// A state is read if it has at least this many tokens more than the cache.
constexpr size_t kMinGain = 256;
// Time limit for writing at the end of the engine. The server kills the process after a few seconds.
constexpr std::chrono::milliseconds kMaxSaveTime{2500};

}  // namespace

// Identity of all files that a state depends on.
std::string Engine::identity_of_files(const std::string& path, const EngineOptions& options) {
    if (options.cache_disk_bytes == 0) return "";
    std::string identity = file_identity(path);
    for (const std::string& adapter : options.adapters) identity += "\n" + file_identity(adapter);
    return identity;
}

// The cache is optional: a failure is only logged.
void Engine::open_disk_cache(const EngineOptions& options) {
    if (options.cache_disk_bytes == 0 || options.cache_ram_bytes == 0 || options.deterministic || !generates()) return;
    try {
        for (const std::string& path : options.adapters) adapter_prints_.push_back(fingerprint(path));
        DiskCacheOptions disk;
        disk.folder          = std::filesystem::u8path(options.cache_folder);
        disk.model           = state_key(model_, options.decoder, decoder_.context_length());
        disk.max_bytes       = options.cache_disk_bytes;
        disk.max_state_bytes = options.cache_ram_bytes;
        disk.max_tokens      = context_length_;
        disk.truncation      = decoder_.truncation();
        disk.prepare_thread  = [] { lower_thread_priority(kNiceness); };
        // The loaded files may differ from the ones that were fingerprinted.
        if (identity_of_files(model_.path(), options) != files_identity_)
            throw std::runtime_error("a file has changed");
        const auto on_fetched = [this](FetchedState fetched) { mailbox_.put(std::move(fetched)); };
        disk_ = DiskCache::open(std::move(disk), on_fetched);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "chasqui: conversations are not cached on disk: %s\n", error.what());
    }
}

// The adapters as in their files, then the salt.
std::string Engine::disk_scope(const CacheScope& scope) const {
    std::string key;
    for (const AdapterUse& use : scope.adapters) {
        uint32_t scale = 0;
        std::memcpy(&scale, &use.scale, sizeof scale);
        key += adapter_prints_.at(use.adapter) + " " + std::to_string(scale) + "\n";
    }
    return scope.salt.empty() ? key : key + "\n" + scope.salt;
}

// A sequence waits for the state of a prefix if that is on disk and no similar prefix is in memory.
void Engine::fetch_state(Sequence& sequence) noexcept {
    if (!disk_ || !state_waits_.may_request() || !scheduler_.may_reuse(sequence)) return;
    try {
        const std::string scope   = disk_scope(sequence.job().cache_scope());
        const size_t      n_saved = disk_->n_saved(sequence.tokens, scope);
        if (n_saved < scheduler_.n_cached_tokens(sequence) + kMinGain) return;
        if (!disk_->fetch(sequence.id(), sequence.tokens, scope)) return;
        state_waits_.add(sequence.id(), Clock::now());
        sequence.awaits_state = true;
    } catch (const std::exception&) {
        // No memory for the search: the sequence is computed.
    }
}

void Engine::handle(FetchedState fetched) {
    disk_->taken();
    state_waits_.responded(fetched.job_ids, Clock::now());
    const Sequence* waiting = nullptr;
    for (const uint32_t id : fetched.job_ids) {
        Sequence* sequence = scheduler_.find(id);
        if (sequence == nullptr) continue;
        sequence->awaits_state = false;
        waiting                = sequence;
    }
    // Without a waiting sequence its scope is unknown; the next sequence fetches the state again.
    if (waiting == nullptr || fetched.state == nullptr) return;
    const auto snapshot = scheduler_.adopt(fetched.tokens, waiting->job().cache_scope());
    if (snapshot) decoder_.adopt(*snapshot, std::move(fetched.state));
}

// Computes the sequences that have waited too long for the disk.
void Engine::resume_overdue() {
    for (const uint32_t id : state_waits_.take_overdue(Clock::now())) {
        if (Sequence* sequence = scheduler_.find(id)) sequence->awaits_state = false;
    }
}

// Writes the content of a slot that another sequence has taken over or that was evicted.
void Engine::save_to_disk(int32_t id) noexcept {
    if (!disk_ || id < 0) return;
    try {
        for (const PrefixCache::CachedPrefix& held : scheduler_.cache().idle_prefixes()) {
            if (held.id != id) continue;
            const std::string scope = disk_scope(*held.scope);
            if (disk_->lacks(*held.tokens, scope)) disk_->save(*held.tokens, scope, decoder_.state_of(id));
            return;
        }
    } catch (const std::exception&) {
        // No memory to write it; it stays in main memory.
    }
}

// The restored state could not be loaded. It is not tried again.
void Engine::discard_state(const Placement& placement) {
    if (!disk_ || placement.source != Placement::Source::snapshot) return;
    for (const Sequence* sequence : scheduler_.all()) {
        if (sequence->slot == placement.slot) disk_->forget(sequence->tokens, disk_scope(sequence->job().cache_scope()));
    }
}

// At the end of the engine: writes all cached prefixes that are not on disk yet, in LRU order, within the time limit.
void Engine::save_all_to_disk() {
    if (!disk_) return;
    const auto until = Clock::now() + kMaxSaveTime;
    disk_->end_by(until);
    try {
        for (const PrefixCache::CachedPrefix& held : scheduler_.cache().idle_prefixes()) {
            const std::string scope = disk_scope(*held.scope);
            if (Clock::now() >= until) break;
            if (disk_->lacks(*held.tokens, scope)) {
                disk_->save_now(*held.tokens, scope, decoder_.state_of(held.id));
            }
        }
    } catch (const std::exception&) {
        // No memory for a copy: prefixes that are not on disk will be computed again.
    }
    disk_ended_ = disk_->close();
}

}  // namespace chasqui
