#include "templates.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace chasqui::fuzz {

namespace {

const std::vector<std::string>& paths() {
    static const std::vector<std::string> sorted = [] {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(std::string(LLAMA_SOURCE) + "/models/templates")) {
            if (entry.path().extension() == ".jinja") found.push_back(entry.path().string());
        }
        std::sort(found.begin(), found.end());
        return found;
    }();
    return sorted;
}

}  // namespace

size_t n_templates() { return paths().size(); }

const ChatTemplate& chat_template(size_t index) {
    static std::vector<std::unique_ptr<ChatTemplate>> read(n_templates());
    std::unique_ptr<ChatTemplate>&                    chat = read.at(index);
    if (!chat) {
        std::ifstream file(paths()[index]);
        chat = std::make_unique<ChatTemplate>(std::string(std::istreambuf_iterator<char>(file), {}));
    }
    return *chat;
}

}  // namespace chasqui::fuzz
