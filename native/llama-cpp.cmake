# llama.cpp in two stages. First ggml as shared libraries with loadable modules, so that the CPU's best instructions and
# the GPU's driver are chosen when a model loads. Then llama, common and mtmd as static libraries with hidden symbols,
# which end up inside the addon.

if(NOT EXISTS "${CHASQUI_LLAMA_DIR}/CMakeLists.txt")
  message(FATAL_ERROR "${CHASQUI_LLAMA_DIR} holds no llama.cpp. Run: node vendor/llama-source.mjs")
endif()

# Everything lies in one folder, the one where node-gyp-build looks. cmake-js names it, except on Windows, where it
# names a folder that Visual Studio completes with the configuration.
if(NOT CMAKE_HOST_WIN32)
  if(NOT CMAKE_LIBRARY_OUTPUT_DIRECTORY)
    set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${CMAKE_BUILD_TYPE}")
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
endif()
if(APPLE)
  set(CMAKE_INSTALL_RPATH "@loader_path")
else()
  set(CMAKE_INSTALL_RPATH "$ORIGIN")
endif()
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH OFF)
# npm packages cannot hold the symbolic links of versioned libraries.
set(CMAKE_PLATFORM_NO_VERSIONED_SONAME ON)
if(MSVC)
  # cmake-js asks for /MT, which gives every DLL a heap of its own.
  set(CMAKE_MSVC_RUNTIME_LIBRARY "MultiThreaded$<$<CONFIG:Debug>:Debug>DLL" CACHE STRING "" FORCE)
endif()
# ggml asks git for a commit in its own folder. Without this it finds ours, and is rebuilt whenever that changes.
set(ENV{GIT_CEILING_DIRECTORIES} "${CMAKE_CURRENT_SOURCE_DIR}")

set(BUILD_SHARED_LIBS ON)
set(GGML_BACKEND_DL ON)
set(GGML_NATIVE OFF)
set(GGML_OPENMP OFF) # ggml's own thread pool does the same without another library to ship
set(GGML_CCACHE OFF)
# llama.cpp turns these on for itself, but not for a ggml that is added before it. The first is a third of prefill.
set(GGML_LLAMAFILE ON)
set(GGML_CUDA_GRAPHS ON)
set(GGML_CUDA_NCCL OFF)
set(GGML_METAL_EMBED_LIBRARY ON)
if(MSVC AND CMAKE_SYSTEM_PROCESSOR MATCHES "ARM64|aarch64")
  set(GGML_CPU_ALL_VARIANTS OFF)
else()
  set(GGML_CPU_ALL_VARIANTS ON)
endif()

# Before version 14, GCC does not compile SME.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND NOT MSVC)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag("-march=armv8.6-a+sme" compiles_sme)
endif()

# ggml makes itself depend on every CPU module. A local build wants the few that this machine can use, so the others'
# dependency is not recorded, and below they leave the default target.
string(REPLACE "," ";" wanted_variants "${CHASQUI_CPU_VARIANTS}")
function(is_unwanted_variant target result)
  set(${result} FALSE PARENT_SCOPE)
  if(NOT wanted_variants STREQUAL "all" AND target MATCHES "^ggml-cpu-(.+)$" AND NOT CMAKE_MATCH_1 IN_LIST wanted_variants)
    set(${result} TRUE PARENT_SCOPE)
  elseif(target MATCHES "^ggml-cpu-armv9" AND NOT compiles_sme)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()
function(add_dependencies target)
  foreach(dependency IN LISTS ARGN)
    is_unwanted_variant(${dependency} unwanted)
    if(NOT unwanted)
      _add_dependencies(${target} ${dependency})
    endif()
  endforeach()
endfunction()

add_subdirectory("${CHASQUI_LLAMA_DIR}/ggml" ggml)

