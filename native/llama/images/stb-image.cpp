// The code of stb_image, which its header has; llama.cpp compiles it with its readers of sound and video only.
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
