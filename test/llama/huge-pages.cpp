#include "../native/check.h"
#include "on-cpu.h"

#include <llama-mmap.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace chasqui::test;

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

bool kernel_has_huge_pages() { return std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled"); }

// Whether the kernel was asked for huge pages where this address is: flag "hg" of its mapping.
bool asks_for_huge_pages(const void* data) {
    const auto    address = reinterpret_cast<uintptr_t>(data);
    std::ifstream lines("/proc/self/smaps");
    bool          is_here = false;
    for (std::string line; std::getline(lines, line);) {
        uintptr_t          first = 0, last = 0;
        char               dash = 0;
        std::istringstream range(line);
        if (range >> std::hex >> first >> dash >> last && dash == '-') is_here = first <= address && address < last;
        if (is_here && line.rfind("VmFlags:", 0) == 0) return (line + " ").find(" hg ") != std::string::npos;
    }
    return false;
}

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

}  // namespace
