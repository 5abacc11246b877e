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

// Work calls check() within milliseconds. If it has not ended this long after an interrupt, its thread is abandoned.
constexpr auto kGracePeriod = std::chrono::seconds(2);
// Up to this many abandoned threads are replaced: each may run for ever and occupy a processor.
constexpr size_t kMaxAbandoned = 4;
constexpr auto kLongTask = std::chrono::milliseconds(250);
// Long tasks that run in addition to the ordinary workers; further ones occupy a worker each.
constexpr size_t kMaxLongTasks = 32;
// The spent time is kept for this many idle owners, far more than can have spent much within the timeout.
constexpr size_t kMaxIdleOwners = 4096;
// check() reads the clock once in this many calls, because reading it costs more than most work between two calls.
constexpr uint32_t kChecksPerClockRead = 64;

//             take_task()         mark_long()         abandon(), also of busy ones
//   ┌──────┐ ───────────▶ ┌──────┐ ─────────▶ ┌──────┐ ─────────▶ ┌───────────┐
//   │ idle │              │ busy │            │ slow │            │ abandoned │ ──▶ leaving ──▶ ended
//   └──────┘ ◀─────────── └──────┘            └──────┘            └───────────┘
//             task ended
//
// A slow or abandoned worker leaves when its task ends. Only idle and busy ones count for `Options::n_workers`.
struct Worker {
    enum class State { idle, busy, slow, abandoned, leaving, ended };

    std::thread thread;
    State       state = State::busy;
};

struct Run {
    Run(PreparePool::Task to_run, Worker& by) : task(std::move(to_run)), worker(by) {}

    PreparePool::Task task;
    Worker&           worker;
    Clock::time_point started, deadline;
    std::atomic<bool> is_reported{false};  // its end has been or is about to be reported
    Clock::time_point interrupted_at{};

    // For the worker's own thread only.
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
        if (closing_ || n_waiting_ >= options_.n_waiting) return false;
        try {
            start_needed_worker();
        } catch (const std::system_error&) {
            if (n_ordinary_workers() == 0) throw;
        }
        if (n_ordinary_workers() == 0) return false;
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
            if (worker.state == Worker::State::ended)
                ended.push_back(std::move(worker.thread));
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
        Clock::duration   spent{0}, spent_before{0};  // in total, and before the first of the current tasks
        Clock::time_point idle_since{};

