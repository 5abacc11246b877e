// The part of the engine that keeps conversations on disk, and brings them back.
#include "engine.h"

#include "llama/state-key.h"
#include "llama/thread-priority.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace chasqui {

namespace {

// Of the threads that read and write: whatever computes goes before them.
constexpr int kNiceness = 10;
// A state is read if it has so many more tokens than what is cached.
constexpr size_t kMinGain = 256;
// How long the end of the engine may take to write what is not on disk yet. The server ends the process after a few
// seconds.
constexpr std::chrono::milliseconds kTimeToKeep{2500};

}  // namespace

// Of those that a state depends on.
std::string Engine::identity_of_files(const std::string& path, const EngineOptions& options) {
    if (options.cache_disk_bytes == 0) return "";
    std::string identity = file_identity(path);
    for (const std::string& adapter : options.adapters) identity += "\n" + file_identity(adapter);
    return identity;
}

// Without it everything is as it is otherwise, so a failure is only told.
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
        // What was loaded need not be what the fingerprints are of.
        if (identity_of_files(model_.path(), options) != opened_files_) throw std::runtime_error("a file has changed");
        const auto on_fetched = [this](FetchedState fetched) { mailbox_.put(std::move(fetched)); };
        disk_ = DiskCache::open(std::move(disk), on_fetched);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "chasqui: conversations are not kept on disk: %s\n", error.what());
    }
}

std::string Engine::adapters_key(const AdapterSet& adapters) const {
    std::string key;
    for (const AdapterUse& use : adapters) {
        uint32_t scale = 0;
        std::memcpy(&scale, &use.scale, sizeof scale);
        key += adapter_prints_.at(use.adapter) + " " + std::to_string(scale) + "\n";
    }
    return key;
}

// A sequence waits for the state of its first tokens if that is on disk and nothing like it is in memory.
void Engine::fetch_state(Sequence& sequence) noexcept {
    if (!disk_ || !state_waits_.may_ask() || !scheduler_.may_reuse(sequence)) return;
    try {
        const std::string adapters = adapters_key(sequence.job().adapters);
        const size_t      n_saved  = disk_->n_saved(sequence.tokens, adapters);
        if (n_saved < scheduler_.n_cached_tokens(sequence) + kMinGain) return;
        if (!disk_->fetch(sequence.id(), sequence.tokens, adapters)) return;
        state_waits_.add(sequence.id(), Clock::now());
        sequence.awaits_state = true;
    } catch (const std::exception&) {
        // There is no memory to look for it, so it is computed.
    }
}

void Engine::handle(FetchedState fetched) {
    disk_->taken();
    state_waits_.answered(fetched.job_ids, Clock::now());
    const Sequence* waiting = nullptr;
    for (const uint32_t id : fetched.job_ids) {
        Sequence* sequence = scheduler_.find(id);
        if (sequence == nullptr) continue;
        sequence->awaits_state = false;
        waiting                = sequence;
    }
    // Without the sequence it is not known whose adapters it has; the next one will fetch it again.
    if (waiting == nullptr || fetched.state == nullptr) return;
    const auto snapshot = scheduler_.adopt(fetched.tokens, waiting->job().adapters);
    if (snapshot) decoder_.adopt(*snapshot, std::move(fetched.state));
}

// Computes what has waited for a disk that does not answer.
void Engine::give_up_waiting() {
    for (const uint32_t id : state_waits_.take_overdue(Clock::now())) {
        if (Sequence* sequence = scheduler_.find(id)) sequence->awaits_state = false;
    }
}

// Writes what a slot held that another sequence has now, or that had to give up its cells.
void Engine::keep_snapshot(int32_t id) noexcept {
    if (!disk_ || id < 0) return;
    try {
        for (const PrefixCache::CachedPrefix& held : scheduler_.cache().idle_prefixes()) {
            if (held.id != id) continue;
            const std::string adapters = adapters_key(*held.adapters);
            if (disk_->lacks(*held.tokens, adapters)) disk_->keep(*held.tokens, adapters, decoder_.state_of(id));
            return;
        }
    } catch (const std::exception&) {
        // There is no memory to write it; it is in main memory all the same.
    }
}

// What came from disk could not be loaded. It will not be tried again.
void Engine::forget_state(const Placement& placement) {
    if (!disk_ || placement.source != Placement::Source::snapshot) return;
    for (const Sequence* sequence : scheduler_.all()) {
        if (sequence->slot == placement.slot) disk_->forget(sequence->tokens, adapters_key(sequence->job().adapters));
    }
}

// At the end of the engine: whatever is cached and not on disk yet, the most recently used first, as far as there is time.
void Engine::keep_all() {
    if (!disk_) return;
    const auto until = Clock::now() + kTimeToKeep;
    disk_->end_by(until);
    try {
        for (const PrefixCache::CachedPrefix& held : scheduler_.cache().idle_prefixes()) {
            const std::string adapters = adapters_key(*held.adapters);
            if (Clock::now() >= until) break;
            if (disk_->lacks(*held.tokens, adapters)) {
                disk_->keep_now(*held.tokens, adapters, decoder_.state_of(held.id));
            }
        }
    } catch (const std::exception&) {
        // There is no memory for a copy: what is not on disk will be computed again.
    }
    disk_ended_ = disk_->close();
}

}  // namespace chasqui
