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

// Work that is to end calls check() within milliseconds. If it has not ended after this time, its thread is abandoned.
constexpr auto kGracePeriod = std::chrono::seconds(2);
// How many abandoned threads are replaced; each of them may go on for ever and occupy a processor.
constexpr size_t kMaxAbandoned = 4;
// A task that takes longer is no ordinary one: the engine's steps and other tasks come first.
constexpr auto kLongTask = std::chrono::milliseconds(250);
// How many long tasks may run in addition to the workers; any more occupy a worker each.
constexpr size_t kMaxLongTasks = 32;
// For how many owners without tasks the spent time is kept: many more than can have spent much a moment ago.
constexpr size_t kMaxIdleOwners = 4096;
// check() reads the clock once in this many calls, because that costs more than most of the work between two calls.
constexpr uint32_t kChecksPerClockRead = 64;

// A running task.
struct Run {
    PreparePool::Task task;
    Clock::time_point started, deadline;
    std::atomic<bool> is_reported{false};  // its end has been reported, or is about to be
    Clock::time_point interrupted_at{};
    bool              is_long = false, is_abandoned = false;

    // Only for the worker's own thread.
    const std::function<void()>* lower_priority = nullptr;
    bool                         is_lowered     = false;
    uint32_t                     n_checks       = 0;
};

thread_local Run* current_run = nullptr;

}  // namespace

// The state is shared with the threads, because an abandoned thread may outlive the pool.
class PreparePool::State : public std::enable_shared_from_this<PreparePool::State> {
public:
    explicit State(const Options& options) : options_(options) {}

    bool submit(Task task) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (closing_ || n_waiting_ >= options_.n_waiting || !ensure_worker()) return false;
        const uint32_t id    = task.owner;
        Owner&         owner = owners_[id];
        if (owner.is_idle()) refund_time(owner);
        if (owner.waiting.empty()) turns_.push_back(id);
        owner.waiting.push_back(std::move(task));
        ++n_waiting_;
        work_available_.notify_one();
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

