#include "event-pump.h"

#include "call-values.h"

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

constexpr size_t kFieldsPerRecord = 4;
constexpr size_t kFirstCapacity   = 256;  // records

Napi::Object to_js(Napi::Env env, const Finish& finish) {
    Napi::Object timings = Napi::Object::New(env);
    timings.Set("queuedMs", finish.timings.queued_ms);
    timings.Set("promptMs", finish.timings.prompt_ms);
    timings.Set("predictedMs", finish.timings.predicted_ms);

    Napi::Object result = Napi::Object::New(env);
    result.Set("reason", finish_reason(finish.status));
    result.Set("stopString", finish.stop_string.empty() ? env.Null() : Napi::String::New(env, finish.stop_string));
    result.Set("promptTokens", finish.prompt_tokens);
    result.Set("cachedTokens", finish.cached_tokens);
    result.Set("completionTokens", finish.completion_tokens);
    result.Set("draftedTokens", finish.drafted_tokens);
    result.Set("acceptedTokens", finish.accepted_tokens);
    result.Set("timings", timings);
    return result;
}

Napi::Object to_js(Napi::Env env, const TokenLogprob& token) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("id", token.id);
    result.Set("bytes", Napi::Buffer<char>::Copy(env, token.bytes.data(), token.bytes.size()));
    result.Set("logprob", token.logprob);
    return result;
}

Napi::Object to_js(Napi::Env env, const Logprobs& logprobs) {
    Napi::Object result = to_js(env, logprobs.chosen);
    result.Set("top", array_to_js(env, logprobs.top, [&](const TokenLogprob& each) { return to_js(env, each); }));
    return result;
}

Napi::Object to_js(Napi::Env env, const Failure& failure) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("code", to_string(failure.code));
    result.Set("message", failure.message);
    if (failure.image) result.Set("imageIndex", Napi::Number::New(env, static_cast<double>(*failure.image)));
    return result;
}

Napi::Array extras_to_js(Napi::Env env, const EventBatch& batch) {
    Napi::Array extras  = Napi::Array::New(env);
    size_t      finish  = 0, logprobs = 0, failure = 0;
    uint32_t    written = 0;
    for (const EventBatch::Record& record : batch.records) {
        if (record.flags & EventBatch::has_logprobs) extras.Set(written++, to_js(env, batch.logprobs[logprobs++]));
        if (record.flags & EventBatch::has_finish) extras.Set(written++, to_js(env, batch.finishes[finish++]));
        if (record.flags & EventBatch::has_failure) extras.Set(written++, to_js(env, batch.failures[failure++]));
    }
    return extras;
}

}  // namespace

EventPump::EventPump(Napi::Env env, Napi::Function on_events, std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), function_(Function::New(env, on_events, "chasqui.events", 0, 1, this)) {
    function_.Unref(env);
    engine_->set_on_events([this] { wake(); });
}

EventPump::~EventPump() { stop(); }

void EventPump::wake() { function_.NonBlockingCall(); }

void EventPump::job_started(Napi::Env env, uint32_t job_id) {
    if (stopped_) return;
    if (live_jobs_.empty()) function_.Ref(env);
    live_jobs_.insert(job_id);
}

void EventPump::job_ended(Napi::Env env, uint32_t job_id) {
    if (live_jobs_.erase(job_id) != 0 && live_jobs_.empty() && !stopped_) function_.Unref(env);
}

void EventPump::stop() {
    if (stopped_) return;
    stopped_ = true;
    engine_->set_on_events({});
    // Drops the queued calls, because they might run after `this` is destroyed.
    function_.Abort();
}

void EventPump::call_js(Napi::Env env, Napi::Function on_events, EventPump* pump, std::nullptr_t*) {
    // env is null while the process exits; an aborted function still drains its queue.
    if (env == nullptr || on_events.IsEmpty() || pump->stopped_) return;
    pump->drain(env, on_events);
}

void EventPump::drain(Napi::Env env, Napi::Function on_events) {
    const EventBatch batch = engine_->take_events();
    if (batch.empty()) return;
    write_records(env, batch);
    const uint32_t ends = EventBatch::has_finish | EventBatch::has_failure;
    for (const EventBatch::Record& record : batch.records) {
        if (record.flags & ends) job_ended(env, record.job_id);
    }
    on_events.Call({records_.Value(), Napi::Number::New(env, static_cast<double>(batch.records.size())),
                    Napi::String::New(env, batch.text), extras_to_js(env, batch)});
}

void EventPump::write_records(Napi::Env env, const EventBatch& batch) {
    static_assert(sizeof(EventBatch::Record) == kFieldsPerRecord * sizeof(int32_t), "a record is four integers");
    const size_t n_fields = batch.records.size() * kFieldsPerRecord;
    if (records_.IsEmpty() || records_.Value().ElementLength() < n_fields) {
        const size_t capacity = std::max(2 * n_fields, kFirstCapacity * kFieldsPerRecord);
        records_ = Napi::Reference<Napi::Int32Array>::New(Napi::Int32Array::New(env, capacity), 1);
    }
    const auto* fields = reinterpret_cast<const int32_t*>(batch.records.data());
    std::copy(fields, fields + n_fields, records_.Value().Data());
}

}  // namespace chasqui
