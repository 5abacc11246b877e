// Thread: engine. Files are read and written on two threads of its own.
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
    uint64_t              max_bytes       = 0;  // of all files of all models together
    uint64_t              max_state_bytes = 0;  // a larger state is not read
    size_t                max_tokens      = 0;  // a longer one does not fit into a sequence
    Truncation            truncation      = Truncation::anywhere;
    std::function<void()> prepare_thread  = [] {};  // is called on both threads
};

// A state that was read, for the jobs that wait for it; nothing if the file was damaged or is gone.
struct FetchedState {
    std::vector<uint32_t>                 job_ids;
    std::vector<TokenId>                  tokens;
    std::shared_ptr<const SnapshotBuffer> state;  // nullptr: none
};

// Keeps the states of conversations in files, so that a later process need not compute them again. A file is found by
// its tokens, all of which it has, and its name says nothing that is relied upon.
//
// Several processes may use one folder at the same time, also for the same model, without knowing of each other: a file
// is written under another name first, never changed, and may be removed at any time. So each process sees the files
// that were there when it began, and its own. When there is no room, the least recently used files of all models go;
// the time of a file's last use is its time of modification.
//
// A disk in a network may not answer for hours. Only the two threads wait for it then: the engine goes on without what it
// asked for, and close() leaves behind what does not end. So each task owns the cache.
class DiskCache : public std::enable_shared_from_this<DiskCache> {
public:
    using OnFetched = std::function<void(FetchedState)>;

    // A shorter state is computed faster than this would pay.
    static constexpr size_t kMinTokens = 256;

    // Reads which states there are, which takes a few seconds at most. `on_fetched` is called on the thread that reads, and
    // not after close(); it must not call the cache.
    static std::shared_ptr<DiskCache> open(DiskCacheOptions options, OnFetched on_fetched);
    // close()
    ~DiskCache() { close(); }

    // How many fewer of these tokens there are to compute with a state that could be fetched, less what it takes to read
    // it, in tokens that could be computed meanwhile.
    size_t n_saved(const std::vector<TokenId>& tokens, const std::string& adapters) const;
    // Reads the state that saves most for the job; other jobs may wait for the same. False if there is none.
    bool fetch(uint32_t job_id, const std::vector<TokenId>& tokens, const std::string& adapters);
    // The last state that was fetched has been taken over or dropped. Before that no other is read, because each of them
    // takes memory.
    void taken();
    // A state with the most of these tokens turned out to be of no use, and is not fetched again.
    void forget(const std::vector<TokenId>& tokens, const std::string& adapters);

    // Writes a state in the background, unless it is short, on disk already, or too much is waiting to be written.
    void keep(const std::vector<TokenId>& tokens, const std::string& adapters,
              std::shared_ptr<const SnapshotBuffer> state);
    // Writes it before it returns, or gives up a second after end_by(), for the end of an engine: there is no memory for all
    // slots at once then.
    void keep_now(const std::vector<TokenId>& tokens, const std::string& adapters,
                  const std::shared_ptr<const SnapshotBuffer>& state);
    // Whether keep() would write a state of these tokens.
    bool lacks(const std::vector<TokenId>& tokens, const std::string& adapters) const;
    // Nothing is written after that time, not even the rest of a file. Nothing is read from now on.
    void end_by(TaskThread::Clock::time_point until);
    // Returns when all has been written, or when it is time; without end_by() that is at once. False when the disk does not
    // answer: then one of the threads goes on until it does.
    bool close();

private:
    using Id   = PrefixTree::Holder;
    using Path = std::filesystem::path;

    struct Entry {
        Path                 path;
        std::string          adapters;
        std::vector<TokenId> tokens;
    };
    struct Hit {
        Id     id       = -1;
        size_t n_tokens = 0;
        size_t n_saved  = 0;
    };

    DiskCache(DiskCacheOptions options, OnFetched on_fetched);

    // Puts a task on a thread and waits until it has ended, until then at most.
    void do_on(TaskThread& thread, TaskThread::Clock::time_point until, std::function<void()> task);
    void scan();
    Hit  best(const std::vector<TokenId>& tokens, const std::string& adapters) const;
    bool is_readable(const std::shared_ptr<const SnapshotBuffer>& state) const;
    bool is_covered(const std::vector<TokenId>& tokens, const std::string& adapters) const;
    void add(Entry entry);
    void remove(Id id);
    void remove(const Path& path);
    void remove_missing();
    void read(const Path& path);
    bool is_entry(const Path& path, const StateOrigin& origin) const;
    void write(const StateOrigin& origin, const SnapshotBuffer& state);
    void write_to_folder(const StateOrigin& origin, const SnapshotBuffer& state);
    std::vector<Path> prefixes_of(const StateOrigin& origin) const;
    void              tell_failure(const std::string& why);

    DiskCacheOptions options_;
    OnFetched        on_fetched_;
    StateFolder      folder_;

    mutable std::mutex                    mutex_;  // of on_fetched_ and what follows; never locked while a disk is used
    std::condition_variable               was_taken_;
    std::map<Id, Entry>                   entries_;
    std::map<std::string, PrefixTree>     trees_;  // by adapters; none of them empty
    std::map<Path, std::vector<uint32_t>> fetching_;
    Id                                    next_id_        = 0;
    uint64_t                              bytes_to_write_ = 0;
    bool                                  has_fetched_    = false;  // a state that is not taken over yet

    std::atomic<bool>                          reads_{true};
    std::atomic<TaskThread::Clock::time_point> write_until_{TaskThread::Clock::time_point::max()};
    TaskThread::Clock::time_point              give_up_ = TaskThread::Clock::time_point::max();  // of the owner's thread

    // Of the thread that writes.
    bool                          failed_ = false;
    TaskThread::Clock::time_point retry_at_{};

    TaskThread reader_, writer_;  // last: they use everything above
};

}  // namespace chasqui
