// The formats that are enforced. Some allow a subset of the valid strings.
#include "patterns/regex.h"

#include <map>

namespace chasqui::schema {

namespace {

const std::string kYear     = "[0-9]{4}";
const std::string kLeapYear = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const std::string kDate     = "(?:" + kYear + "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" + kLeapYear + "-02-29)";
const std::string kTime     = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
const std::string kLabel    = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,60}[A-Za-z0-9])?";
const std::string kAtom     = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}";
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
