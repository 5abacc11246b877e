// Fuzzes the tokenizing of a text. The first character chooses one of the vocabularies of llama.cpp's tests, the second
// whether special tokens are parsed and added.
#include "core/error-code.h"
#include "execution.h"
#include "llama/model/tokenizer.h"
#include "repeats.h"
#include "vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace chasqui;

namespace {

constexpr size_t kHead = 2;
constexpr size_t kMaxBytes = fuzz::divided(32768);

struct Vocabulary {
    Model     model;
    Tokenizer tokenizer;
    explicit Vocabulary(const std::string& file) : model(file, {}, {}), tokenizer(model) {}
};

const Tokenizer& tokenizer(size_t choice) {
    static const std::vector<std::string>           files = fuzz::vocabulary_files();
    static std::vector<std::unique_ptr<Vocabulary>> read(files.size());
    const size_t                                    index = choice % files.size();
    if (!read[index]) read[index] = std::make_unique<Vocabulary>(files[index]);
    return read[index]->tokenizer;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzz::be_quiet();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (size < kHead) return -1;
    fuzz::count_execution();
    const std::string  text  = fuzz::with_repeats(input.substr(kHead), kMaxBytes);
    const Tokenizer&   read_by = tokenizer(static_cast<unsigned char>(input[0]));
    const bool         special = input[1] % 2 == 0;
    try {
        for (const TokenId token : read_by.tokenize(text, special, special)) {
            if (!read_by.is_valid(token)) std::abort();
        }
    } catch (const Error&) {
    }
    return 0;
}
