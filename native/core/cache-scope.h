// Thread: any; plain data.
#pragma once

#include "adapter-set.h"

#include <string>
#include <utility>

namespace chasqui {

// Cached prefixes are only reused within one scope. KV cells depend on the adapters; the salt keeps the prompts of
// clients apart that must not learn from cache hits what others have sent.
struct CacheScope {
    AdapterSet  adapters;
    std::string salt;

    CacheScope(AdapterSet uses = {}, std::string cache_salt = {})
        : adapters(std::move(uses)), salt(std::move(cache_salt)) {}

    bool operator==(const CacheScope& other) const { return adapters == other.adapters && salt == other.salt; }
    bool operator<(const CacheScope& other) const {
        return adapters != other.adapters ? adapters < other.adapters : salt < other.salt;
    }
};

}  // namespace chasqui
