# Cross-compiles for Alpine and other systems with musl. CHASQUI_ZIG names Zig, which the package ziglang of PyPI contains.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
if(NOT DEFINED ENV{CHASQUI_ZIG})
  set(ENV{CHASQUI_ZIG} zig)
endif()
set(target -target x86_64-linux-musl)
set(CMAKE_C_COMPILER "$ENV{CHASQUI_ZIG}" cc ${target})
set(CMAKE_CXX_COMPILER "$ENV{CHASQUI_ZIG}" c++ ${target})
# Libraries and headers of the target only.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
