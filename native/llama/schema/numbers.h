// Thread: any.
#pragma once

#include "patterns/automaton.h"

#include <limits>
#include <optional>
#include <vector>

namespace chasqui::schema {

// The numbers that a schema allows.
struct NumberLimits {
    double              least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
    bool                over = false, under = false;  // least and most themselves are excluded
    bool                integer = false;
    std::vector<double> multiples, no_multiples;

    bool has_bounds() const { return least > -limit() || most < limit(); }
    bool is_empty() const { return least > most || (least == most && (over || under)); }
    bool allows(double number) const;
    void raise(double bound, bool exclusive);
    void lower(double bound, bool exclusive);

private:
    static double limit() { return std::numeric_limits<double>::infinity(); }
};

// The decimal text of a bound, nullopt for one of more than 15 digits before or 14 significant digits in all.
std::optional<std::string> decimal_of(double bound);

// A multiple as divisor / 10^decimals; nullopt beyond the limits of `multiples_of`.
std::optional<std::pair<unsigned, unsigned>> fraction_of(double multiple);

// The texts of these numbers without multiples: without an exponent, if there is a bound. Bounds have decimal texts.
RegexPtr numbers(const NumberLimits& limits);

}  // namespace chasqui::schema
