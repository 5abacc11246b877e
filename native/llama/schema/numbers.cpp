#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace chasqui::schema {

namespace {

constexpr size_t   kDigits       = 15;  // all numbers of 15 digits differ as doubles
constexpr unsigned kMaxDivisor   = 2000;
constexpr unsigned kMaxDecimals  = 9;

// Not negative.
struct Decimal {
    std::string whole    = "0";
    std::string fraction = {};  // its last digit is not 0
    bool        excluded = false;
};

RegexPtr digit(char from, char to) { return range(static_cast<uint32_t>(from), static_cast<uint32_t>(to)); }
RegexPtr digits(size_t min, size_t max) { return repeat(digit('0', '9'), static_cast<unsigned>(min), static_cast<unsigned>(max)); }
RegexPtr zeros(size_t max) { return repeat(digit('0', '0'), 0, static_cast<unsigned>(max)); }

Decimal parse(const std::string& magnitude, bool excluded) {
    const size_t point = magnitude.find('.');
    if (point == std::string::npos) return {magnitude, "", excluded};
    return {magnitude.substr(0, point), magnitude.substr(point + 1), excluded};
}

// Numbers of as many digits as `least` and `most` have.
RegexPtr same_length(const std::string& least, const std::string& most) {
    if (least == std::string(least.size(), '0') && most == std::string(most.size(), '9')) return digits(least.size(), least.size());
    const std::string least_rest = least.substr(1), most_rest = most.substr(1);
    if (least[0] == most[0]) {
        return least_rest.empty() ? digit(least[0], least[0])
                                  : sequence({digit(least[0], least[0]), same_length(least_rest, most_rest)});
    }
    if (least_rest.empty()) return digit(least[0], most[0]);
    const size_t          n    = least_rest.size();
    std::vector<RegexPtr> ways = {
        sequence({digit(least[0], least[0]), same_length(least_rest, std::string(n, '9'))})};
    if (least[0] + 1 < most[0]) {
        ways.push_back(sequence({digit(static_cast<char>(least[0] + 1), static_cast<char>(most[0] - 1)), digits(n, n)}));
    }
    ways.push_back(sequence({digit(most[0], most[0]), same_length(std::string(n, '0'), most_rest)}));
    return choice(std::move(ways));
}

// Whole numbers from `least` to `most`; `most` may have up to 15 digits.
RegexPtr wholes(const std::string& least, const std::string& most) {
    std::vector<RegexPtr> ways;
    for (size_t n = least.size(); n <= most.size(); ++n) {
        const std::string from = n == least.size() ? least : "1" + std::string(n - 1, '0');
        const std::string to   = n == most.size() ? most : std::string(n, '9');
        // The lengths that are not bounded on either side are one.
        if (n > least.size() && to == std::string(n, '9') && most == std::string(most.size(), '9')) {
            ways.push_back(sequence({digit('1', '9'), digits(n - 1, most.size() - 1)}));
            break;
        }
        ways.push_back(same_length(from, to));
    }
    return choice(std::move(ways));
}

std::string successor(std::string whole) {
    size_t i = whole.size();
    while (i > 0 && whole[i - 1] == '9') whole[--i] = '0';
    if (i == 0) return "1" + whole;
    ++whole[i - 1];
    return whole;
}

std::string predecessor(std::string whole) {
    size_t i = whole.size();
    while (i > 0 && whole[i - 1] == '0') whole[--i] = '9';
    if (i == 0) return "";  // of zero
    --whole[i - 1];
    return whole.size() > 1 && whole[0] == '0' ? whole.substr(1) : whole;
}

bool is_less(const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

// The digits that may follow the decimal point, at most `room`.

RegexPtr digits_from(const std::string& least, bool over, size_t room) {
    if (least.empty()) {
        if (!over) return digits(0, room);
        return sequence({zeros(room - 1), digit('1', '9'), digits(0, room - 1)});
    }
    RegexPtr same = sequence({digit(least[0], least[0]), digits_from(least.substr(1), over, room - 1)});
    if (least[0] == '9') return same;
    return choice({sequence({digit(static_cast<char>(least[0] + 1), '9'), digits(0, room - 1)}), same});
}

RegexPtr rest_up_to(const std::string& most, bool under, size_t room);

RegexPtr digits_up_to(const std::string& most, bool under, size_t room) {
    std::vector<RegexPtr> ways;
    if (most[0] > '0') ways.push_back(sequence({digit('0', static_cast<char>(most[0] - 1)), digits(0, room - 1)}));
    if (most.size() > 1 || !under) {
        ways.push_back(sequence({digit(most[0], most[0]), rest_up_to(most.substr(1), under, room - 1)}));
    }
    return choice(std::move(ways));
}

// After digits that `most` has as well; `most` are those that follow there.
RegexPtr rest_up_to(const std::string& most, bool under, size_t room) {
    return most.empty() ? zeros(room) : optional(digits_up_to(most, under, room));
}

RegexPtr digits_between(const std::string& least, bool over, const std::string& most, bool under, size_t room) {
    if (least.empty() && !over) return rest_up_to(most, under, room);
    const char        from       = least.empty() ? '0' : least[0];
    const std::string least_rest = least.empty() ? "" : least.substr(1), most_rest = most.substr(1);
    const char        to         = most[0];
    if (from == to) return sequence({digit(from, from), digits_between(least_rest, over, most_rest, under, room - 1)});
    std::vector<RegexPtr> ways = {sequence({digit(from, from), digits_from(least_rest, over, room - 1)})};
    if (from + 1 < to) {
        ways.push_back(sequence({digit(static_cast<char>(from + 1), static_cast<char>(to - 1)), digits(0, room - 1)}));
    }
    if (!most_rest.empty() || !under) {
        ways.push_back(sequence({digit(to, to), rest_up_to(most_rest, under, room - 1)}));
    }
    return choice(std::move(ways));
}

RegexPtr with_point(RegexPtr fraction) { return sequence({digit('.', '.'), std::move(fraction)}); }

// Numbers that are not negative.
RegexPtr magnitudes(const Decimal& least, const Decimal& most) {
    // A double has 15 digits. Numbers near a bound must not have more, or rounding could move them across.
    const bool   is_bounded   = most.whole.size() < kDigits;
    const size_t whole_digits = is_bounded ? std::max(least.whole.size(), most.whole.size()) : least.whole.size();
    const size_t room         = std::max({whole_digits < kDigits ? kDigits - whole_digits : size_t{1},
                                          least.fraction.size() + 1, most.fraction.size() + 1});
    const auto   up_to_most   = [&] {
        RegexPtr fraction = most.fraction.empty() ? repeat(digit('0', '0'), 1, static_cast<unsigned>(room))
                                                  : digits_up_to(most.fraction, most.excluded, room);
        return sequence({text(most.whole), optional(with_point(std::move(fraction)))});
    };
    const bool any_above = least.fraction.empty() && !least.excluded;
    if (least.whole == most.whole) {
        if (any_above) return up_to_most();
        return sequence({text(least.whole), with_point(digits_between(least.fraction, least.excluded, most.fraction, most.excluded, room))});
    }
    const RegexPtr        any_fraction = optional(with_point(digits(1, room)));
    std::vector<RegexPtr> ways;
    ways.push_back(sequence({text(least.whole), any_above ? any_fraction : with_point(digits_from(least.fraction, least.excluded, room))}));
    const std::string first = successor(least.whole), last = predecessor(most.whole);
    if (!is_less(last, first)) ways.push_back(sequence({wholes(first, last), any_fraction}));
    if (!most.fraction.empty() || !most.excluded) ways.push_back(up_to_most());
    return choice(std::move(ways));
}

RegexPtr minus(RegexPtr magnitude) { return sequence({digit('-', '-'), std::move(magnitude)}); }

std::string whole_of(double integer) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%.0f", std::abs(integer));
    return buffer;
}

RegexPtr integers(const NumberLimits& limits) {
    constexpr double kMaxNumber = 999'999'999'999'999;
    const double     least = limits.least < -kMaxNumber ? -kMaxNumber : std::ceil(limits.least);
    const double     most  = limits.most > kMaxNumber ? kMaxNumber : std::floor(limits.most);
    std::vector<RegexPtr> ways;
    if (least < 0) ways.push_back(minus(wholes(most < 0 ? whole_of(most) : "1", whole_of(least))));
    if (most >= 0) ways.push_back(wholes(least > 0 ? whole_of(least) : "0", whole_of(most)));
    return choice(std::move(ways));
}

}  // namespace

