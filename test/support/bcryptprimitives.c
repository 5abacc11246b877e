// The library of Windows 10 that Wine 8 lacks; libsql is linked with it.
#include <stddef.h>

unsigned char SystemFunction036(void* bytes, unsigned long size); // RtlGenRandom

__declspec(dllexport) int ProcessPrng(unsigned char* bytes, size_t size) {
    return SystemFunction036(bytes, (unsigned long)size);
}
