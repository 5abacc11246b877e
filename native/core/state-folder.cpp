#include "state-folder.h"

#include "checksum.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace chasqui {

namespace fs = std::filesystem;

namespace {

constexpr const char* kWhole      = ".state";
constexpr const char* kUnfinished = ".part";
// An unfinished file that has not been modified for this long is abandoned.
constexpr std::chrono::minutes kAbandoned{10};

std::string in_hexadecimal(uint64_t number) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
    return text;
}

// Whether this class gives such names to files and folders; others are never deleted.
bool is_own_name(const std::string& name) {
    return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

struct File {
    fs::path           path;
    fs::file_time_type used;
    uint64_t           n_bytes;
    bool               is_whole;
};

// Calls `visit` for each entry of a folder; skips unreadable ones.
template <typename Visit>
void visit_all(const fs::path& folder, const Visit& visit) {
    std::error_code error;
    for (fs::directory_iterator each(folder, fs::directory_options::skip_permission_denied, error), end;
         !error && each != end; each.increment(error)) {
        visit(*each);
    }
}

// Adds the files of a model. Does not follow links.
void add_files(const fs::path& folder, std::vector<File>& files) {
    visit_all(folder, [&](const fs::directory_entry& each) {
        const fs::path    name = each.path().filename();
        const std::string text = name.string();
        std::error_code   gone;
        const bool        is_whole = name.extension() == kWhole;
        if (!is_whole && name.extension() != kUnfinished) return;
        if (!is_own_name(text.substr(0, text.find('.'))) || !fs::is_regular_file(each.symlink_status(gone))) return;
        const auto     used    = each.last_write_time(gone);
        const uint64_t n_bytes = gone ? 0 : each.file_size(gone);
        if (!gone) files.push_back({each.path(), used, n_bytes, is_whole});
    });
}

void sort_by_use(std::vector<File>& files) {
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
}

bool has_removed(const fs::path& path) {
    std::error_code failed;
    fs::remove(path, failed);
    return !failed;
}

}  // namespace

StateFolder::StateFolder(fs::path folder, const std::string& model, uint64_t max_bytes)
    : folder_(std::move(folder)), own_(folder_ / in_hexadecimal(checksum(model.data(), model.size()))), max_bytes_(max_bytes) {}

// Only the owner of a folder can change its permissions. A read-only file system is safe.
bool StateFolder::is_trusted() const {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(own_, error))) return false;
    fs::permissions(own_, fs::perms::owner_all, fs::perm_options::replace, error);
    return !error || error == std::errc::read_only_file_system;
}

void StateFolder::prepare() const {
    if (fs::create_directories(folder_)) fs::permissions(folder_, fs::perms::owner_all, fs::perm_options::replace);
    fs::create_directory(own_);
    if (!fs::is_directory(fs::symlink_status(own_))) throw std::runtime_error(own_.string() + " is not a folder");
    fs::permissions(own_, fs::perms::owner_all, fs::perm_options::replace);
}

fs::path StateFolder::path_of(uint64_t checksum) const { return own_ / (in_hexadecimal(checksum) + kWhole); }

std::vector<fs::path> StateFolder::whole_files() const {
    std::vector<File> files;
    add_files(own_, files);
    sort_by_use(files);
    std::vector<fs::path> paths;
    for (const File& file : files) {
        if (file.is_whole) paths.push_back(file.path);
    }
    return paths;
}

bool StateFolder::free_space(uint64_t n_bytes, const std::vector<fs::path>& first) const {
    if (n_bytes > max_bytes_) return false;
    std::vector<File> files;
    visit_all(folder_, [&](const fs::directory_entry& each) {
        std::error_code gone;
        const bool is_folder = fs::is_directory(each.symlink_status(gone));
        if (is_folder && is_own_name(each.path().filename().string())) add_files(each.path(), files);
    });
    sort_by_use(files);
    std::stable_partition(files.begin(), files.end(), [&](const File& file) {
        return std::find(first.begin(), first.end(), file.path) != first.end();
    });
    uint64_t   taken = n_bytes;
    const auto now   = fs::file_time_type::clock::now();
    for (const File& file : files) {
        // A clock may have been wrong.
        const bool is_abandoned = !file.is_whole && (now - file.used > kAbandoned || file.used - now > kAbandoned);
        if (!is_abandoned || !has_removed(file.path)) taken += file.n_bytes;
    }
    for (const File& file : files) {
        if (taken <= max_bytes_) break;
        if (file.is_whole && has_removed(file.path)) taken -= file.n_bytes;
    }
    return taken <= max_bytes_;
}

bool StateFolder::has_space(uint64_t n_bytes) const {
    std::error_code      unknown;
    const fs::space_info space = fs::space(own_, unknown);
    return unknown || space.available >= n_bytes;
}

}  // namespace chasqui
