#include "prepare-pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

using Clock  = PreparePool::Clock;
using Ending = PreparePool::Ending;
using OnEnd  = std::function<void(Ending)>;

// Work that is asked to end looks at check() within milliseconds; after so long its thread is given up.
constexpr auto kGrace = std::chrono::seconds(2);
// Threads that may take the place of those given up: each of these may go on for ever, and take a processor's time.
constexpr size_t kMostGivenUp = 4;
// A task that takes longer is no ordinary request: the answers that are being computed come first, and so do other tasks.
constexpr auto kLong = std::chrono::milliseconds(250);
// Tasks that take long beside the ordinary ones; any more take the places of those.
constexpr size_t kMostLong = 32;
// Owners without tasks whose spent time is remembered: many more than can have spent a long time a moment ago.
constexpr size_t kMostIdle = 4096;
// Looking at the clock costs more than most of what is done between two calls of check().
constexpr uint32_t kChecksPerClock = 64;

// A task at work.
struct Run {
    PreparePool::Task task;
    Clock::time_point started, deadline;
    std::atomic<bool> is_told{false};  // of its end, or about to be
    Clock::time_point told_at{};
    bool              is_long = false, is_given_up = false;

    // Of the worker's own thread.
    const std::function<void()>* lower_priority = nullptr;
    bool                         is_lowered     = false;
    uint32_t                     n_checks       = 0;
};

thread_local Run* current_run = nullptr;

}  // namespace

// Threads hold it, so that one that was given up finds it for as long as it goes on.
class PreparePool::State : public std::enable_shared_from_this<PreparePool::State> {
public:
    explicit State(const Options& options) : options_(options) {}

    bool submit(Task task) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (closing_ || n_waiting_ >= options_.n_waiting || !have_worker()) return false;
        const uint32_t id    = task.owner;
        Owner&         owner = owners_[id];
        if (owner.is_idle()) give_time_back(owner);
        if (owner.waiting.empty()) turns_.push_back(id);
        owner.waiting.push_back(std::move(task));
        ++n_waiting_;
        wanted_.notify_one();
        return true;
    }

    void cancel(uint32_t id) {
        std::vector<OnEnd> ends;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto                        found = owners_.find(id);
            if (found == owners_.end()) return;
            drop_waiting(found->second, ends);
            turns_.erase(std::remove(turns_.begin(), turns_.end(), id), turns_.end());
            for (const auto& run : runs_) {
                if (run->task.owner == id) interrupt(*run, ends);
            }
            if (found->second.is_idle()) owners_.erase(found);
            wake_watch();
        }
        for (const OnEnd& on_end : ends) on_end(Ending::cancelled);
    }

    // Whoever comes later waits for the first, and not again for what did not end.
    bool close() {
        std::call_once(closed_, [this] { has_ended_in_time_ = close_first(); });
        return has_ended_in_time_;
    }