    // Only the first call closes; later calls wait for it and return its result.
    bool close() {
        std::call_once(closed_, [this] { ended_in_time_ = close_first(); });
        return ended_in_time_;
    }

private:
    bool close_first() {
        std::vector<OnEnd>           ends;
        std::unique_lock<std::mutex> lock(mutex_);
        closing_ = true;
        drop_all_waiting(ends);
        for (const auto& run : runs_) interrupt(*run, ends);
        work_available_.notify_all();
        wake_watch();
        lock.unlock();
        for (const OnEnd& on_end : ends) on_end(Ending::closed);
        lock.lock();

        worker_ended_.wait_for(lock, kGracePeriod, [this] { return all_ended(); });
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
        Clock::duration   spent{0}, spent_before{0};  // spent_before: when the first of the current tasks came
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

    // Starts another worker if none is idle. False if there is no worker at all and none can be started.
    bool ensure_worker() {
        try {
            if (!watch_.joinable()) watch_ = std::thread([self = shared_from_this()] { self->watch(); });
            const bool may_start = n_workers_ < options_.n_workers && n_abandoned_ <= kMaxAbandoned;
            if (n_idle_workers_ <= n_waiting_ && may_start) start_worker();
        } catch (const std::system_error&) {
            // The system has no more threads.
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

    // Asks the work to end. The caller reports the end.
    static void interrupt(Run& run, std::vector<OnEnd>& ends) {
        if (run.is_reported.exchange(true)) return;
        run.interrupted_at = Clock::now();
        ends.push_back(std::move(run.task.on_end));
    }

    // Gives an owner back the time during which it had no tasks, up to all that it had spent.
    static void refund_time(Owner& owner) {
        owner.spent        = std::max(owner.spent - (Clock::now() - owner.idle_since), Clock::duration::zero());
        owner.spent_before = owner.spent;
    }

    // The owner has no tasks left. The time that it spent is remembered, because a request submits one task after
    // another. The time of ordinary tasks is not, so that thousands of them in one owner's name do not use up its time.
    void mark_idle(uint32_t id) {
        Owner& owner = owners_[id];
        if (owner.spent - owner.spent_before < kLongTask) owner.spent = owner.spent_before;
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
            if (is_idle && idle_.size() <= kMaxIdleOwners && Clock::now() < since + found->second.spent) break;
            if (is_idle) owners_.erase(found);
            idle_.pop_front();
        }
    }

    void work(Worker& worker) {
        if (options_.prepare_thread) options_.prepare_thread();
        std::unique_lock<std::mutex> lock(mutex_);
        size_t*                      counted_in = &n_workers_;
        bool                         continues  = true;
        while (continues) {
            ++n_idle_workers_;
            work_available_.wait(lock, [this] { return closing_ || !turns_.empty(); });
            --n_idle_workers_;
            if (closing_) break;
            const std::shared_ptr<Run> run = take_task();
            lock.unlock();
            perform(*run);
            lock.lock();
            finish_run(run);
            lock.unlock();
            if (!run->is_reported.exchange(true)) run->task.on_end(Ending::done);
            lock.lock();
            counted_in = &counter_of(*run);
            // A thread whose priority was lowered ends, because it cannot be raised again.
            continues = counted_in == &n_workers_ && !run->is_lowered;
        }
        --*counted_in;
        if (!closing_ && !turns_.empty()) {
            ensure_worker();
            work_available_.notify_one();
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
        if (std::min(run->deadline, run->started + kLongTask) < watching_until_) wake_watch();
        return run;
    }

    static void perform(Run& run) {
        current_run = &run;
        try {
            run.task.work();
        } catch (const Interrupted&) {
            // interrupt() has its end reported.
        }
        current_run   = nullptr;
        run.task.work = nullptr;  // releases what it holds before its end is reported
    }

    // Books the run's time, before its end is reported and the owner may submit the next task.
    void finish_run(const std::shared_ptr<Run>& run) {
        runs_.remove(run);
        Owner& owner = owners_[run->task.owner];
        --owner.n_running;
        owner.spent += Clock::now() - run->started;
        if (owner.is_idle()) mark_idle(run->task.owner);
    }

    // The count that the task's thread is part of.
    size_t& counter_of(const Run& run) { return run.is_abandoned ? n_abandoned_ : run.is_long ? n_long_ : n_workers_; }

    void wake_watch() {
        watching_until_ = Clock::time_point::min();
        watch_changed_.notify_all();
    }

    // Marks long tasks, interrupts those past their deadline, and abandons the threads of those that do not end.
    void watch() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!closing_) {
            std::vector<OnEnd> ends;
            watching_until_ = Clock::time_point::max();
            for (const auto& run : runs_) {
                const Clock::time_point now = Clock::now();
                if (now >= run->deadline) interrupt(*run, ends);
                if (run->is_abandoned) continue;
                if (!run->is_long && now >= run->started + kLongTask && n_long_ < kMaxLongTasks) mark_long(*run);
                const bool was_interrupted = run->interrupted_at != Clock::time_point{};
                if (was_interrupted && now >= run->interrupted_at + kGracePeriod) {
                    abandon(*run, ends);
                    continue;
                }
                const auto next = was_interrupted ? run->interrupted_at + kGracePeriod : run->deadline;
                watching_until_ = std::min(watching_until_, next);
                if (!run->is_long && n_long_ < kMaxLongTasks) {
                    watching_until_ = std::min(watching_until_, run->started + kLongTask);
                }
            }
            if (!ends.empty()) {
                lock.unlock();
                for (const OnEnd& on_end : ends) on_end(Ending::timed_out);
                lock.lock();
            } else if (watching_until_ == Clock::time_point::max()) {
                watch_changed_.wait(lock);
            } else {
                watch_changed_.wait_until(lock, watching_until_);
            }
        }
    }

    void mark_long(Run& run) {
        --n_workers_;
        ++n_long_;
        run.is_long = true;
        if (!turns_.empty()) ensure_worker();
    }

    void abandon(Run& run, std::vector<OnEnd>& ends) {
        if (options_.on_stuck) options_.on_stuck();
        --counter_of(run);
        ++n_abandoned_;
        run.is_abandoned = true;
        if (!ensure_worker()) drop_all_waiting(ends);
    }

    const Options options_;

    std::mutex                      mutex_;
    std::condition_variable         work_available_, watch_changed_, worker_ended_;
    std::map<uint32_t, Owner>       owners_;
    std::deque<uint32_t>            turns_;  // owners with waiting tasks
    std::deque<IdleOwner>           idle_;   // oldest first; some may have tasks again by now
    std::list<std::shared_ptr<Run>> runs_;
    std::list<Worker>               workers_;
    std::thread                     watch_;
    Clock::time_point               watching_until_ = Clock::time_point::max();
    size_t                          n_waiting_      = 0;
    size_t                          n_workers_      = 0;  // apart from long and abandoned ones
    size_t                          n_long_         = 0;
    size_t                          n_abandoned_    = 0;
    size_t                          n_idle_workers_ = 0;
    bool                            closing_        = false;
    std::once_flag                  closed_;
    bool                            ended_in_time_ = false;
};

PreparePool::PreparePool(const Options& options) : state_(std::make_shared<State>(options)) {}

PreparePool::~PreparePool() { close(); }

bool PreparePool::submit(Task task) { return state_->submit(std::move(task)); }

void PreparePool::cancel(uint32_t owner) { state_->cancel(owner); }

bool PreparePool::close() { return state_->close(); }

void PreparePool::check() {
    Run* const run = current_run;
    if (run == nullptr) return;
    if (run->is_reported.load(std::memory_order_relaxed)) throw Interrupted{};
    if (run->is_lowered || ++run->n_checks % kChecksPerClockRead != 0) return;
    if (Clock::now() < run->started + kLongTask) return;
    run->is_lowered = true;
    if (*run->lower_priority) (*run->lower_priority)();
}

}  // namespace chasqui