# Our kernels become part of every CPU module, compiled for its instructions. vendor/patches/0002 calls them.
file(GLOB kernel_sources CONFIGURE_DEPENDS native/kernels/*.cpp)
function(add_kernels target)
  target_sources(${target} PRIVATE ${kernel_sources})
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/native/kernels")
endfunction()

get_property(ggml_targets DIRECTORY "${CHASQUI_LLAMA_DIR}/ggml/src" PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS ggml_targets)
  get_target_property(type ${target} TYPE)
  if(target MATCHES "^ggml-cpu" AND type MATCHES "^(MODULE|SHARED|STATIC)_LIBRARY$")
    add_kernels(${target})
  endif()
  is_unwanted_variant(${target} unwanted)
  if(unwanted)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()
foreach(target ggml ggml-base)
  # Two addons in one process would silently share a library of the same name, whatever its version.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${target}-chasqui-${package_version}")
endforeach()

set(BUILD_SHARED_LIBS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT MSVC)
  add_compile_options(-ffunction-sections -fdata-sections)
endif()
set(LLAMA_BUILD_COMMON ON)
set(LLAMA_BUILD_MTMD ON)
set(LLAMA_BUILD_IS_DEV OFF)
foreach(part TESTS TOOLS EXAMPLES SERVER APP UI)
  set(LLAMA_BUILD_${part} OFF)
endforeach()
set(LLAMA_OPENSSL OFF) # Node exports OpenSSL's symbols, of another version
set(LLAMA_SUBPROCESS OFF)
set(LLAMA_LLGUIDANCE OFF)
set(MTMD_VIDEO OFF CACHE BOOL "" FORCE)
file(READ "${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.json" llama_manifest)
string(JSON llama_commit GET "${llama_manifest}" commit)
string(SUBSTRING "${llama_commit}" 0 8 LLAMA_BUILD_COMMIT)
set(LLAMA_BUILD_NUMBER 0)

add_subdirectory("${CHASQUI_LLAMA_DIR}" llama.cpp EXCLUDE_FROM_ALL)
include(native/extensions.cmake)
if(MINGW)
  target_compile_definitions(mtmd PRIVATE _USE_MATH_DEFINES) # M_PI
endif()
set_target_properties(ggml ggml-base llama llama-common mtmd PROPERTIES SYSTEM ON)

# A first build compiles what the addon calls, and that in few large pieces.

# Leaves sources of a target out. What is missing of them shows when chasqui.node loads, which native/addon.cmake sees to.
function(leave_out target folder)
  foreach(name IN LISTS ARGN)
    set_source_files_properties("${folder}/${name}" TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
endfunction()

# Compiles sources of a target `size` at a time, so that headers which all of them include are read once, and templates are
# instantiated once. CMake's own unity builds name files by absolute paths, with which two checkouts share no cache.
function(compile_together target folder name size)
  list(LENGTH ARGN count)
  set(first 0)
  while(first LESS count)
    list(SUBLIST ARGN ${first} ${size} names)
    list(TRANSFORM names REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
    list(JOIN includes "" text)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/together/${target}-${name}-${first}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE "${file}")
    math(EXPR first "${first} + ${size}")
  endwhile()
  target_include_directories(${target} PRIVATE "${folder}")
  leave_out(${target} "${folder}" ${ARGN})
endfunction()

# Arguments and presets, downloads with their HTTP client, a console, statistics, quantisation: llama-server and the tools
# need them.
set(common "${CHASQUI_LLAMA_DIR}/common")
leave_out(llama-common "${common}"
  arg.cpp console.cpp debug.cpp download.cpp hf-cache.cpp imatrix-loader.cpp llguidance.cpp preset.cpp subproc.cpp)
# native/llama/schema converts JSON Schemas.
leave_out(llama-common "${common}" json-schema.cpp json-schema-to-grammar.cpp)
leave_out(llama "${CHASQUI_LLAMA_DIR}/src" llama-quant.cpp)
foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
  get_target_property(libraries llama-common ${property})
  list(REMOVE_ITEM libraries cpp-httplib "$<LINK_ONLY:cpp-httplib>")
  set_target_properties(llama-common PROPERTIES ${property} "${libraries}")
endforeach()
# Files of sound and video; native/llama/images and native/llama/audio read those of images and sound.
leave_out(mtmd "${CHASQUI_LLAMA_DIR}/tools/mtmd" mtmd-helper.cpp mtmd-helper-gen.cpp)

file(GLOB parsers RELATIVE "${common}" CONFIGURE_DEPENDS "${common}/parsers/*.cpp")
compile_together(llama-common "${common}" parsers 8 ${parsers})
compile_together(llama-common "${common}" formats 4
  chat-auto-parser-generator.cpp chat-auto-parser-helpers.cpp chat-diff-analyzer.cpp chat-peg-parser.cpp)
# Values come first: the others instantiate what is specialised there.
compile_together(llama-common "${common}" templates 6
  jinja/value.cpp jinja/caps.cpp jinja/lexer.cpp jinja/parser.cpp jinja/runtime.cpp jinja/string.cpp)
set(mtmd_folder "${CHASQUI_LLAMA_DIR}/tools/mtmd")
file(GLOB vision_models RELATIVE "${mtmd_folder}" CONFIGURE_DEPENDS "${mtmd_folder}/models/*.cpp")
compile_together(mtmd "${mtmd_folder}" models 12 ${vision_models})
set_target_properties(llama PROPERTIES UNITY_BUILD OFF)
set(llama_folder "${CHASQUI_LLAMA_DIR}/src")
file(GLOB text_models RELATIVE "${llama_folder}" CONFIGURE_DEPENDS "${llama_folder}/models/*.cpp")
compile_together(llama "${llama_folder}" models 16 ${text_models})
compile_together(llama "${llama_folder}" memories 12
  llama-adapter.cpp llama-batch.cpp llama-io.cpp llama-kv-cache-dsa.cpp llama-kv-cache-dsa-iswa.cpp llama-kv-cache-iswa.cpp
  llama-kv-cache-msa.cpp llama-memory.cpp llama-memory-hybrid.cpp llama-memory-hybrid-iswa.cpp llama-memory-hybrid-idx.cpp
  llama-memory-recurrent.cpp)
compile_together(llama "${llama_folder}" api 7
  llama.cpp llama-arch.cpp llama-chat.cpp llama-cparams.cpp llama-hparams.cpp llama-impl.cpp llama-model-saver.cpp)
