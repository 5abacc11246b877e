// Runs the engine's scheduler and prefix cache under synthetic traffic in simulated time: scheduler-sim --help
#include "report.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

using namespace chasqui;
using namespace chasqui::sim;

namespace {

constexpr const char* kHelp = R"(Usage: scheduler-sim [--option value[,value ...]] ...

Each option takes one value or several; every combination becomes a line of the table.

  --machine         cpu-0.5b or gpu-7b: what computing costs
  --shape           chat, documents, agents, bursts, mixed
  --load            arrivals, as a fraction of what the machine could do if it wasted nothing
  --slots           sequences that run at a time
  --target-step-ms  how long a step may take while anyone decodes
  --n-batch         tokens in one step, at most
  --cache-ram-mib   memory for what is evicted from the slots
  --cache           on, or off: no request starts from what others have computed
  --high-priority   the fraction of conversations with priority 1
  --requests        in each run
  --seed            of the traffic
  --set             changes a machine: name=value, with names step-ms, 1k-decode-ms, 1k-prompt-ms, 1k-moved-ms,
                    bytes-per-token, ubatch, reference-rows or pass-ms (=1:30,8:92,...); repeatable
)";

using Values = std::vector<std::string>;

std::vector<std::pair<std::string, Values>> defaults() {
    return {{"machine", {"cpu-0.5b"}},
            {"shape", {"chat", "documents", "agents", "bursts", "mixed"}},
            {"load", {"0.5"}},
            {"slots", {"8"}},
            {"target-step-ms", {"100"}},
            {"n-batch", {"2048"}},
            {"cache-ram-mib", {"1024"}},
            {"cache", {"on"}},
            {"high-priority", {"0"}},
            {"requests", {"10000"}},
            {"seed", {"1"}}};
}

struct Arguments {
    std::vector<std::pair<std::string, Values>>      options = defaults();
    std::vector<std::pair<std::string, std::string>> machine_settings;
};

Values split(const std::string& text) {
    Values             values;
    std::istringstream stream(text);
    for (std::string each; std::getline(stream, each, ',');) values.push_back(each);
    return values;
}

Arguments parse(const Values& words) {
    Arguments arguments;
    for (size_t i = 0; i < words.size(); i += 2) {
        if (words[i].rfind("--", 0) != 0 || i + 1 == words.size()) {
            throw std::invalid_argument("options come as --name value; " + words[i] + " does not");
        }
        const std::string name = words[i].substr(2);
        if (name == "set") {
            const size_t equals = words[i + 1].find('=');
            if (equals == std::string::npos) throw std::invalid_argument("--set needs name=value");
            arguments.machine_settings.emplace_back(words[i + 1].substr(0, equals), words[i + 1].substr(equals + 1));
            continue;
        }
        const auto option = std::find_if(arguments.options.begin(), arguments.options.end(),
                                         [&](const auto& each) { return each.first == name; });
        if (option == arguments.options.end()) throw std::invalid_argument("there is no option --" + name);
        option->second = split(words[i + 1]);
    }
    return arguments;
}

Shape shape_named(const std::string& name) {
    const auto found = std::find(kShapeNames.begin(), kShapeNames.end(), name);
    if (found == kShapeNames.end()) throw std::invalid_argument("there is no shape " + name);
    return static_cast<Shape>(found - kShapeNames.begin());
}

Result run(std::map<std::string, std::string> chosen, const Arguments& arguments) {
    CostModel cost = cost_model(chosen["machine"]);
    for (const auto& [name, value] : arguments.machine_settings) cost.set(name, value);

    TrafficOptions traffic;
    traffic.shape         = shape_named(chosen["shape"]);
    traffic.load          = std::stod(chosen["load"]);
    traffic.n_requests    = std::stoul(chosen["requests"]);
    traffic.high_priority = std::stod(chosen["high-priority"]);
    traffic.seed          = static_cast<uint32_t>(std::stoul(chosen["seed"]));

    SchedulerOptions options;
    options.n_batch                  = std::stoul(chosen["n-batch"]);
    options.target_step_ms           = std::stod(chosen["target-step-ms"]);
    options.cache.n_slots            = std::stoul(chosen["slots"]);
    options.cache.bytes_per_token    = cost.bytes_per_token;
    options.cache.max_snapshot_bytes = std::stoul(chosen["cache-ram-mib"]) << 20;
    return simulate(make_traffic(traffic, cost), options, cost, chosen["cache"] == "on");
}

// Runs every combination of values; the last option varies fastest. Columns: the shape, and options with several values.
void run_all(const Arguments& arguments) {
    size_t n_runs = 1;
    for (const auto& [name, values] : arguments.options) n_runs *= values.size();
    for (size_t i = 0; i < n_runs; ++i) {
        std::map<std::string, std::string> chosen;
        std::vector<Setting>               shown;
        size_t                             rest = n_runs, at = i;
        for (const auto& [name, values] : arguments.options) {
            rest /= values.size();
            chosen[name] = values[at / rest];
            at %= rest;
            if (values.size() > 1 || name == "shape") shown.emplace_back(name, chosen[name]);
        }
        if (i == 0) print_head(std::cout, shown);
        print_lines(std::cout, shown, run(chosen, arguments));
    }
}

}  // namespace

int main(int count, char** words) {
    const Values given(words + 1, words + count);
    if (std::find(given.begin(), given.end(), "--help") != given.end()) {
        std::cout << kHelp;
        return 0;
    }
    try {
        run_all(parse(given));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "scheduler-sim: " << error.what() << '\n';
        return 2;
    }
}