private:
    bool close_first() {
        std::vector<OnEnd>           ends;
        std::unique_lock<std::mutex> lock(mutex_);
        closing_ = true;
        drop_all_waiting(ends);
        for (const auto& run : runs_) interrupt(*run, ends);
        wanted_.notify_all();
        wake_watch();
        lock.unlock();
        for (const OnEnd& on_end : ends) on_end(Ending::closed);
        lock.lock();

        worker_ended_.wait_for(lock, kGrace, [this] { return all_ended(); });
        const bool               in_time = all_ended();
        std::vector<std::thread> ended;
        for (Worker& worker : workers_) {
            if (!worker.thread.joinable()) continue;
            if (worker.has_ended) ended.push_back(std::move(worker.thread));
            else worker.thread.detach();
        }
        if (watch_.joinable()) ended.push_back(std::move(watch_));
        lock.unlock();
        for (std::thread& thread : ended) thread.join();
        return in_time;
    }

    struct Owner {
        std::deque<Task>  waiting;
        size_t            n_running = 0;
        Clock::duration   spent{0}, spent_before{0};  // the latter: as the first of these tasks came
        Clock::time_point idle_since{};

        bool is_idle() const { return waiting.empty() && n_running == 0; }
    };

    struct IdleOwner {
        uint32_t          id;
        Clock::time_point since;
    };

    struct Worker {
        std::thread thread;
        bool        has_ended = false;
    };

    // Starts another thread where there is none free. False when there is none at all and none can be started.
    bool have_worker() {
        try {
            if (!watch_.joinable()) watch_ = std::thread([self = shared_from_this()] { self->watch(); });
            if (n_free_ <= n_waiting_ && n_workers_ < options_.n_workers && n_given_up_ <= kMostGivenUp) start_worker();
        } catch (const std::system_error&) {
            // There are no more threads to be had.
        }
        return n_workers_ > 0;
    }

    void start_worker() {
        for (auto it = workers_.begin(); it != workers_.end();) {
            if (!it->has_ended) {
                ++it;
                continue;
            }
            it->thread.join();
            it = workers_.erase(it);
        }
        Worker& worker = workers_.emplace_back();
        try {
            worker.thread = std::thread([self = shared_from_this(), &worker] { self->work(worker); });
        } catch (...) {
            workers_.pop_back();
            throw;
        }
        ++n_workers_;
    }

    bool all_ended() const {
        return std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.has_ended; });
    }

    void drop_waiting(Owner& owner, std::vector<OnEnd>& ends) {
        n_waiting_ -= owner.waiting.size();
        for (Task& task : owner.waiting) ends.push_back(std::move(task.on_end));
        owner.waiting.clear();
    }

    void drop_all_waiting(std::vector<OnEnd>& ends) {
        for (auto& [id, owner] : owners_) drop_waiting(owner, ends);
        turns_.clear();
    }

    // Whoever asks work to end tells of it, too.
    static void interrupt(Run& run, std::vector<OnEnd>& ends) {
        if (run.is_told.exchange(true)) return;
        run.told_at = Clock::now();
        ends.push_back(std::move(run.task.on_end));
    }

    // An owner gets back a second for each that it has had nothing in here.
    static void give_time_back(Owner& owner) {
        owner.spent        = std::max(owner.spent - (Clock::now() - owner.idle_since), Clock::duration::zero());
        owner.spent_before = owner.spent;
    }

    // A request comes with one task after another, so that what it spent is remembered. Not so for ordinary tasks: whoever
    // makes thousands of requests in one owner's name must not run out of time.
    void rest(uint32_t id) {
        Owner& owner = owners_[id];
        if (owner.spent - owner.spent_before < kLong) owner.spent = owner.spent_before;
        owner.spent      = std::min(owner.spent, options_.timeout);
        owner.idle_since = Clock::now();
        if (owner.spent == Clock::duration::zero()) {
            owners_.erase(id);
            return;
        }
        idle_.push_back({id, owner.idle_since});
        while (!idle_.empty()) {
            const auto [oldest, since] = idle_.front();
            const auto found           = owners_.find(oldest);
            const bool is_idle = found != owners_.end() && found->second.is_idle() && found->second.idle_since == since;
            if (is_idle && idle_.size() <= kMostIdle && Clock::now() < since + found->second.spent) break;
            if (is_idle) owners_.erase(found);
            idle_.pop_front();
        }
    }

    void work(Worker& worker) {
        if (options_.prepare_thread) options_.prepare_thread();
        std::unique_lock<std::mutex> lock(mutex_);
        size_t*                      counted_in = &n_workers_;
        bool                         goes_on    = true;
        while (goes_on) {
            ++n_free_;
            wanted_.wait(lock, [this] { return closing_ || !turns_.empty(); });
            --n_free_;
            if (closing_) break;
            const std::shared_ptr<Run> run = take_task();
            lock.unlock();
            perform(*run);
            lock.lock();
            put_away(run);
            lock.unlock();
            if (!run->is_told.exchange(true)) run->task.on_end(Ending::done);
            lock.lock();
            counted_in = &counter_of(*run);
            // A priority can be lowered, but not raised again.
            goes_on = counted_in == &n_workers_ && !run->is_lowered;
        }
        --*counted_in;
        if (!closing_ && !turns_.empty()) {
            have_worker();
            wanted_.notify_one();
        }
        worker.has_ended = true;
        worker_ended_.notify_all();
    }

    std::shared_ptr<Run> take_task() {
        const uint32_t id = turns_.front();
        turns_.pop_front();
        Owner&     owner = owners_[id];
        const auto run   = std::make_shared<Run>();
        run->task        = std::move(owner.waiting.front());
        owner.waiting.pop_front();
        --n_waiting_;
        ++owner.n_running;
        if (!owner.waiting.empty()) turns_.push_back(id);
        run->lower_priority = &options_.lower_priority;
        run->started        = Clock::now();
        run->deadline       = run->started + std::max(options_.timeout - owner.spent, Clock::duration::zero());
        runs_.push_back(run);
        if (std::min(run->deadline, run->started + kLong) < watching_until_) wake_watch();
        return run;
    }

    static void perform(Run& run) {
        current_run = &run;
        try {
            run.task.work();
        } catch (const Interrupted&) {
            // Whoever asked for it tells of it.
        }
        current_run   = nullptr;
        run.task.work = nullptr;  // lets go of what it held before anybody hears of its end
    }

    // Before anybody hears of its end, and may come with the next.
    void put_away(const std::shared_ptr<Run>& run) {
        runs_.remove(run);
        Owner& owner = owners_[run->task.owner];
        --owner.n_running;
        owner.spent += Clock::now() - run->started;
        if (owner.is_idle()) rest(run->task.owner);
    }

    // What the thread of a task counts as.
    size_t& counter_of(const Run& run) { return run.is_given_up ? n_given_up_ : run.is_long ? n_long_ : n_workers_; }

    void wake_watch() {
        watching_until_ = Clock::time_point::min();
        changed_.notify_all();
    }

    // Sets aside what takes long, ends what takes too long, and gives up the threads of what does not end.
    void watch() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!closing_) {
            std::vector<OnEnd> ends;
            watching_until_ = Clock::time_point::max();
            for (const auto& run : runs_) {
                const Clock::time_point now = Clock::now();
                if (now >= run->deadline) interrupt(*run, ends);
                if (run->is_given_up) continue;
                if (!run->is_long && now >= run->started + kLong && n_long_ < kMostLong) set_aside(*run);
                const bool is_told = run->told_at != Clock::time_point{};
                if (is_told && now >= run->told_at + kGrace) {
                    give_up(*run, ends);
                    continue;
                }
                watching_until_ = std::min(watching_until_, is_told ? run->told_at + kGrace : run->deadline);
                if (!run->is_long && n_long_ < kMostLong) {
                    watching_until_ = std::min(watching_until_, run->started + kLong);
                }
            }
            if (!ends.empty()) {
                lock.unlock();
                for (const OnEnd& on_end : ends) on_end(Ending::timed_out);
                lock.lock();
            } else if (watching_until_ == Clock::time_point::max()) {
                changed_.wait(lock);
            } else {
                changed_.wait_until(lock, watching_until_);
            }
        }
    }

    void set_aside(Run& run) {
        --n_workers_;
        ++n_long_;
        run.is_long = true;
        if (!turns_.empty()) have_worker();
    }

    void give_up(Run& run, std::vector<OnEnd>& ends) {
        --counter_of(run);
        ++n_given_up_;
        run.is_given_up = true;
        if (!have_worker()) drop_all_waiting(ends);
    }

    const Options options_;

    std::mutex                      mutex_;
    std::condition_variable         wanted_, changed_, worker_ended_;
    std::map<uint32_t, Owner>       owners_;
    std::deque<uint32_t>            turns_;  // owners with waiting tasks
    std::deque<IdleOwner>           idle_;   // the oldest first; some may have come back since
    std::list<std::shared_ptr<Run>> runs_;
    std::list<Worker>               workers_;
    std::thread                     watch_;
    Clock::time_point               watching_until_ = Clock::time_point::max();
    size_t                          n_waiting_      = 0;
    size_t                          n_workers_      = 0;  // without the following two
    size_t                          n_long_         = 0;
    size_t                          n_given_up_     = 0;
    size_t                          n_free_         = 0;
    bool                            closing_        = false;
    std::once_flag                  closed_;
    bool                            has_ended_in_time_ = false;
};

PreparePool::PreparePool(const Options& options) : state_(std::make_shared<State>(options)) {}

PreparePool::~PreparePool() { close(); }

bool PreparePool::submit(Task task) { return state_->submit(std::move(task)); }

void PreparePool::cancel(uint32_t owner) { state_->cancel(owner); }

bool PreparePool::close() { return state_->close(); }

void PreparePool::check() {
    Run* const run = current_run;
    if (run == nullptr) return;
    if (run->is_told.load(std::memory_order_relaxed)) throw Interrupted{};
    if (run->is_lowered || ++run->n_checks % kChecksPerClock != 0 || Clock::now() < run->started + kLong) return;
    run->is_lowered = true;
    if (*run->lower_priority) (*run->lower_priority)();
}

}  // namespace chasqui