bool NumberLimits::allows(double number) const {
    const bool within = (over ? number > least : number >= least) && (under ? number < most : number <= most);
    const auto divides = [&](double multiple) {
        const double times = number / multiple;
        return std::abs(times - std::round(times)) < 1e-9;
    };
    return within && (!integer || number == std::floor(number)) && std::all_of(multiples.begin(), multiples.end(), divides) &&
           std::none_of(no_multiples.begin(), no_multiples.end(), divides);
}

void NumberLimits::raise(double bound, bool exclusive) {
    if (bound < least) return;
    over  = exclusive || (bound == least && over);
    least = bound;
}

void NumberLimits::lower(double bound, bool exclusive) {
    if (bound > most) return;
    under = exclusive || (bound == most && under);
    most  = bound;
}

std::optional<std::string> decimal_of(double bound) {
    constexpr int    kMaxFraction    = 24;
    constexpr size_t kMaxSignificant = 14;
    if (!(std::abs(bound) < 1e15)) return std::nullopt;
    char buffer[64];
    for (int n = 0; n <= kMaxFraction; ++n) {
        std::snprintf(buffer, sizeof(buffer), "%.*f", n, bound == 0 ? 0.0 : bound);
        if (std::strtod(buffer, nullptr) != bound) continue;
        std::string significant = buffer;
        if (n == 0) return significant;
        significant.erase(std::remove_if(significant.begin(), significant.end(), [](char c) { return c == '.' || c == '-'; }),
                          significant.end());
        const size_t first = significant.find_first_not_of('0');
        if (significant.size() - first > kMaxSignificant) return std::nullopt;
        return buffer;
    }
    return std::nullopt;
}

