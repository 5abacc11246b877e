#include "backends.h"

#include "../core/error-code.h"
#include "log.h"

#include <ggml-backend.h>
#include <llama.h>

#include <mutex>

namespace chasqui {

void load_backends(const std::string& directory, bool verbose) {
    static std::mutex mutex;
    static bool       loaded = false;

    const std::lock_guard<std::mutex> lock(mutex);
    if (loaded) return;
    capture_log(verbose);
    // Never without a path: ggml would search the folder of the Node binary and the working directory.
    ggml_backend_load_all_from_path(directory.c_str());
    if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == nullptr) {
        throw Error(ErrorCode::model_load_failed,
                    "No CPU backend of ggml could be loaded from " + directory + ". " + take_last_errors());
    }
    llama_backend_init();
    loaded = true;
}

}  // namespace chasqui
