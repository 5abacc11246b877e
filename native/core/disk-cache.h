// Thread: engine. Two threads of its own read and write the files.
#pragma once

#include "prefix-cache.h"
#include "prefix-tree.h"
#include "snapshot-buffer.h"
#include "state-file.h"
#include "state-folder.h"
#include "task-thread.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace chasqui {

struct DiskCacheOptions {
    std::filesystem::path folder;               // see StateFolder
    std::string           model;                // see StateOrigin
    uint64_t              max_bytes       = 0;  // of all files of all models
    uint64_t              max_state_bytes = 0;  // larger states are not read
    size_t                max_tokens      = 0;  // longer states do not fit into a sequence
    Truncation            truncation      = Truncation::anywhere;
    std::function<void()> prepare_thread  = [] {};  // called on both threads
};

// A state that was read, for the jobs that wait for it; no state if the file was damaged or deleted.
struct FetchedState {
    std::vector<uint32_t>                 job_ids;
    std::vector<TokenId>                  tokens;
    std::shared_ptr<const SnapshotBuffer> state;  // nullptr: none
};

// Stores the states of conversations in files, so a later process need not compute them again. A file is identified by
// the tokens in it; nothing relies on its name.
//
// Several processes may share a folder, even for the same model, without coordination: a file is written under a
// temporary name, renamed, never changed, and may be deleted at any time. So each process sees the files that existed
// when it started, and its own. When space is needed, the least recently used files of all models are deleted; the
// modification time of a file is the time of its last use.
//
// A network drive may not respond for hours. Only the two threads wait for it: the engine continues without the
// requested states, and close() abandons an operation that does not end. So each task shares ownership of the cache.
class DiskCache : public std::enable_shared_from_this<DiskCache> {
public:
    using OnFetched = std::function<void(FetchedState)>;

    // Shorter states are computed faster than they are read.
    static constexpr size_t kMinTokens = 256;

    // Scans the folder, for a few seconds at most. `on_fetched` is called on the reader thread, never after close(); it
    // must not call the cache.
    static std::shared_ptr<DiskCache> open(DiskCacheOptions options, OnFetched on_fetched);
    ~DiskCache() { close(); }

    // How many of these tokens the best state would save, minus those that could be computed while it is read.
    size_t n_saved(const std::vector<TokenId>& tokens, const std::string& scope) const;
    // Reads the best state for the job; several jobs may wait for the same one. False if there is none.
    bool fetch(uint32_t job_id, const std::vector<TokenId>& tokens, const std::string& scope);
    // The last fetched state has been adopted or dropped. Until then no other state is read, to limit memory.
    void taken();
    // The state with the longest prefix of these tokens was unusable; it is not fetched again.
    void forget(const std::vector<TokenId>& tokens, const std::string& scope);

    // Writes a state in the background, unless it is short, already on disk, or too much data is queued.
    void save(const std::vector<TokenId>& tokens, const std::string& scope,
              std::shared_ptr<const SnapshotBuffer> state);
    // Writes synchronously, until one second after the time of end_by(). For the end of an engine, when there is no
    // memory for copies of all slots.
    void save_now(const std::vector<TokenId>& tokens, const std::string& scope,
                  const std::shared_ptr<const SnapshotBuffer>& state);
    // Whether save() would write a state of these tokens.
    bool lacks(const std::vector<TokenId>& tokens, const std::string& scope) const;
    // Sets the end of all writing, even of a partly written file, and stops all reading.
    void end_by(TaskThread::Clock::time_point until);
    // Returns when everything is written, or at the time of end_by(), by default now. False if the disk does not
    // respond: then a thread continues until it does.
    bool close();

private:
    using Id   = PrefixTree::Holder;
    using Path = std::filesystem::path;

    struct Entry {
        Path                 path;
        std::string          scope;
        std::vector<TokenId> tokens;
    };
    struct Hit {
        Id     id       = -1;
        size_t n_tokens = 0;
        size_t n_saved  = 0;
    };

    DiskCache(DiskCacheOptions options, OnFetched on_fetched);

    // Runs a task on a thread and waits for its end, at most until `until`.
    void              run_on(TaskThread& thread, TaskThread::Clock::time_point until, std::function<void()> task);
    void scan();
    Hit  best(const std::vector<TokenId>& tokens, const std::string& scope) const;
    bool is_readable(const std::shared_ptr<const SnapshotBuffer>& state) const;
    bool is_covered(const std::vector<TokenId>& tokens, const std::string& scope) const;
    void add(Entry entry);
    void remove(Id id);
    void remove(const Path& path);
    void remove_missing();
    void read(const Path& path);
    bool is_entry(const Path& path, const StateOrigin& origin) const;
    void write(const StateOrigin& origin, const SnapshotBuffer& state);
    void write_to_folder(const StateOrigin& origin, const SnapshotBuffer& state);
    std::vector<Path> prefixes_of(const StateOrigin& origin) const;
    void              log_failure(const std::string& why);

    DiskCacheOptions options_;
    OnFetched        on_fetched_;
    StateFolder      folder_;

    mutable std::mutex mutex_;  // guards on_fetched_ and the following members; never locked during disk access
    std::condition_variable               was_taken_;
    std::map<Id, Entry>                   entries_;
    std::map<std::string, PrefixTree>     trees_;  // by scope; no empty ones
    std::map<Path, std::vector<uint32_t>> fetching_;
    Id                                    next_id_        = 0;
    uint64_t                              bytes_to_write_ = 0;
    bool                                  has_fetched_    = false;  // a state that has not been adopted yet

    std::atomic<bool>                          reads_{true};
    std::atomic<TaskThread::Clock::time_point> write_until_{TaskThread::Clock::time_point::max()};
    TaskThread::Clock::time_point give_up_ = TaskThread::Clock::time_point::max();  // used by the owner's thread

    // Used by the writer thread.
    bool                          failed_ = false;
    TaskThread::Clock::time_point retry_at_{};

    TaskThread reader_, writer_;  // last: they use everything above
};

}  // namespace chasqui
