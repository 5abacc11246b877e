// Converts JSON schemas to grammars for test/llama/schema-walks.test.ts: reads a schema a line, and writes an object a line with
// the grammar and the places that it does not enforce, or with the error.
#include "llama/schema/schema-grammar.h"

#include <json.h>

#include <exception>
#include <iostream>
#include <string>

int main() {
    for (std::string schema; std::getline(std::cin, schema);) {
        common_json converted = common_json::object();
        try {
            const chasqui::SchemaGrammar grammar = chasqui::convert_schema(schema, "$");
            converted["gbnf"]                    = grammar.gbnf;
            converted["unenforced"]              = grammar.unenforced;
        } catch (const std::exception& error) {
            converted["error"] = std::string(error.what());
        }
        std::cout << converted.dump() << '\n';
    }
    return 0;
}
