#include "pattern.h"

#include <algorithm>
#include <map>
#include <set>

namespace chasqui {

namespace {

// Characters for the two ends of the text.
constexpr uint32_t kBegin = Automaton::kLastCharacter + 1, kEnd = kBegin + 1;
constexpr size_t   kMaxParts = 20000;  // of the expression, after its repetitions are written out
constexpr int      kMaxDepth = 256;

using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

Ranges sorted(Ranges ranges) {
    std::sort(ranges.begin(), ranges.end());
    Ranges merged;
    for (const auto& range : ranges) {
        if (!merged.empty() && range.first <= merged.back().second + 1) {
            merged.back().second = std::max(merged.back().second, range.second);
        } else {
            merged.push_back(range);
        }
    }
    return merged;
}

Ranges inverse(const Ranges& ranges) {
    Ranges   rest;
    uint32_t next = 1;
    for (const auto& [low, high] : sorted(ranges)) {
        if (next < low) rest.emplace_back(next, low - 1);
        next = std::max(next, high + 1);
    }
    if (next <= Automaton::kLastCharacter) rest.emplace_back(next, Automaton::kLastCharacter);
    return rest;
}

const Ranges kDigits = {{'0', '9'}};
const Ranges kWord   = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpace  = {{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a},
                        {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
const Ranges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

// A nondeterministic automaton.
struct Part {
    Ranges              ranges;  // empty: only jumps
    size_t              to = 0;
    std::vector<size_t> jumps;
};

struct Piece {
    size_t begin, end;
};

class Reader {
public:
    explicit Reader(const std::string& pattern) : text_(to_characters(pattern)) {}

    std::vector<Part> parts;

    Piece read() {
        const Piece all = read_choice();
        if (at_ != text_.size()) fail();
        return all;
    }

    Piece of_set(Ranges ranges) {
        const Piece piece{add(), add()};
        parts[piece.begin].ranges = sorted(std::move(ranges));
        parts[piece.begin].to     = piece.end;
        return piece;
    }

    Piece chain(Piece a, Piece b) {
        parts[a.end].jumps.push_back(b.begin);
        return {a.begin, b.end};
    }

    Piece repeated(Piece piece) {
        const Piece all{add(), add()};
        parts[all.begin].jumps = {piece.begin, all.end};
        parts[piece.end].jumps.push_back(piece.begin);
        parts[piece.end].jumps.push_back(all.end);
        return all;
    }

private:
    [[noreturn]] static void fail(const char* what = "it is not a valid regular expression") { throw AutomatonLimit(what); }

    size_t add() {
        if (parts.size() >= kMaxParts) fail("it is too large");
        parts.emplace_back();
        return parts.size() - 1;
    }

    bool next_is(uint32_t c, size_t ahead = 0) const { return at_ + ahead < text_.size() && text_[at_ + ahead] == c; }

    bool take(uint32_t c) {
        if (!next_is(c)) return false;
        ++at_;
        return true;
    }

    Piece nothing() {
        const size_t only = add();
        return {only, only};
    }

    Piece read_choice() {
        if (++depth_ > kMaxDepth) fail("it is nested too deeply");
        std::vector<Piece> choices = {read_sequence()};
        while (take('|')) choices.push_back(read_sequence());
        --depth_;
        if (choices.size() == 1) return choices[0];
        const Piece all{add(), add()};
        for (const Piece& choice : choices) {
            parts[all.begin].jumps.push_back(choice.begin);
            parts[choice.end].jumps.push_back(all.end);
        }
        return all;
    }

    Piece read_sequence() {
        Piece all = nothing();
        while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') all = chain(all, read_repeated());
        return all;
    }

    // Repetitions are written out, so the item is read once for each.
    Piece read_repeated() {
        const size_t begin = at_;
        Piece        item  = read_item();
        const size_t end   = at_;
        int          min = 1, max = 1;
        if (!read_count(min, max)) return item;
        const size_t after = at_;
        Piece        all   = nothing();
        const auto   again = [&] {
            at_ = begin;
            const Piece copy = read_item();
            if (at_ != end) fail();
            return copy;
        };
        for (int i = 0; i < min; ++i) all = chain(all, i == 0 ? item : again());
        if (max < 0) {
            all = chain(all, repeated(min == 0 ? item : again()));
        } else if (max > min) {
            const size_t last = add();
            for (int i = min; i < max; ++i) {
                parts[all.end].jumps.push_back(last);
                all = chain(all, i == 0 ? item : again());
            }
            parts[all.end].jumps.push_back(last);
            all.end = last;
        }
        at_ = after;
        return all;
    }

    bool read_count(int& min, int& max) {
        if (take('*')) {
            min = 0, max = -1;
        } else if (take('+')) {
            min = 1, max = -1;
        } else if (take('?')) {
            min = 0, max = 1;
        } else if (take('{')) {
            min = max = read_number();
            if (take(',')) max = next_is('}') ? -1 : read_number();
            if (!take('}') || (max >= 0 && max < min)) fail();
        } else {
            return false;
        }
        take('?');  // lazy: the same texts
        if (next_is('*') || next_is('+') || next_is('?') || next_is('{')) fail();
        return true;
    }

    int read_number() {
        const size_t begin = at_;
        int          value = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
            value = value * 10 + static_cast<int>(text_[at_++] - '0');
            if (value > 2000) fail("it repeats a part more than 2,000 times");
        }
        if (begin == at_) fail();
        return value;
    }

    Piece read_item() {
        const uint32_t c = text_[at_++];
        switch (c) {
            case '^': return of_set({{kBegin, kBegin}});
            case '$': return of_set({{kEnd, kEnd}});
            case '.': return of_set(inverse(kLineEnds));
            case '[': return of_set(read_class());
            case '(': {
                if (take('?') && !take(':')) {
                    // A name: (?<name>...); everything else looks around.
                    if (!take('<') || next_is('=') || next_is('!')) fail("it looks ahead or behind");
                    while (at_ < text_.size() && !next_is('>')) ++at_;
                    if (!take('>')) fail();
                }
                const Piece group = read_choice();
                if (!take(')')) fail();
                return group;
            }
            case '\\': return of_set(read_escape(false));
            case '*':
            case '+':
            case '?':
            case '{':
            case '}':
            case ']': fail();
            default: return of_set({{c, c}});
        }
    }

    Ranges read_class() {
        const bool is_inverse = take('^');
        Ranges     all;
        while (!next_is(']')) {
            Ranges low = read_member();
            if (next_is('-') && !next_is(']', 1)) {
                ++at_;
                const Ranges high = read_member();
                const bool   fits = low.size() == 1 && high.size() == 1 && low[0].first == low[0].second &&
                                  high[0].first == high[0].second && low[0].first <= high[0].first;
                if (!fits) fail();
                low[0].second = high[0].first;
            }
            all.insert(all.end(), low.begin(), low.end());
        }
        ++at_;
        return is_inverse ? inverse(all) : all;
    }

    Ranges read_member() {
        if (at_ >= text_.size()) fail();
        const uint32_t c = text_[at_++];
        return c == '\\' ? read_escape(true) : Ranges{{c, c}};
    }

    Ranges read_escape(bool in_class) {
        if (at_ >= text_.size()) fail();
        const uint32_t c = text_[at_++];
        switch (c) {
            case 'd': return kDigits;
            case 'D': return inverse(kDigits);
            case 'w': return kWord;
            case 'W': return inverse(kWord);
            case 's': return kSpace;
            case 'S': return inverse(kSpace);
            case 'n': return {{'\n', '\n'}};
            case 'r': return {{'\r', '\r'}};
            case 't': return {{'\t', '\t'}};
            case 'v': return {{'\v', '\v'}};
            case 'f': return {{'\f', '\f'}};
            case 'x': return read_hex(2);
            case 'u': {
                if (!take('{')) return read_hex(4);
                size_t n = 0;
                while (!next_is('}', n)) {
                    if (++n > 6) fail();
                }
                const Ranges character = read_hex(n);
                ++at_;
                return character;
            }
            case 'b':
                if (in_class) return {{'\b', '\b'}};
                fail("it uses a word boundary");
            default:
                if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
                    fail("it uses an escape that is not supported");
                }
                return {{c, c}};
        }
    }

    Ranges read_hex(size_t n) {
        uint32_t value = 0;
        for (size_t i = 0; i < n; ++i) {
            if (at_ >= text_.size()) fail();
            const uint32_t c     = text_[at_++];
            const uint32_t digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                   : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
            if (digit == 16) fail();
            value = value * 16 + digit;
        }
        return {{value, value}};
    }

    std::vector<uint32_t> text_;
    size_t                at_    = 0;
    int                   depth_ = 0;
};

using Set = std::set<size_t>;

Set closure(const std::vector<Part>& parts, Set set) {
    std::vector<size_t> open(set.begin(), set.end());
    while (!open.empty()) {
        const size_t at = open.back();
        open.pop_back();
        for (const size_t to : parts[at].jumps) {
            if (set.insert(to).second) open.push_back(to);
        }
    }
    return set;
}

Automaton determinised(const std::vector<Part>& parts, Piece all) {
    Automaton             result;
    std::map<Set, size_t> numbers;
    std::vector<Set>      sets;
    const auto            number_of = [&](Set set) {
        const auto [found, is_new] = numbers.emplace(std::move(set), sets.size());
        if (is_new) sets.push_back(found->first);
        if (sets.size() > Automaton::kMaxStates) throw AutomatonLimit("it needs too many states");
        return found->second;
    };
    number_of(closure(parts, {all.begin}));
    for (size_t i = 0; i < sets.size(); ++i) {
        std::set<uint32_t> cuts;
        for (const size_t part : sets[i]) {
            for (const auto& [low, high] : parts[part].ranges) cuts.insert({low, high + 1});
        }
        const Set        from = sets[i];
        Automaton::State state;
        state.accepts = from.count(all.end) > 0;
        for (auto cut = cuts.begin(); cut != cuts.end() && std::next(cut) != cuts.end(); ++cut) {
            Set to;
            for (const size_t part : from) {
                for (const auto& [low, high] : parts[part].ranges) {
                    if (low <= *cut && *cut <= high) to.insert(parts[part].to);
                }
            }
            if (to.empty()) continue;
            state.edges.push_back({*cut, *std::next(cut) - 1, number_of(closure(parts, std::move(to)))});
        }
        result.states.push_back(std::move(state));
    }
    return result;
}

}  // namespace

Automaton texts_matching(const std::string& pattern) {
    Reader      reader(pattern);
    const Piece found  = reader.read();
    const auto  around = [&] { return reader.repeated(reader.of_set({{1, kEnd}})); };
    const Piece before = around();
    const Piece all    = reader.chain(reader.chain(before, found), around());
    // The automaton reads the begin, the text and the end.
    Automaton ends = determinised(reader.parts, all);
    const auto step = [&](size_t state, uint32_t c) {
        for (const Automaton::Edge& edge : ends.states[state].edges) {
            if (edge.low <= c && c <= edge.high) return edge.to;
        }
        return ends.states.size();
    };
    Automaton texts;
    texts.states.resize(ends.states.size() + 1);
    const size_t first = step(0, kBegin);
    if (first == ends.states.size()) return Automaton::none();
    for (size_t i = 0; i < ends.states.size(); ++i) {
        const size_t last             = step(i, kEnd);
        texts.states[i + 1].accepts = last < ends.states.size() && ends.states[last].accepts;
        for (Automaton::Edge edge : ends.states[i].edges) {
            edge.high = std::min(edge.high, Automaton::kLastCharacter);
            if (edge.low <= edge.high) texts.states[i + 1].edges.push_back({edge.low, edge.high, edge.to + 1});
        }
    }
    texts.states[0] = texts.states[first + 1];
    texts.trim();
    return texts.both(Automaton::any());
}

}  // namespace chasqui
