#include "simple-schemas.h"

#include "../calls/argument-schema.h"

#include <exception>
#include <vector>

namespace chasqui {

common_chat_params apply_or_simplify(const common_chat_templates* templates, common_chat_templates_inputs inputs) {
    try {
        return common_chat_templates_apply(templates, inputs);
    } catch (const std::exception& error) {
        const std::vector<common_chat_tool> tools = inputs.tools;
        for (const bool flat : {false, true}) {
            for (size_t i = 0; i < tools.size(); ++i) {
                inputs.tools[i].parameters = ArgumentSchema(common_json::parse(tools[i].parameters)).described(flat).dump();
            }
            try {
                return common_chat_templates_apply(templates, inputs);
            } catch (const std::exception&) {
                continue;
            }
        }
        throw;
    }
}

}  // namespace chasqui
