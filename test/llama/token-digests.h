// Hashes of the tokens of the corpus in token-corpus.h, for each vocabulary and for each kind of pre-tokenizer. Most are
// llama.cpp's. The tokens of bert-bge, nomic-bert-moe, deepseek-llm and deepseek-coder (blanks in a range), cohere2moe, gpt-4o,
// tekken and youtu (cases of letters) are exact instead.
#pragma once

#include <cstdint>

namespace chasqui::test {

struct TokenDigest {
    const char* vocabulary;
    const char* pre;  // nullptr: its own
    uint64_t    digest;
};

inline constexpr TokenDigest kTokenDigests[] = {
    {"aquila", nullptr, 0x01afd6208200141d},
    {"baichuan", nullptr, 0x4b6832bd7b08dc83},
    {"bert-bge", nullptr, 0x02db75b796d9ed52},
    {"command-r", nullptr, 0x05abd9133573453a},
    {"deepseek-coder", nullptr, 0x89fcdefbaa9e7492},
    {"deepseek-llm", nullptr, 0x68a0698b0f3e389e},
    {"falcon", nullptr, 0xca49646bf59d50d0},
    {"gemma-4", nullptr, 0x193258030ee0c209},
    {"gpt-2", nullptr, 0x1007ee32377753c0},
    {"gpt-neox", nullptr, 0x4d1e8bb0af3ab825},
    {"llama-bpe", nullptr, 0xe28426294e8a82ba},
    {"llama-spm", nullptr, 0x71cd0834bb375fb9},
    {"mpt", nullptr, 0x7e6540798a9cedbc},
    {"nomic-bert-moe", nullptr, 0x2ee2b68bed2b4ecb},
    {"phi-3", nullptr, 0x2165fbafd49c4a5d},
    {"qwen2", nullptr, 0xd9d1ffdab27d2ee8},
    {"qwen35", nullptr, 0x25154de69f9779ac},
    {"refact", nullptr, 0x5cc01688e7d91de5},
    {"starcoder", nullptr, 0x9b9e133cd07e0248},
    {"gpt-2", "a.x-4.0", 0x1007ee32377753c0},
    {"gpt-2", "afmoe", 0xc27ac3d517487bd0},
    {"gpt-2", "bailingmoe", 0x2560d672c8faf684},
    {"gpt-2", "bloom", 0x7a271c54086357d8},
    {"gpt-2", "chameleon", 0x3f84623a42d5483d},
    {"gpt-2", "chatglm-bpe", 0xfed8137985b03690},
    {"gpt-2", "codeshell", 0xa365b949ad7e9e24},
    {"gpt-2", "cohere2moe", 0xabd4a501a4890694},
    {"gpt-2", "deepseek-coder", 0x1b8b1bc4a5d0f0f8},
    {"gpt-2", "deepseek-llm", 0x02f417b8cc0e0688},
    {"gpt-2", "deepseek-v3", 0x9d35a00ffcdde65c},
    {"gpt-2", "default", 0x05718ab9b2111aa7},
    {"gpt-2", "exaone-moe", 0xd46a77c48a90e9e8},
    {"gpt-2", "falcon", 0x530298610d21398b},
    {"gpt-2", "falcon-h1", 0xc9a0d5474e922ea3},
    {"gpt-2", "gemma4", 0x866ca718d70e1b8b},
    {"gpt-2", "gpt-4o", 0x0561be4608070980},
    {"gpt-2", "granite-embed-multi-97m", 0x0561be4608070980},
    {"gpt-2", "jais-2", 0x032437fa6f5bf3a0},
    {"gpt-2", "kimi-k2", 0x201c55e855fdf5f4},
    {"gpt-2", "minicpm5", 0xcaa9582994a4b8d8},
    {"gpt-2", "qwen35", 0xb61a39570f4bc0f4},
    {"gpt-2", "sarvam-moe", 0xe77fc2b1606e8717},
    {"gpt-2", "spark2_5", 0x968f123a8dec0ec4},
    {"gpt-2", "superbpe", 0x75404fb47f39b490},
    {"gpt-2", "tekken", 0xada7007c668e8a5b},
    {"gpt-2", "ufakzeka", 0xc573e2d8d0ae9e90},
    {"gpt-2", "viking", 0x73145e413e2c8aac},
    {"gpt-2", "youtu", 0xad7d65a0a2618a30},
};

}  // namespace chasqui::test
