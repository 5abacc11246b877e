// Thread: any.
#pragma once

namespace chasqui {

// States of a sequence. The order matters: is_over() holds after `decoding`.
//
//   queued ──▶ prefilling ──▶ decoding ──▶ stopped | length_reached
//      └───────────┴─────────────┴───────▶ cancelled | failed
enum class SequenceStatus {
    queued,
    prefilling,
    decoding,
    stopped,
    length_reached,
    cancelled,
    failed,
};

inline bool is_over(SequenceStatus status) { return status > SequenceStatus::decoding; }

// OpenAI's finish reason; nullptr for any other status.
inline const char* finish_reason(SequenceStatus status) {
    switch (status) {
        case SequenceStatus::stopped: return "stop";
        case SequenceStatus::length_reached: return "length";
        default: return nullptr;
    }
}

}  // namespace chasqui
