// Preloaded into a test process. While the file named by CHASQUI_HUNG_DISK exists, opening a saved conversation blocks,
// as on an unresponsive network disk.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

FILE* open_in_time(const char* function, const char* path, const char* mode) {
    const char* sign = std::getenv("CHASQUI_HUNG_DISK");
    while (sign != nullptr && std::strstr(path, ".state") != nullptr && access(sign, F_OK) == 0) usleep(10'000);
    using Open = FILE* (*)(const char*, const char*);
    return reinterpret_cast<Open>(dlsym(RTLD_NEXT, function))(path, mode);
}

}  // namespace

extern "C" FILE* fopen(const char* path, const char* mode) { return open_in_time("fopen", path, mode); }
extern "C" FILE* fopen64(const char* path, const char* mode) { return open_in_time("fopen64", path, mode); }
