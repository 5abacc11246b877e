// A ggml module with a slow asynchronous device, like a GPU behind a queue: it computes on the CPU, and a graph counts as
// complete a few milliseconds after its submission. The host can do other work during that time. The device records when
// each graph was submitted and completed.
//
//   SLOW_DEVICE_MS        duration of a graph; default 5
//   SLOW_DEVICE_CPU       path of the CPU module
//   SLOW_DEVICE_TIMELINE  output file: one line per graph with the submission and completion times in microseconds
//   SLOW_DEVICE_FAULT     file with a message of CUDA: while it exists, graphs fail as those of ggml-cuda do
//   SLOW_DEVICE_MISSING   the same for the search for devices
#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml-impl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

struct Device {
    Clock::duration   takes;
    std::FILE*        timeline = nullptr;
    Clock::time_point done;  // completion time of the last graph
};

struct Stream {
    ggml_backend_t cpu;
};

Device& device() {
    static Device the = [] {
        const char*  milliseconds = std::getenv("SLOW_DEVICE_MS");
        const double given        = milliseconds == nullptr ? 5.0 : std::atof(milliseconds);
        Device       made;
        made.takes = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(given));
        if (const char* file = std::getenv("SLOW_DEVICE_TIMELINE")) made.timeline = std::fopen(file, "a");
        return made;
    }();
    return the;
}

long long microseconds(Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

// Empty: none.
std::string fault(const char* variable) {
    std::string message;
    if (const char* file = std::getenv(variable)) std::getline(std::ifstream(file), message);
    return message;
}

// As ggml_cuda_error().
void check() {
    const std::string message = fault("SLOW_DEVICE_FAULT");
    if (message.empty()) return;
    GGML_LOG_ERROR("CUDA error: %s\n", message.c_str());
    GGML_ABORT("CUDA error");
}

ggml_backend_buffer_type_t memory();
ggml_backend_dev_t         the_device();

// The CPU module is not loaded yet while modules are being probed.
ggml_backend_dev_t cpu_device() {
    ggml_backend_dev_t found = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    const char*        file  = std::getenv("SLOW_DEVICE_CPU");
    if (found != nullptr || file == nullptr) return found;
    ggml_backend_load(file);
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

// Device memory is main memory that the host must not access.

const char* memory_name(ggml_backend_buffer_type_t) { return "Slow"; }

ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, size_t size) {
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
    if (buffer != nullptr) buffer->buft = type;
    return buffer;
}

size_t alignment(ggml_backend_buffer_type_t) { return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type()); }

// Streams

const char* stream_name(ggml_backend_t) { return "Slow"; }

void free_stream(ggml_backend_t backend) {
    auto* stream = static_cast<Stream*>(backend->context);
    ggml_backend_free(stream->cpu);
    delete stream;
    delete backend;
}

void set_tensor(ggml_backend_t, ggml_tensor* tensor, const void* data, size_t offset, size_t size) {
    std::memcpy(static_cast<char*>(tensor->data) + offset, data, size);
}

void get_tensor(ggml_backend_t, const ggml_tensor* tensor, void* data, size_t offset, size_t size) {
    std::memcpy(data, static_cast<const char*>(tensor->data) + offset, size);
}

void synchronize(ggml_backend_t) { std::this_thread::sleep_until(device().done); }

ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
    check();
    Device&           slow  = device();
    const auto        given = Clock::now();
    const ggml_status status =
        ggml_backend_graph_compute(static_cast<Stream*>(backend->context)->cpu, graph);
    const auto begins = std::max(Clock::now(), slow.done);
    slow.done         = begins + slow.takes;
    if (slow.timeline != nullptr) {
        std::fprintf(slow.timeline, "%lld %lld\n", microseconds(given), microseconds(slow.done));
        std::fflush(slow.timeline);
    }
    return status;
}

ggml_guid* guid() {
    static ggml_guid the = {0x73, 0x6c, 0x6f, 0x77, 0x2d, 0x64, 0x65, 0x76, 0x69, 0x63, 0x65, 0x2d, 0x30, 0x30, 0x30, 0x31};
    return &the;
}

// The device

const char* device_name(ggml_backend_dev_t) { return "Slow0"; }
const char* description(ggml_backend_dev_t) { return "the CPU, some milliseconds later"; }

void memory_size(ggml_backend_dev_t, size_t* free, size_t* total) { *free = *total = size_t{8} << 30; }

enum ggml_backend_dev_type type_of(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; }

void properties(ggml_backend_dev_t dev, ggml_backend_dev_props* props) {
    *props             = {};
    props->name        = device_name(dev);
    props->description = description(dev);
    props->type        = type_of(dev);
    props->caps.async  = true;
    memory_size(dev, &props->memory_free, &props->memory_total);
}

ggml_backend_t open(ggml_backend_dev_t dev, const char*) {
    ggml_backend_i calls   = {};
    calls.get_name         = stream_name;
    calls.free             = free_stream;
    calls.set_tensor_async = set_tensor;
    calls.get_tensor_async = get_tensor;
    calls.synchronize      = synchronize;
    calls.graph_compute    = compute;
    return new ggml_backend{guid(), calls, dev, new Stream{ggml_backend_dev_init(cpu_device(), nullptr)}};
}

ggml_backend_buffer_type_t memory_of(ggml_backend_dev_t) { return memory(); }

bool can_compute(ggml_backend_dev_t, const ggml_tensor* op) { return ggml_backend_dev_supports_op(cpu_device(), op); }

bool can_use(ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == memory(); }

// The module

const char*        module_name(ggml_backend_reg_t) { return "Slow"; }
// As ggml_cuda_init().
size_t device_count(ggml_backend_reg_t) {
    const std::string message = fault("SLOW_DEVICE_MISSING");
    if (message.empty()) return 1;
    GGML_LOG_ERROR("ggml_cuda_init: failed to initialize CUDA: %s\n", message.c_str());
    return 0;
}

ggml_backend_dev_t device_at(ggml_backend_reg_t, size_t) { return the_device(); }
void*              function_of(ggml_backend_reg_t, const char*) { return nullptr; }

ggml_backend_reg_t the_module() {
    static ggml_backend_reg the = {GGML_BACKEND_API_VERSION, {module_name, device_count, device_at, function_of}, nullptr};
    return &the;
}

ggml_backend_dev_t the_device() {
    static ggml_backend_device the = [] {
        ggml_backend_device_i calls = {};
        calls.get_name              = device_name;
        calls.get_description       = description;
        calls.get_memory            = memory_size;
        calls.get_type              = type_of;
        calls.get_props             = properties;
        calls.init_backend          = open;
        calls.get_buffer_type       = memory_of;
        calls.supports_op           = can_compute;
        calls.supports_buft         = can_use;
        return ggml_backend_device{calls, the_module(), nullptr};
    }();
    return &the;
}

ggml_backend_buffer_type_t memory() {
    static ggml_backend_buffer_type the = [] {
        ggml_backend_buffer_type_i calls = {};
        calls.get_name                   = memory_name;
        calls.alloc_buffer               = allocate;
        calls.get_alignment              = alignment;
        return ggml_backend_buffer_type{calls, the_device(), nullptr};
    }();
    return &the;
}

}  // namespace

GGML_BACKEND_DL_IMPL(the_module)
