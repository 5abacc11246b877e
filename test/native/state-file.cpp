#include "disk-caching.h"

#include "core/checksum.h"
#include "core/state-file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#ifndef _WIN32
#include <sys/resource.h>
#include <sys/stat.h>
#include <csignal>
#endif

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test sums("checksum: is XXH64", [] {
    expect_equal(checksum("", 0), 0xEF46DB3751D8E999ULL);
    expect_equal(checksum("abc", 3), 0x44BC2CF5AD770999ULL);
    const std::string text = "xxhash is fast, and this text is longer than one block of 32 bytes";
    expect(checksum(text.data(), text.size()) != checksum(text.data(), text.size(), 1), "another seed, another sum");
    for (size_t at = 0; at < text.size(); ++at) {
        std::string other = text;
        other[at]         = static_cast<char>(other[at] ^ 1);
        expect(checksum(text.data(), text.size()) != checksum(other.data(), other.size()), "a bit that counts");
    }
});

const Test whole_files("state-file: gives back what was written, and nothing of a file with any bit or length changed", [] {
    const Folder      folder;
    const fs::path    path = folder.path / "a.state";
    const StateOrigin origin{"model", "adapters", {1, 2, 3}};
    write_state_file(path, origin, *state_of("the state"));
    const auto read = read_state_file(path, 100);
    expect(read.has_value() && read->origin == origin && text_of(read->state) == "the state", "the same");
    expect(read_state_origin(path) == origin, "the same origin");
    expect(!read_state_file(path, 8).has_value(), "a state that is too large is not read");
    expect(folder.files().size() == 1, "no other file is left");

    std::ifstream     in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const auto        refuses = [&](const std::string& changed) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
        return !read_state_file(path, 1 << 20).has_value();
    };
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        std::string changed = bytes;
        changed[bit / 8]    = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        expect(refuses(changed), "damage of bit " + std::to_string(bit));
    }
    for (size_t size = 0; size < bytes.size(); ++size) expect(refuses(bytes.substr(0, size)), "a shorter file");
    expect(refuses(bytes + "x"), "a longer file");
    expect(refuses(std::string(1000, '\0')) && refuses(std::string(1000, '\xff')), "another file");
    expect(!refuses(bytes), "the file itself");
    expect(!read_state_file(folder.path / "none", 100).has_value() && !read_state_file(folder.path, 100).has_value(),
           "no file, and a folder");
});

const Test images("state-file: tokens of images, which mean something in one process only, make a file unreadable", [] {
    const Folder   folder;
    const fs::path path = folder.path / "a.state";
    write_state_file(path, {"model", "", {1, -2, 3}}, *state_of("the state"));
    expect(!read_state_origin(path) && !read_state_file(path, 100), "a negative token");
});

const Test given_up("state-file: nothing is left of a file that is given up, and nothing is given of one that is not read whole", [] {
    const Folder      folder;
    const fs::path    path = folder.path / "a.state";
    const StateOrigin origin{"model", "", {1, 2, 3}};
    const auto        state = state_of(std::string(20 << 20, 'x'));
    int               n_pieces = 0;
    expect(!write_state_file(path, origin, *state, [&] { return ++n_pieces < 4; }), "given up");
    expect(n_pieces == 4 && folder.files().empty(), "nothing is left");
    expect(write_state_file(path, origin, *state), "written");
    n_pieces = 0;
    expect(!read_state_file(path, 1 << 30, [&] { return ++n_pieces < 4; }) && n_pieces == 4, "not read");
});

#ifndef _WIN32
const Test private_files("state-file: nobody but its owner may read it", [] {
    const Folder   folder;
    const fs::path path = folder.path / "a.state";
    write_state_file(path, {"model", "", {1, 2, 3}}, *state_of("the state"));
    expect(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write), "0600");
});

const Test no_files("state-file: pipes, links and folders are not read, and no reader waits for them", [] {
    const Folder   folder;
    const fs::path whole = folder.path / "whole.state";
    write_state_file(whole, {"model", "", {1, 2, 3}}, *state_of("the state"));
    fs::create_symlink(whole, folder.path / "link.state");
    fs::create_directory(folder.path / "folder.state");
    expect(mkfifo((folder.path / "pipe.state").c_str(), 0600) == 0, "a pipe");
    for (const char* name : {"link.state", "folder.state", "pipe.state"}) {
        expect(!read_state_origin(folder.path / name) && !read_state_file(folder.path / name, 100), name);
    }
});

// Files that grow beyond the limit cannot be written, as on a full disk.
class FileLimit {
public:
    explicit FileLimit(rlim_t n_bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{n_bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

const Test full("state-file: nothing is left where the disk is full in the middle, and it is said why", [] {
    const Folder   folder;
    const fs::path path = folder.path / "a.state";
    const FileLimit limit(5 << 20);
    bool            has_failed = false;
    try {
        write_state_file(path, {"model", "", {1, 2, 3}}, *state_of(std::string(20 << 20, 'x')));
    } catch (const std::exception& error) {
        has_failed = std::string(error.what()).find("too large") != std::string::npos;
    }
    expect(has_failed && folder.files().empty(), "a failure that leaves nothing");
});

const Test full_cache("disk-cache: where the disk is full, a conversation that was longer stays as it was", [] {
    const Folder folder;
    Cache        cache(folder, "m", 1 << 30, Truncation::anywhere, 1 << 30);
    cache.save(kLong, "one");
    {
        const FileLimit limit(5 << 20);
        cache.save(joined(kLong, {1}), std::string(20 << 20, 'x'));
    }
    expect_equal(folder.files().size(), size_t{1});
    expect(text_of(*cache.fetch(joined(kLong, {1, 2})).state) == "one", "the shorter one");
    // The cache pauses writing after a failure.
    cache.save(counting(5000, 300), "two");
    expect_equal(folder.files().size(), size_t{1});
});
#endif

}  // namespace
