// Thread: JS, except wake().
#pragma once

#include "../engine.h"

#include <napi.h>

#include <memory>
#include <unordered_set>

namespace chasqui {

// Passes an engine's events to JavaScript, with one call of `on_events(records, count, text, extras)` for all events
// since the last call.
//
//   records  Int32Array with 4 numbers per record: job id, token id, length of its text in UTF-16 units, flags
//   (event.h) text     all texts, concatenated extras   for each record in order: log-probabilities, finish and
//   failure, if its flags announce them
//
// Keeps the process alive only while jobs are running.
class EventPump {
public:
    EventPump(Napi::Env env, Napi::Function on_events, std::shared_ptr<Engine> engine);
    ~EventPump();

    // Engine thread: schedules a call of `on_events`.
    void wake();
    void job_started(Napi::Env env, uint32_t job_id);
    void job_ended(Napi::Env env, uint32_t job_id);
    // Prevents any further call of `on_events`.
    void stop();

private:
    static void call_js(Napi::Env env, Napi::Function on_events, EventPump* pump, std::nullptr_t* data);
    using Function = Napi::TypedThreadSafeFunction<EventPump, std::nullptr_t, call_js>;

    void drain(Napi::Env env, Napi::Function on_events);
    void write_records(Napi::Env env, const EventBatch& batch);

    std::shared_ptr<Engine>                 engine_;
    Function                                function_;
    Napi::Reference<Napi::Int32Array>       records_;  // reused: JavaScript reads it before the call returns
    std::unordered_set<uint32_t>            live_jobs_;
    bool                                    stopped_ = false;
};

}  // namespace chasqui
