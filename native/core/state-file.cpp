#include "state-file.h"

#include "checksum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>

namespace chasqui {

namespace {

constexpr std::array<char, 8> kMagic = {'c', 'h', 'q', 's', 't', 'a', 't', '1'};
// Maximum size of a serialised origin: more tokens than any context has.
constexpr uint64_t kMaxOriginBytes = uint64_t{256} << 20;
// Bytes per read or write.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

struct Head {
    std::array<char, 8> magic = kMagic;
    uint64_t            origin_bytes = 0, origin_checksum = 0, state_bytes = 0, state_checksum = 0;
    uint64_t            own_checksum = 0;  // of the fields above

    uint64_t computed() const { return checksum(this, offsetof(Head, own_checksum)); }
};
static_assert(sizeof(Head) == 48, "the head has no gaps");
static_assert(sizeof(Head) + 3 * sizeof(uint64_t) == kStateFileOverhead, "each text has its size before it");

void append(std::string& bytes, const void* data, size_t n_bytes) {
    const uint64_t size = n_bytes;
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes.append(static_cast<const char*>(data), n_bytes);
}

std::string to_bytes(const StateOrigin& origin) {
    std::string bytes;
    append(bytes, origin.model.data(), origin.model.size());
    append(bytes, origin.scope.data(), origin.scope.size());
    append(bytes, origin.tokens.data(), origin.tokens.size() * sizeof(TokenId));
    return bytes;
}

// Reads size-prefixed parts; false if the bytes do not have that structure in spite of a correct checksum.
class Parts {
public:
    explicit Parts(const std::string& bytes) : bytes_(bytes) {}