        bool is_idle() const { return waiting.empty() && n_running == 0; }
    };

    struct IdleOwner {
        uint32_t          id;
        Clock::time_point since;
    };

    size_t count(Worker::State state) const {
        return static_cast<size_t>(std::count_if(workers_.begin(), workers_.end(),
                                                 [&](const Worker& worker) { return worker.state == state; }));
    }
    size_t n_ordinary_workers() const { return count(Worker::State::idle) + count(Worker::State::busy); }

    // Starts another worker if none is idle. Throws std::system_error if the system has no more threads.
    void start_needed_worker() {
        if (!watch_.joinable()) watch_ = std::thread([self = shared_from_this()] { self->watch(); });
        const bool may_start =
            n_ordinary_workers() < options_.n_workers && count(Worker::State::abandoned) <= kMaxAbandoned;
        if (count(Worker::State::idle) <= n_waiting_ && may_start) start_worker();
    }

    // False if there is no worker and none can be started.
    bool ensure_worker() {
        try {
            start_needed_worker();
        } catch (const std::exception&) {
            // The waiting tasks continue when another worker is free.
        }
        return n_ordinary_workers() > 0;
    }

    void start_worker() {
        for (Worker& worker : workers_) {
            if (worker.state == Worker::State::ended) worker.thread.join();
        }
        workers_.remove_if([](const Worker& worker) { return worker.state == Worker::State::ended; });
        Worker& worker = workers_.emplace_back();
        try {
            worker.thread = std::thread([self = shared_from_this(), &worker] { self->work(worker); });
        } catch (...) {
            workers_.pop_back();
            throw;
        }
    }

    bool all_ended() const { return count(Worker::State::ended) == workers_.size(); }

    void drop_waiting(Owner& owner, std::vector<OnEnd>& ends) {
        n_waiting_ -= owner.waiting.size();
        for (Task& task : owner.waiting) ends.push_back(std::move(task.on_end));
        owner.waiting.clear();
    }

    void drop_all_waiting(std::vector<OnEnd>& ends) {
        for (auto& [id, owner] : owners_) drop_waiting(owner, ends);
        turns_.clear();
    }

    // Makes check() throw. The caller reports the end by calling what is added to `ends`.
    static void interrupt(Run& run, std::vector<OnEnd>& ends) {
        if (run.is_reported.exchange(true)) return;
        run.interrupted_at = Clock::now();
        ends.push_back(std::move(run.task.on_end));
    }

    static void refund_time(Owner& owner) {
        owner.spent        = std::max(owner.spent - (Clock::now() - owner.idle_since), Clock::duration::zero());
        owner.spent_before = owner.spent;
    }

    // Keeps the spent time of an owner without tasks, because a request submits one task after another. The time of
    // ordinary tasks is not counted, so thousands of them do not use up the owner's time.
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
        bool                         is_lowered = false;
        // A thread with lowered priority ends, because its priority cannot be raised again.
        while (worker.state == Worker::State::busy && !is_lowered) {
            worker.state = Worker::State::idle;
            work_available_.wait(lock, [this] { return closing_ || !turns_.empty(); });
            worker.state = Worker::State::busy;
            if (closing_) break;
            const std::shared_ptr<Run> run = take_task(worker);
            lock.unlock();
            perform(*run);
            lock.lock();
            finish_run(run);
            lock.unlock();
            if (!run->is_reported.exchange(true)) run->task.on_end(Ending::done);
            lock.lock();
            is_lowered = run->is_lowered;
        }
        worker.state = Worker::State::leaving;
        if (!closing_ && !turns_.empty()) {
            ensure_worker();
            work_available_.notify_one();
        }
        worker.state = Worker::State::ended;
        worker_ended_.notify_all();
    }

    std::shared_ptr<Run> take_task(Worker& worker) {
        const uint32_t id = turns_.front();
        turns_.pop_front();
        Owner&     owner = owners_[id];
        const auto run   = std::make_shared<Run>(std::move(owner.waiting.front()), worker);
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
            // Whatever called interrupt() reports the end.
        }
        current_run   = nullptr;
        run.task.work = nullptr;  // frees its captures before the end is reported
    }

    // Must precede the report of the run's end: then the owner may submit its next task.
    void finish_run(const std::shared_ptr<Run>& run) {
        runs_.remove(run);
        Owner& owner = owners_[run->task.owner];
        --owner.n_running;
        owner.spent += Clock::now() - run->started;
        if (owner.is_idle()) mark_idle(run->task.owner);
    }

    void wake_watch() {
        watching_until_ = Clock::time_point::min();
        watch_changed_.notify_all();
    }

    // Thread function: marks long tasks, interrupts tasks past their deadline, and abandons the threads of those that
    // do not end.
    void watch() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!closing_) {
            std::vector<OnEnd> ends;
            watching_until_ = Clock::time_point::max();
            for (const auto& run : runs_) {
                const Clock::time_point now = Clock::now();
                if (now >= run->deadline) interrupt(*run, ends);
                if (run->worker.state == Worker::State::abandoned) continue;
                if (may_become_long(*run) && now >= run->started + kLongTask) mark_long(*run);
                const bool was_interrupted = run->interrupted_at != Clock::time_point{};
                if (was_interrupted && now >= run->interrupted_at + kGracePeriod) {
                    abandon(*run, ends);
                    continue;
                }
                const auto next = was_interrupted ? run->interrupted_at + kGracePeriod : run->deadline;
                watching_until_ = std::min(watching_until_, next);
                if (may_become_long(*run)) watching_until_ = std::min(watching_until_, run->started + kLongTask);
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

    bool may_become_long(const Run& run) const {
        return run.worker.state == Worker::State::busy && count(Worker::State::slow) < kMaxLongTasks;
    }

    void mark_long(Run& run) {
        run.worker.state = Worker::State::slow;
        if (!turns_.empty()) ensure_worker();
    }

    void abandon(Run& run, std::vector<OnEnd>& ends) {
        if (options_.on_stuck) options_.on_stuck();
        run.worker.state = Worker::State::abandoned;
        if (!ensure_worker()) drop_all_waiting(ends);
    }

    const Options options_;

    std::mutex                      mutex_;
    std::condition_variable         work_available_, watch_changed_, worker_ended_;
    std::map<uint32_t, Owner>       owners_;
    std::deque<uint32_t>            turns_;  // owners with waiting tasks, round robin
    std::deque<IdleOwner>           idle_;   // oldest first; some may no longer be idle
    std::list<std::shared_ptr<Run>> runs_;
    std::list<Worker>               workers_;
    std::thread                     watch_;
    Clock::time_point               watching_until_ = Clock::time_point::max();
    size_t                          n_waiting_      = 0;  // tasks of all owners
    bool                            closing_        = false;
    std::once_flag                  closed_;
    bool                            ended_in_time_ = false;
};

PreparePool::PreparePool(const Options& options) : state_(std::make_shared<State>(options)) {}

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