std::optional<std::pair<unsigned, unsigned>> fraction_of(double multiple) {
    double scaled = multiple;
    for (unsigned decimals = 0; decimals <= kMaxDecimals; ++decimals, scaled = multiple * std::pow(10, decimals)) {
        const double rounded = std::round(scaled);
        if (rounded < 1 || std::abs(scaled - rounded) > 1e-9 * rounded) continue;
        if (rounded * (decimals + 2) > kMaxDivisor * 2) return std::nullopt;
        return std::make_pair(static_cast<unsigned>(rounded), decimals);
    }
    return std::nullopt;
}

RegexPtr numbers(const NumberLimits& limits) {
    if (limits.integer) {
        NumberLimits inner = limits;
        if (inner.over && inner.least == std::floor(inner.least)) inner.least += 1;
        if (inner.under && inner.most == std::floor(inner.most)) inner.most -= 1;
        if (inner.has_bounds()) return integers(inner);
        return sequence({optional(digit('-', '-')), choice({digit('0', '0'), sequence({digit('1', '9'), digits(0, kDigits)})})});
    }
    const Decimal unbounded = {std::string(kDigits, '9'), "", false};
    const auto    bound     = [&](double number, bool excluded) {
        return parse(decimal_of(std::abs(number)).value(), excluded);
    };
    const bool            has_least = std::isfinite(limits.least), has_most = std::isfinite(limits.most);
    std::vector<RegexPtr> ways;
    if (!has_least || limits.least < 0) {
        const Decimal nearest = has_most && limits.most <= 0 ? bound(limits.most, limits.under) : Decimal{};
        ways.push_back(minus(magnitudes(nearest, has_least ? bound(limits.least, limits.over) : unbounded)));
    }
    if (!has_most || limits.most > 0 || (limits.most == 0 && !limits.under)) {
        const Decimal nearest = has_least && limits.least >= 0 ? bound(limits.least, limits.over) : Decimal{};
        ways.push_back(magnitudes(nearest, has_most ? bound(limits.most, limits.under) : unbounded));
    }
    return choice(std::move(ways));
}

}  // namespace chasqui::schema
