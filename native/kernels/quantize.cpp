// Quantises activations to Q8_K by vectors, with the same bits as ggml's reference.
#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"

#include "ggml-cpu-kernels.h"
#include "simd-mappings.h"

#include <cassert>
#include <cstring>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#    define GGML_QUANTIZE_512
#elif defined(__AVX2__)
#    define GGML_QUANTIZE_256
#endif

#if defined(GGML_QUANTIZE_512) || defined(GGML_QUANTIZE_256)

namespace {

#    if defined(GGML_QUANTIZE_512)

// Returns the first value with the largest magnitude, and that magnitude.
float furthest_from_zero(const float * x, float & magnitude) {
    __m512 most = _mm512_setzero_ps();
    for (int j = 0; j < QK_K; j += 16) most = _mm512_max_ps(_mm512_abs_ps(_mm512_loadu_ps(x + j)), most);
    magnitude = _mm512_reduce_max_ps(most);
    for (int j = 0; j < QK_K; j += 16) {
        const __m512    values = _mm512_loadu_ps(x + j);
        const __mmask16 found  = _mm512_cmp_ps_mask(_mm512_abs_ps(values), _mm512_set1_ps(magnitude), _CMP_EQ_OQ);
        if (found) return _mm512_cvtss_f32(_mm512_maskz_compress_ps(found, values));
    }
    return 0;
}

void quantize_block(const float * x, float scale, block_q8_K & y) {
    for (int j = 0; j < QK_K; j += 16) {
        const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + j), _mm512_set1_ps(scale)));
        _mm_storeu_si128((__m128i *) (y.qs + j), _mm512_cvtepi32_epi8(_mm512_min_epi32(q, _mm512_set1_epi32(127))));
    }
    for (int j = 0; j < QK_K; j += 64) {
        const __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), _mm512_loadu_si512(y.qs + j));
        __m512i       sums  = _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
        sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, (_MM_PERM_ENUM) 0xB1));
        sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, (_MM_PERM_ENUM) 0x4E));
        const __m128i of_16 = _mm512_castsi512_si128(_mm512_maskz_compress_epi32(0x1111, sums));
        _mm_storel_epi64((__m128i *) (y.bsums + j / 16), _mm_cvtepi32_epi16(of_16));
    }
}

#    else

float furthest_from_zero(const float * x, float & magnitude) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256       most = _mm256_setzero_ps();
    for (int j = 0; j < QK_K; j += 8) most = _mm256_max_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(x + j)), most);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
    four        = _mm_max_ps(four, _mm_movehl_ps(four, four));
    magnitude   = _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
    for (int j = 0; j < QK_K; j += 8) {
        const __m256 magnitudes = _mm256_andnot_ps(sign, _mm256_loadu_ps(x + j));
        const int    found      = _mm256_movemask_ps(_mm256_cmp_ps(magnitudes, _mm256_set1_ps(magnitude), _CMP_EQ_OQ));
        for (int i = 0; i < 8; ++i) {
            if (found & 1 << i) return x[j + i];
        }
    }
    return 0;
}

__m256i round_eight(const float * x, __m256 scale) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), scale));
}

void quantize_block(const float * x, float factor, block_q8_K & y) {
    const __m256  scale = _mm256_set1_ps(factor);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // packing works within the halves of a vector
    for (int j = 0; j < QK_K; j += 32) {
        const __m256i low  = _mm256_packs_epi32(round_eight(x + j, scale), round_eight(x + j + 8, scale));
        const __m256i high = _mm256_packs_epi32(round_eight(x + j + 16, scale), round_eight(x + j + 24, scale));
        const __m256i all  = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *) (y.qs + j), all);
    }
    for (int j = 0; j < QK_K; j += 64) {
        __m256i fours[2];
        for (int i = 0; i < 2; ++i) {
            const __m256i bytes = _mm256_loadu_si256((const __m256i *) (y.qs + j + 32 * i));
            fours[i] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes), _mm256_set1_epi16(1));
        }
        const __m256i eights = _mm256_hadd_epi32(fours[0], fours[1]);
        const __m256i sums   = _mm256_hadd_epi32(eights, eights);
        const __m128i of_16  = _mm_unpacklo_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
        _mm_storel_epi64((__m128i *) (y.bsums + j / 16), _mm_packs_epi32(of_16, of_16));
    }
}

#    endif

}  // namespace

bool ggml_cpu_kernels_quantize_row_q8_K(const float * x, void * y, int64_t n) {
    assert(n % QK_K == 0);
    auto * block = (block_q8_K *) y;
    for (const float * const end = x + n; x < end; x += QK_K, ++block) {
        float       magnitude;
        const float furthest = furthest_from_zero(x, magnitude);
        if (magnitude == 0) {
            block->d = 0;
            memset(block->qs, 0, QK_K);
            continue;
        }
        const float scale = -127.f / furthest;
        quantize_block(x, scale, *block);
        block->d = 1 / scale;
    }
    return true;
}

#else

bool ggml_cpu_kernels_quantize_row_q8_K(const float *, void *, int64_t) { return false; }

#endif
