// Thread: any. Tokenizers that replace llama.cpp's: patch 0007 calls them from llama-vocab.cpp.
#pragma once

#include "llama-vocab.h"

#include <string>
#include <vector>

namespace chasqui {

void tokenize_bpe(const llama_vocab& vocab, const std::vector<std::string>& expressions, bool encode_bytes,
                  const std::string& text, std::vector<llama_token>& output);

void tokenize_wordpiece(const llama_vocab& vocab, const std::string& text, std::vector<llama_token>& output);

}  // namespace chasqui
