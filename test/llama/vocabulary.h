// Thread: main. A vocabulary of llama.cpp's own tests, without a model around it.
#pragma once

#include "test-files.h"

#include <llama.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace chasqui::test {

// It is there to the end: tests keep what was made for it.
inline const llama_vocab* vocabulary(const std::string& name) {
    struct Free {
        void operator()(llama_model* model) const { llama_model_free(model); }
    };
    static std::map<std::string, std::unique_ptr<llama_model, Free>> all;
    std::unique_ptr<llama_model, Free>&                              loaded = all[name];
    if (!loaded) {
        llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
        llama_model_params params = llama_model_default_params();
        params.vocab_only         = true;
        const std::string path    = in_llama_source("models/ggml-vocab-" + name + ".gguf");
        loaded.reset(llama_model_load_from_file(path.c_str(), params));
        if (!loaded) throw std::runtime_error("cannot load " + path);
    }
    return llama_model_get_vocab(loaded.get());
}

}  // namespace chasqui::test
