file(GLOB_RECURSE llama_sources CONFIGURE_DEPENDS native/llama/*.cpp)
file(GLOB engine_sources CONFIGURE_DEPENDS native/engine*.cpp)
add_library(engine STATIC ${llama_sources} ${engine_sources})
# llama.cpp's tables of Unicode: <src/unicode.h>
set_source_files_properties(native/llama/schema/patterns/pattern-parser.cpp PROPERTIES INCLUDE_DIRECTORIES "${CHASQUI_LLAMA_DIR}")
# PRIVATE keeps llama.cpp's headers out of native/napi.
target_link_libraries(engine PUBLIC engine-core PRIVATE llama llama-common mtmd vendor::hash vendor::stb)
target_include_directories(engine SYSTEM PRIVATE "${CHASQUI_LLAMA_DIR}/vendor") # <miniaudio/miniaudio.h>
set_warnings(engine)
# Identifies llama.cpp, its patches and our kernels: a state on disk is only valid for the same ones.
set(llama_stamp_file "${CHASQUI_LLAMA_DIR}/.chasqui-stamp")
set(llama_stamp "${llama_commit} of another folder")
if(EXISTS "${llama_stamp_file}")
  file(READ "${llama_stamp_file}" llama_stamp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${llama_stamp_file}")
endif()
file(GLOB kernel_files CONFIGURE_DEPENDS native/kernels/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_files})
foreach(file IN LISTS kernel_files)
  file(SHA256 "${file}" digest)
  string(APPEND llama_stamp "${digest}")
endforeach()
string(SHA256 llama_stamp "${llama_stamp}")
set_source_files_properties(native/llama/decoding/state-key.cpp PROPERTIES
  COMPILE_DEFINITIONS "CHASQUI_LLAMA_STAMP=\"${llama_stamp}\"")
if(NOT MSVC)
  set_source_files_properties(native/llama/images/stb-image.cpp PROPERTIES COMPILE_OPTIONS -w) # not our code
endif()

file(GLOB addon_sources CONFIGURE_DEPENDS native/napi/*.cpp native/addon.cpp)
add_library(addon SHARED ${addon_sources} ${CMAKE_JS_SRC})
set_target_properties(addon PROPERTIES PREFIX "" OUTPUT_NAME chasqui SUFFIX .node)
target_include_directories(addon SYSTEM PRIVATE ${CMAKE_JS_INC})
target_compile_definitions(addon PRIVATE
  NAPI_VERSION=8 NODE_ADDON_API_CPP_EXCEPTIONS NODE_ADDON_API_CPP_EXCEPTIONS_ALL
  NODE_ADDON_API_DISABLE_DEPRECATED NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED
  # A worker that is terminated while a token is handed over can no longer be told of anything.
  NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS)
target_link_libraries(addon PRIVATE engine ${CMAKE_JS_LIB})
set_warnings(addon)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(exports "${CMAKE_CURRENT_SOURCE_DIR}/native/exports.map")
  target_link_options(addon PRIVATE "LINKER:--version-script=${exports}" LINKER:--gc-sections
    # A function that nobody has must fail the load, and not its first call.
    LINKER:-z,now)
  set_target_properties(addon PROPERTIES LINK_DEPENDS "${exports}")
elseif(APPLE)
  target_link_options(addon PRIVATE LINKER:-dead_strip
    LINKER:-exported_symbol,_napi_register_module_v1 LINKER:-exported_symbol,_node_api_module_get_api_version_v1)
elseif(MSVC AND CMAKE_JS_NODELIB_DEF AND CMAKE_JS_NODELIB_TARGET)
  execute_process(COMMAND ${CMAKE_AR} /def:${CMAKE_JS_NODELIB_DEF} /out:${CMAKE_JS_NODELIB_TARGET} ${CMAKE_STATIC_LINKER_FLAGS})
elseif(MINGW)
  # The functions of Node-API are in the process, node.exe.
  file(GLOB definitions CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/node_modules/node-api-headers/def/*.def")
  foreach(definition IN LISTS definitions)
    cmake_path(GET definition STEM name)
    set(import_library "${CMAKE_BINARY_DIR}/lib${name}.a")
    execute_process(COMMAND ${CMAKE_DLLTOOL} -d "${definition}" -l "${import_library}" COMMAND_ERROR_IS_FATAL ANY)
    target_link_libraries(addon PRIVATE "${import_library}")
  endforeach()
endif()

# Up to eight sources of a folder are compiled together, which halves the CPU time. Builds of tests compile each source alone.
if(NOT CHASQUI_TESTS)
  foreach(target engine-core engine addon)
    get_target_property(sources ${target} SOURCES)
    string(REPLACE "${CMAKE_CURRENT_SOURCE_DIR}/" "" sources "${sources}")
    list(FILTER sources INCLUDE REGEX "^native/")
    # These have compile options of their own.
    list(FILTER sources EXCLUDE REGEX "(stb-image|pattern-parser|state-key)\\.cpp$")
    set(folders ${sources})
    list(TRANSFORM folders REPLACE "/[^/]+$" "")
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
      set(files ${sources})
      list(FILTER files INCLUDE REGEX "^${folder}/[^/]+\\.cpp$")
      string(REPLACE "/" "-" name "${folder}")
      compile_together(${target} "${CMAKE_CURRENT_SOURCE_DIR}" "${name}" 8 ${files})
    endforeach()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC takes the included sources for headers.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endforeach()
endif()

if(CHASQUI_BENCH)
  add_executable(bare-loop EXCLUDE_FROM_ALL bench/native/bare-loop.cpp)
  target_link_libraries(bare-loop PRIVATE llama llama-common)
  set_warnings(bare-loop)

  add_executable(products EXCLUDE_FROM_ALL bench/native/products.cpp)
  target_link_libraries(products PRIVATE ggml)
  set_warnings(products)

  add_executable(machine-limits EXCLUDE_FROM_ALL bench/native/machine-limits.cpp)
  target_link_libraries(machine-limits PRIVATE Threads::Threads)
  set_warnings(machine-limits)

  # The name is one that chasqui takes for a module of a GPU; the folder keeps it from being found unless it is asked for.
  add_library(slow-device MODULE EXCLUDE_FROM_ALL bench/overlap/slow-device.cpp)
  target_include_directories(slow-device SYSTEM PRIVATE "${CHASQUI_LLAMA_DIR}/ggml/src")
  target_compile_definitions(slow-device PRIVATE GGML_BACKEND_DL GGML_BACKEND_BUILD GGML_BACKEND_SHARED)
  target_link_libraries(slow-device PRIVATE ggml ggml-base)
  set_target_properties(slow-device PROPERTIES PREFIX lib OUTPUT_NAME ggml-vulkan-slow
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/slow-device")
  set_warnings(slow-device)
endif()

# Comparisons with llama.cpp's own code, built when test/llama runs.
if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/test/llama") # not in the npm package
  file(GLOB parity_sources CONFIGURE_DEPENDS test/llama/*.cpp)
  add_executable(llama-tests EXCLUDE_FROM_ALL ${parity_sources} test/native/main.cpp)
  target_include_directories(llama-tests PRIVATE test/native)
  target_include_directories(llama-tests SYSTEM PRIVATE "${CHASQUI_LLAMA_DIR}/src") # headers of its own parts
  target_link_libraries(llama-tests PRIVATE engine llama llama-common)
  set(paths_of_tests LLAMA_SOURCE="${CHASQUI_LLAMA_DIR}"
    TOOL_SETS="${CMAKE_CURRENT_SOURCE_DIR}/test/llama/tool-sets.json"
    DEMO_MODEL="${CMAKE_CURRENT_SOURCE_DIR}/prebuilds/demo/chasqui-demo.gguf")
  set_source_files_properties(test/llama/test-files.cpp PROPERTIES COMPILE_DEFINITIONS "${paths_of_tests}")
  compile_quickly(llama-tests)
  set_warnings(llama-tests)

  add_executable(schema-grammars EXCLUDE_FROM_ALL test/support/schema-grammars.cpp)
  target_link_libraries(schema-grammars PRIVATE engine llama llama-common)
  set_warnings(schema-grammars)

  add_executable(random-architectures EXCLUDE_FROM_ALL test/support/random-architectures.cpp)
  target_include_directories(random-architectures SYSTEM PRIVATE "${CHASQUI_LLAMA_DIR}") # its <tests/test-llama-archs.cpp>
  target_link_libraries(random-architectures PRIVATE llama llama-common)
  set_warnings(random-architectures)
endif()
