#include "../native/check.h"
#include "on-cpu.h"

#include <llama-mmap.h>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

bool kernel_has_huge_pages() { return std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled"); }

// What /proc/self/smaps says of the mapping where this address is, behind the name of a field.
std::string field_of_mapping(const void* data, const std::string& field) {
    const auto    address = reinterpret_cast<uintptr_t>(data);
    std::ifstream lines("/proc/self/smaps");
    bool          is_here = false;
    for (std::string line; std::getline(lines, line);) {
        uintptr_t          first = 0, last = 0;
        char               dash = 0;
        std::istringstream range(line);
        if (range >> std::hex >> first >> dash >> last && dash == '-') is_here = first <= address && address < last;
        if (is_here && line.rfind(field, 0) == 0) return line.substr(field.size());
    }
    return "";
}

// Whether the kernel was asked for huge pages there: flag "hg".
bool asks_for_huge_pages(const void* data) {
    return (field_of_mapping(data, "VmFlags:") + " ").find(" hg ") != std::string::npos;
}

// How much of a file is mapped there by huge pages, in bytes.
size_t in_huge_pages(const void* data) {
    return size_t{1024} * std::strtoul(field_of_mapping(data, "FilePmdMapped:").c_str(), nullptr, 10);
}

#ifdef __linux__
// Flushes the file and drops it from the page cache.
void forget(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}
#endif

bool begins_a_huge_page(const void* data) { return reinterpret_cast<uintptr_t>(data) % kHugePage == 0; }

const Test large_buffers("ggml: large memory begins a huge page and asks for them", [] {
    if (!kernel_has_huge_pages()) return;
    const Owned<ggml_backend_buffer_t> large(ggml_backend_alloc_buffer(cpu(), 4 * kHugePage));
    const Owned<ggml_backend_buffer_t> small(ggml_backend_alloc_buffer(cpu(), kHugePage));
    expect(begins_a_huge_page(ggml_backend_buffer_get_base(large.get())), "a large buffer begins a huge page");
    expect(asks_for_huge_pages(ggml_backend_buffer_get_base(large.get())), "a large buffer asks for huge pages");
    expect(!asks_for_huge_pages(ggml_backend_buffer_get_base(small.get())), "a small one does not");
});

const Test mapped_files("llama.cpp: the file of a model is mapped by huge pages, and as it is", [] {
    if (!kernel_has_huge_pages()) return;
    const std::string    path = std::filesystem::temp_directory_path() / "chasqui-huge-pages-test";
    std::vector<char>    bytes(4 * kHugePage + 12345);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    {
        llama_file       file(path.c_str(), "rb");
        const llama_mmap mapped(&file), on_several_nodes(&file, size_t{0}, true);
        for (const llama_mmap* map : {&mapped, &on_several_nodes}) {
            const auto* const data = static_cast<const char*>(map->addr());
            expect(std::vector<char>(data, data + map->size()) == bytes, "a mapped file is the file");
        }
        expect(begins_a_huge_page(mapped.addr()), "a mapped file begins a huge page");
        expect(asks_for_huge_pages(mapped.addr()), "a mapped file asks for huge pages");
#ifndef __SANITIZE_ADDRESS__  // which has memory of its own there
        expect(!asks_for_huge_pages(static_cast<const char*>(mapped.addr()) + 5 * kHugePage),
               "nothing behind it is kept");
#endif
    }
    std::filesystem::remove(path);
});

#ifdef __linux__
// Only where the file system has huge pages for files at all.
const Test read_files("llama.cpp: the file of a model whose head has been read is in huge pages as well", [] {
    const std::string       path = std::filesystem::temp_directory_path() / "chasqui-huge-pages-head-test";
    const std::vector<char> bytes(32 * kHugePage, 'x');
    const auto              write = [&] {
        std::filesystem::remove(path);
        std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        forget(path);
    };
    write();
    size_t possible = 0, reached = 0;
    {
        llama_file       file(path.c_str(), "rb");
        const llama_mmap mapped(&file);
        possible = in_huge_pages(mapped.addr());
    }
    write();
    {
        std::vector<char> head(3 * kHugePage / 2);
        std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
        llama_file       file(path.c_str(), "rb");
        const llama_mmap mapped(&file);
        reached = in_huge_pages(mapped.addr());
    }
    std::filesystem::remove(path);
    // read-ahead after the header is at most twice `read_ahead_kb`, which is usually at most 8 MiB
    expect(reached + 10 * kHugePage >= possible,
           "about " + std::to_string(possible >> 20) + " MiB in huge pages, not " + std::to_string(reached >> 20));
});
#endif

}  // namespace
