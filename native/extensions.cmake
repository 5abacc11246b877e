# Our sources that are part of llama.cpp's libraries. vendor/patches call them.
set(extensions "${CMAKE_CURRENT_LIST_DIR}/extensions" "${CMAKE_CURRENT_LIST_DIR}/tokenizers")
list(TRANSFORM extensions APPEND "/*.cpp" OUTPUT_VARIABLE extension_sources)
file(GLOB extension_sources CONFIGURE_DEPENDS ${extension_sources})
target_sources(llama PRIVATE ${extension_sources})
target_include_directories(llama PUBLIC ${extensions})
target_sources(ggml-base PRIVATE "${CMAKE_CURRENT_LIST_DIR}/extensions/huge-memory.c")
