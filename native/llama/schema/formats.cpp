// The formats that are enforced. Some allow a subset of the valid strings.
#include "patterns/regex.h"

#include <map>

namespace chasqui::schema {

namespace {

const std::string kYear     = "[0-9]{4}";
const std::string kLeapYear = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const std::string kDate     = "(?:" + kYear + "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" + kLeapYear + "-02-29)";
const std::string kTime     = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
const std::string kAlnum    = "[A-Za-z0-9]", kInLabel = "[A-Za-z0-9-]";
const std::string kLabel    = kAlnum + "(?:" + kInLabel + "{0,60}" + kAlnum + ")?";
const std::string kAtoms    = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-";
const std::string kAtom     = "[" + kAtoms + "]{1,20}";
const std::string kHex      = "[0-9a-fA-F]";
const std::string kOctet    = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const std::string kPart     = "[0-9]{1,9}";

std::string address_v6() {
    const std::string part = kHex + "{1,4}";
    std::string       ways = "(?:" + part + ":){7}" + part + "|::(?:" + part + "(?::" + part + "){0,6})?";
    for (int before = 1; before <= 7; ++before) {
        ways += "|" + part;
        if (before > 1) ways += "(?::" + part + "){" + std::to_string(before - 1) + "}";
        ways += "::";
        if (before == 7) continue;
        ways += "(?:" + part + "(?::" + part + "){0," + std::to_string(6 - before) + "})?";
    }
    return ways;
}

std::string duration() {
    const std::string date = "(?:" + kPart + "(?:Y(?:" + kPart + "M(?:" + kPart + "D)?)?|M(?:" + kPart + "D)?|D))";
    const std::string time = "(?:T" + kPart + "(?:H(?:" + kPart + "M(?:" + kPart + "S)?)?|M(?:" + kPart + "S)?|S))";
    return "P(?:" + date + time + "?|" + time + "|" + kPart + "W)";
}

// RFC 3987 and 6531, without blanks and marks of direction.
const std::string kWide =
    "\\u00A1-\\u167F\\u1681-\\u1FFF\\u2030-\\u205E\\u2070-\\u2FFF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFEFE\\uFF00-\\uFFEF"
    "\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}";
const std::string kWideAtom = "[" + kWide + kAtoms + "]{1,20}";
const std::string kPointer = "(?:/(?:[^~/]|~[01])*)*";
const std::string kPercent = "%" + kHex + "{2}";

// No hyphens in the third and fourth place: punycode follows them, and may be invalid.
const std::string kUncoded = kAlnum + "(?:" + kInLabel + "{0,2}" + kAlnum + ")?|" + kAlnum + kInLabel + "(?:" + kAlnum + kInLabel + "|-" + kAlnum + ")" +
                             kInLabel + "{0,57}" + kAlnum;

// Labels of letters that IDNA 2008 always allows. Their encoding has at most 63 characters. Labels from right to left stand
// beside no digits.
const std::string kIdnLetter =
    "[a-z0-9\\u00DF-\\u00F6\\u00F8-\\u00FF\\u03B1-\\u03C9\\u0430-\\u044F\\u0904-\\u0939\\u0E01-\\u0E30\\u3041-\\u3096\\u30A1-\\u30FA"
    "\\u4E00-\\u9FA5\\uAC00-\\uD7A3]";
const std::string kIdnLabel = "(?:" + kIdnLetter + "(?:-?" + kIdnLetter + "){0,8}|" + kUncoded + ")";
const std::string kRtlLabel = "[\\u05D0-\\u05EA\\u0621-\\u063A\\u0641-\\u064A]{1,12}";

std::string idn_hostname(const std::string& least) {
    return "(?:" + kIdnLabel + "(?:\\." + kIdnLabel + "){" + least + ",3}|" + kRtlLabel + "(?:\\." + kRtlLabel + "){" + least +
           ",2}(?:\\.[a-z]{2,10})?)";
}

// RFC 3986. With `wide`, the characters that RFC 3987 adds.
std::string uri(const std::string& wide, bool is_reference) {
    const auto any_of = [&](const std::string& more) {
        return "(?:[A-Za-z0-9._~!$&'()*+,;=" + more + wide + "-]|" + kPercent + ")";
    };
    const std::string segment = any_of(":@"), segments = "(?:/" + segment + "*)*";
    const std::string host = "(?:" + any_of("") + "*|\\[(?:" + address_v6() + ")\\])";
    const std::string from_root = "//(?:" + any_of(":") + "*@)?" + host + "(?::[0-9]{0,5})?" + segments + "|/(?:" + segment + "+" + segments + ")?";
    const std::string tail     = "(?:\\?" + any_of(":@/?") + "*)?(?:#" + any_of(":@/?") + "*)?";
    const std::string absolute = "[A-Za-z][A-Za-z0-9+.-]{0,30}:(?:" + from_root + "|" + segment + "+" + segments + ")" + tail;
    return is_reference ? absolute + "|(?:" + from_root + "|" + any_of("@") + "+" + segments + ")?" + tail : absolute;
}

// RFC 6570.
std::string uri_template() {
    const std::string name = "(?:[A-Za-z0-9_]|" + kPercent + ")+", names = name + "(?:\\." + name + ")*(?::[1-9][0-9]{0,3}|\\*)?";
    return "(?:[!#$&(-;=?-\\[\\]_a-z~" + kWide + "]|" + kPercent + "|\\{[+#./;?&]?" + names + "(?:," + names + ")*\\})*";
}

// `first-last` for all characters from one to another.
std::string spans(char from, char to) {
    std::string ways;
    for (char each = from; each <= to; ++each) ways += std::string("|") + each + "-[" + each + "-" + to + "]";
    return ways;
}

// ECMA-262 with the flag `u`: groups to a depth, without names, references and look-around.
std::string regex(unsigned depth) {
    const std::string escape = "\\\\(?:[\\^$.*+?()\\[\\]{}|/\\\\dDwWsStnrfv]|u(?:[0-9A-Ca-cEFef]" + kHex + "|[dD][0-7])" + kHex + "{2})";
    const std::string members = "(?:[^\\\\\\]^\\x00-\\x1F-]|" + escape + "|\\\\-" + spans('0', '9') + spans('A', 'Z') + spans('a', 'z') + ")";
    std::string counts = "[0-9]{1,3}(?:,)?|0,[0-9]{1,3}|[0-9],[1-9][0-9]{1,2}|[0-9]{1,2},[1-9][0-9]{2}";
    for (char each = '1'; each <= '9'; ++each) counts += std::string("|") + each + ",[" + each + "-9]";
    std::string body;
    for (unsigned level = 0; level <= depth; ++level) {
        const std::string group = level == 0 ? "" : "|\\((?:\\?:)?" + body + "\\)";
        const std::string atom  = "(?:[^\\\\^$.*+?()\\[\\]{}|\\x00-\\x1F]|\\.|" + escape + "|\\[\\^?" + members + "+-?\\]" + group + ")";
        body = "(?:" + atom + "(?:(?:[*+?]|\\{(?:" + counts + ")\\})[?]?)?|[\\^$|]|\\\\[bB])*";
    }
    return body;
}

}  // namespace

RegexPtr format_of(const std::string& name) {
    static const std::map<std::string, RegexPtr> formats = [] {
        std::map<std::string, std::string> patterns = {
            {"date", kDate},
            {"time", kTime},
            {"date-time", kDate + "T" + kTime},
            {"duration", duration()},
            {"email", kAtom + "(?:\\." + kAtom + "){0,2}@" + kLabel + "(?:\\." + kLabel + "){1,3}"},
            {"hostname", kLabel + "(?:\\." + kLabel + "){0,3}"},
            {"ipv4", kOctet + "(?:\\." + kOctet + "){3}"},
            {"ipv6", address_v6()},
            {"idn-email", kWideAtom + "(?:\\." + kWideAtom + "){0,2}@" + idn_hostname("1")},
            {"idn-hostname", idn_hostname("0")},
            {"uri", uri("", false)},
            {"uri-reference", uri("", true)},
            {"iri", uri(kWide, false)},
            {"iri-reference", uri(kWide, true)},
            {"uri-template", uri_template()},
            {"json-pointer", kPointer},
            {"relative-json-pointer", "(?:0|[1-9][0-9]{0,8})(?:#|" + kPointer + ")"},
            {"regex", regex(3)},
        };
        for (const char* uuid : {"uuid", "uuid1", "uuid2", "uuid3", "uuid4", "uuid5"}) {
            patterns[uuid] = kHex + "{8}-" + kHex + "{4}-" + kHex + "{4}-" + kHex + "{4}-" + kHex + "{12}";
        }
        std::map<std::string, RegexPtr> parsed;
        for (const auto& [format, pattern] : patterns) parsed[format] = parse_pattern("^(?:" + pattern + ")$");
        return parsed;
    }();
    const auto found = formats.find(name);
    return found == formats.end() ? nullptr : found->second;
}

}  // namespace chasqui::schema