    bool take(std::string& part) {
        uint64_t size = 0;
        if (bytes_.size() - at_ < sizeof size) return false;
        std::memcpy(&size, bytes_.data() + at_, sizeof size);
        at_ += sizeof size;
        if (bytes_.size() - at_ < size) return false;
        part.assign(bytes_, at_, size);
        at_ += size;
        return true;
    }

private:
    const std::string& bytes_;
    size_t             at_ = 0;
};

bool from_bytes(const std::string& bytes, StateOrigin& origin) {
    Parts       parts(bytes);
    std::string tokens;
    if (!parts.take(origin.model) || !parts.take(origin.scope) || !parts.take(tokens)) return false;
    if (tokens.empty() || tokens.size() % sizeof(TokenId) != 0) return false;
    origin.tokens.resize(tokens.size() / sizeof(TokenId));
    std::memcpy(origin.tokens.data(), tokens.data(), tokens.size());
    // Tokens of images are only valid within one process.
    return std::none_of(origin.tokens.begin(), origin.tokens.end(), [](TokenId token) { return token < 0; });
}

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, Close>;

// `mode` as for std::fopen. Unbuffered, because the pieces are large.
OpenFile open(const std::filesystem::path& path, const char* mode) {
#ifdef _WIN32
    OpenFile file(_wfopen(path.c_str(), std::wstring(mode, mode + std::strlen(mode)).c_str()));
#else
    OpenFile file(std::fopen(path.c_str(), mode));
#endif
    if (file) std::setvbuf(file.get(), nullptr, _IONBF, 0);
    return file;
}

// Reading a pipe would block for ever.
OpenFile open_to_read(const std::filesystem::path& path) {
    return std::filesystem::is_regular_file(std::filesystem::symlink_status(path)) ? open(path, "rb") : nullptr;
}

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
    throw std::system_error(error, std::generic_category(), path.string());
}

bool read_bytes(std::FILE* file, void* into, uint64_t n_bytes, const ShouldContinue& should_continue) {
    auto* at = static_cast<char*>(into);
    for (uint64_t left = n_bytes; left > 0;) {
        const size_t n_piece = std::min(left, kPieceBytes);
        if (!should_continue() || std::fread(at, 1, n_piece, file) != n_piece) return false;
        at += n_piece;
        left -= n_piece;
    }
    return true;
}

// False if `should_continue` returned false.
bool write_bytes(std::FILE* file, const std::filesystem::path& path, const void* data, uint64_t n_bytes,
                 const ShouldContinue& should_continue) {
    const auto* at = static_cast<const char*>(data);
    for (uint64_t left = n_bytes; left > 0;) {
        const size_t n_piece = std::min(left, kPieceBytes);
        if (!should_continue()) return false;
        if (std::fwrite(at, 1, n_piece, file) != n_piece) fail(path, errno);
        at += n_piece;
        left -= n_piece;
    }
    return true;
}

// Reads everything before the state.
bool read_front(std::FILE* file, uint64_t file_bytes, Head& head, StateOrigin& origin) {
    const ShouldContinue always = [] { return true; };
    if (!read_bytes(file, &head, sizeof head, always)) return false;
    if (head.magic != kMagic || head.own_checksum != head.computed()) return false;
    if (head.origin_bytes > kMaxOriginBytes || head.origin_bytes > file_bytes) return false;
    if (file_bytes - head.origin_bytes != sizeof head + head.state_bytes) return false;
    std::string bytes(head.origin_bytes, '\0');
    if (!read_bytes(file, bytes.data(), bytes.size(), always)) return false;
    return checksum(bytes.data(), bytes.size()) == head.origin_checksum && from_bytes(bytes, origin);
}

bool write_all(const std::filesystem::path& path, const StateOrigin& origin, const SnapshotBuffer& state,
               const ShouldContinue& should_continue) {
    const std::string bytes = to_bytes(origin);
    Head              head;
    head.origin_bytes    = bytes.size();
    head.origin_checksum = checksum(bytes.data(), bytes.size());
    head.state_bytes     = state.size();
    head.state_checksum  = checksum(state.data(), state.size());
    head.own_checksum    = head.computed();
    OpenFile file = open(path, "wbx");
    if (!file) fail(path, errno);
    using std::filesystem::perms;
    std::filesystem::permissions(path, perms::owner_read | perms::owner_write, std::filesystem::perm_options::replace);
    const bool is_whole = write_bytes(file.get(), path, &head, sizeof head, should_continue) &&
                          write_bytes(file.get(), path, bytes.data(), bytes.size(), should_continue) &&
                          write_bytes(file.get(), path, state.data(), state.size(), should_continue);
    if (std::fclose(file.release()) != 0) fail(path, errno);
    return is_whole;
}

// The name of an unfinished file. Other processes may write a file of the same name; the clock distinguishes them.
std::filesystem::path unfinished_name(const std::filesystem::path& path) {
    static std::atomic<uint64_t> last{static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())};
    return path.string() + "." + std::to_string(++last) + ".part";
}

}  // namespace

bool write_state_file(const std::filesystem::path& path, const StateOrigin& origin, const SnapshotBuffer& state,
                      const ShouldContinue& should_continue) {
    const std::filesystem::path unfinished = unfinished_name(path);
    std::error_code             ignored;
    try {
        if (write_all(unfinished, origin, state, should_continue)) {
            std::filesystem::rename(unfinished, path);
            return true;
        }
    } catch (...) {
        std::filesystem::remove(unfinished, ignored);
        throw;
    }
    std::filesystem::remove(unfinished, ignored);
    return false;
}

std::optional<StateOrigin> read_state_origin(const std::filesystem::path& path) {
    try {
        const OpenFile file = open_to_read(path);
        Head           head;
        StateOrigin    origin;
        if (!file || !read_front(file.get(), std::filesystem::file_size(path), head, origin)) return std::nullopt;
        return origin;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::optional<StateFile> read_state_file(const std::filesystem::path& path, uint64_t max_bytes,
                                         const ShouldContinue& should_continue) {
    try {
        const OpenFile file = open_to_read(path);
        Head           head;
        StateFile      read;
        if (!file || !read_front(file.get(), std::filesystem::file_size(path), head, read.origin)) return std::nullopt;
        if (head.state_bytes > max_bytes || head.state_bytes == 0) return std::nullopt;
        read.state = SnapshotBuffer(head.state_bytes);
        if (!read_bytes(file.get(), read.state.data(), head.state_bytes, should_continue)) return std::nullopt;
        if (checksum(read.state.data(), read.state.size()) != head.state_checksum) return std::nullopt;
        return read;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace chasqui
