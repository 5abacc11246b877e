#include "report.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace chasqui::sim {

namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, value < 0.9995 ? "%.2g" : value < 99.95 ? "%.3g" : "%.0f", value);
    return text;
}

// Median, p90, p99 and maximum, in seconds.
std::string distribution(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto part = [&](double fraction) {
        const auto index = static_cast<size_t>(fraction * static_cast<double>(values.size()));
        return number(values[std::min(index, values.size() - 1)] / 1000);
    };
    return part(0.5) + " / " + part(0.9) + " / " + part(0.99) + " / " + part(1);
}

std::vector<double> column(const std::vector<Observation>& requests, double Observation::* field) {
    std::vector<double> values;
    for (const Observation& each : requests) values.push_back(each.*field);
    return values;
}

size_t sum(const std::vector<Observation>& requests, size_t Observation::* field) {
    size_t total = 0;
    for (const Observation& each : requests) total += each.*field;
    return total;
}

std::string ratio(size_t part, size_t whole, double times) {
    return number(whole == 0 ? 0 : times * static_cast<double>(part) / static_cast<double>(whole));
}

void print_observations(std::ostream& out, const std::vector<Observation>& requests, double virtual_ms) {
    const double seconds = virtual_ms / 1000;
    out << " | " << distribution(column(requests, &Observation::waiting)) << " | "
        << distribution(column(requests, &Observation::first_token)) << " | "
        << distribution(column(requests, &Observation::longest_gap)) << " | "
        << number(static_cast<double>(sum(requests, &Observation::n_answer)) / seconds) << " | "
        << ratio(sum(requests, &Observation::n_cached), sum(requests, &Observation::n_prompt), 100);
}

void print_kind(std::ostream& out, const std::vector<Setting>& settings, const Result& result, Shape kind) {
    std::vector<Observation> requests;
    for (const Observation& each : result.requests) {
        if (each.kind == kind) requests.push_back(each);
    }
    out << "| – " << kShapeNames[static_cast<size_t>(kind)];
    for (size_t i = 1; i < settings.size(); ++i) out << " |";
    print_observations(out, requests, result.virtual_ms);
    out << " | | | | | |\n";
}

}  // namespace

void print_head(std::ostream& out, const std::vector<Setting>& settings) {
    std::string head = "|", rule = "|";
    const auto  add  = [&](const std::string& name) {
        head += ' ' + name + " |";
        rule += " --- |";
    };
    for (const auto& [name, value] : settings) add(name);
    for (const char* name : {"waiting, s", "first token, s", "longest gap, s", "tokens/s", "cached, %", "preempted",
                             "passes per step", "gaps between slots per step", "scheduler, µs per step",
                             "slowest plan, µs"}) {
        add(name);
    }
    out << head << '\n' << rule << std::endl;
}

void print_lines(std::ostream& out, const std::vector<Setting>& settings, const Result& result) {
    out << '|';
    for (size_t i = 0; i < settings.size(); ++i) out << (i == 0 ? " " : " | ") << settings[i].second;
    print_observations(out, result.requests, result.virtual_ms);
    out << " | " << result.n_preempted << " | " << ratio(result.n_passes, result.n_steps, 1) << " | "
        << ratio(result.n_extra_runs, result.n_steps, 1) << " | "
        << number(result.scheduler_us / static_cast<double>(result.n_steps)) << " | "
        << number(result.slowest_plan_us) << " |" << std::endl;
    std::set<Shape> kinds;
    for (const Observation& each : result.requests) kinds.insert(each.kind);
    if (kinds.size() < 2) return;
    for (const Shape kind : kinds) print_kind(out, settings, result, kind);
}

}  // namespace chasqui::sim
