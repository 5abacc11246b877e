#include "regex.h"

#include <algorithm>
#include <utility>

namespace chasqui::schema {

namespace {

RegexPtr made(Regex::Kind kind, std::vector<RegexPtr> parts) {
    auto regex   = std::make_shared<Regex>();
    regex->kind  = kind;
    regex->parts = std::move(parts);
    return regex;
}

}  // namespace

RegexPtr set_of(CodePoints set) {
    auto regex  = std::make_shared<Regex>();
    regex->kind = Regex::Kind::set;
    regex->set  = std::move(set);
    return regex;
}

RegexPtr range(uint32_t first, uint32_t last) { return set_of({first, last}); }

RegexPtr text(const std::string& utf8) {
    std::vector<RegexPtr> parts;
    for (const uint32_t point : code_points_of(utf8)) parts.push_back(range(point, point));
    return sequence(std::move(parts));
}

RegexPtr sequence(std::vector<RegexPtr> parts) {
    return parts.size() == 1 ? parts[0] : made(Regex::Kind::sequence, std::move(parts));
}

RegexPtr choice(std::vector<RegexPtr> parts) {
    return parts.size() == 1 ? parts[0] : made(Regex::Kind::choice, std::move(parts));
}

RegexPtr repeat(RegexPtr part, unsigned min, unsigned max) {
    if (min == 1 && max == 1) return part;
    // (x*)* is x*: no unbounded repetition of an empty text
    if (part->kind == Regex::Kind::repeat && part->min <= 1 && part->max == Regex::kUnbounded && max > 0) {
        return repeat(part->parts[0], part->min * (min > 0 ? 1 : 0), Regex::kUnbounded);
    }
    auto regex   = std::make_shared<Regex>();
    regex->kind  = Regex::Kind::repeat;
    regex->parts = {std::move(part)};
    regex->min   = min;
    regex->max   = max;
    return regex;
}

RegexPtr optional(RegexPtr part) { return repeat(std::move(part), 0, 1); }

namespace {

bool is_plain(const Regex& regex) {
    switch (regex.kind) {
        case Regex::Kind::set: return !regex.set.empty();
        case Regex::Kind::repeat:
            if (regex.max == Regex::kUnbounded && matches_empty(*regex.parts[0])) return false;
            break;
        case Regex::Kind::sequence:
        case Regex::Kind::choice: break;
        default: return false;
    }
    return std::all_of(regex.parts.begin(), regex.parts.end(), [](const RegexPtr& part) { return is_plain(*part); });
}

}  // namespace

RegexPtr whole_match(const RegexPtr& regex) {
    if (regex->kind == Regex::Kind::choice) {
        std::vector<RegexPtr> parts;
        for (const RegexPtr& part : regex->parts) {
            parts.push_back(whole_match(part));
            if (parts.back() == nullptr) return nullptr;
        }
        return choice(std::move(parts));
    }
    const bool is_anchored = regex->kind == Regex::Kind::sequence && regex->parts.size() >= 2 &&
                             regex->parts.front()->kind == Regex::Kind::begin && regex->parts.back()->kind == Regex::Kind::end;
    if (!is_anchored) return nullptr;
    RegexPtr inner = sequence({regex->parts.begin() + 1, regex->parts.end() - 1});
    return is_plain(*inner) ? inner : nullptr;
}

bool matches_empty(const Regex& regex) {
    switch (regex.kind) {
        case Regex::Kind::set: return false;
        case Regex::Kind::repeat: return regex.min == 0 || matches_empty(*regex.parts[0]);
        case Regex::Kind::choice:
            for (const RegexPtr& part : regex.parts) {
                if (matches_empty(*part)) return true;
            }
            return false;
        case Regex::Kind::sequence:
            for (const RegexPtr& part : regex.parts) {
                if (!matches_empty(*part)) return false;
            }
            return true;
        default: return true;
    }
}

}  // namespace chasqui::schema
