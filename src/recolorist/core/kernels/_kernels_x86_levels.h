/* The ends of a conversion of 8-bit RGB for x86 with AVX-512 VBMI: levels in, and levels out. Compilers do both one value at a time,
 * which takes longer than the conversion itself. The bits are those of the plain loops: tables are the same, and where a computed
 * power lies close to a threshold the threshold decides. */

#include <float.h>

#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi")))

static uint8_t start_bytes[3][4][256]; /* level_start, the first bytes of all numbers first */
static uint8_t take_order[3][64], put_order[3][64];

static void fill_orders(void)
{
    for (int start = 0; start < 3; start++)
        for (int x = 0; x < 256; x++) {
            const uint32_t bits = (uint32_t)bits_of_32(level_start[start][x]);
            for (int i = 0; i < 4; i++) start_bytes[start][i][x] = (uint8_t)(bits >> 8 * i);
        }
    for (int j = 0; j < 64; j++) {
        /* bytes are widened within quarters of a vector: place 16 a + 4 b + c there is pixel 16 b + 4 a + c */
        const int pixel = (j >> 2 & 3) * 16 + (j >> 4) * 4 + (j & 3);
        for (int c = 0; c < 3; c++) take_order[c][j] = (uint8_t)(3 * pixel + c);
        for (int v = 0; v < 3; v++) put_order[v][j] = (uint8_t)((64 * v + j) / 3 + 64 * ((64 * v + j) % 3));
    }
}

/* Whole blocks of 64 pixels to planes of the start; returns how many pixels that were. */
WIDE static size_t read_starts_wide(const uint8_t *p, size_t n, int start, Planes_32 x)
{
    __m512i table[4][4], order[3];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) table[i][j] = _mm512_loadu_si512(start_bytes[start][i] + 64 * j);
    for (int c = 0; c < 3; c++) order[c] = _mm512_loadu_si512(take_order[c]);
    for (size_t k = 0; k + 64 <= n; k += 64, p += 192) {
        const __m512i first = _mm512_loadu_si512(p), second = _mm512_loadu_si512(p + 64), third = _mm512_loadu_si512(p + 128);
        for (int c = 0; c < 3; c++) {
            const __m512i early = _mm512_permutex2var_epi8(first, order[c], second);
            const __m512i v = _mm512_mask_permutexvar_epi8(early, _mm512_movepi8_mask(order[c]), order[c], third);
            const __mmask64 upper = _mm512_movepi8_mask(v);
            __m512i b[4];
            for (int i = 0; i < 4; i++) {
                const __m512i low = _mm512_permutex2var_epi8(table[i][0], v, table[i][1]);
                b[i] = _mm512_mask_blend_epi8(upper, low, _mm512_permutex2var_epi8(table[i][2], v, table[i][3]));
            }
            const __m512i a0 = _mm512_unpacklo_epi8(b[0], b[1]), a1 = _mm512_unpackhi_epi8(b[0], b[1]);
            const __m512i b0 = _mm512_unpacklo_epi8(b[2], b[3]), b1 = _mm512_unpackhi_epi8(b[2], b[3]);
            _mm512_storeu_si512(x[c] + k, _mm512_unpacklo_epi16(a0, b0));
            _mm512_storeu_si512(x[c] + k + 16, _mm512_unpackhi_epi16(a0, b0));
            _mm512_storeu_si512(x[c] + k + 32, _mm512_unpacklo_epi16(a1, b1));
            _mm512_storeu_si512(x[c] + k + 48, _mm512_unpackhi_epi16(a1, b1));
        }
    }
    return n / 64 * 64;
}

/* The level of light or of a density in float64. */
static uint8_t level_of(double v, int start)
{
    return (uint8_t)TO_INTEGER(clip((start == LIGHT ? from_light(v) : from_density(v)) * 255.0, 0.0, 255.0));
}

/* 255 times the power that leads from linear light to RGB, to a thousandth of a level: by halves of the number's two parts. */
WIDE static inline __attribute__((always_inline)) __m512 level_of_light_wide(__m512 v)
{
    const __m512 scale = _mm512_setr_ps(269.02499f, 3.5347211f, 4.718287f, 6.2981572f, 8.407031f, 11.22204f, 14.979627f, 19.995403f,
                                        26.69066f, 35.627758f, 47.55735f, 63.481445f, 84.737564f, 113.11108f, 150.98518f, 201.54103f);
    const __m512i power = _mm512_cvtps_epi32(_mm512_getexp_ps(v)); /* 0 to -15; tables look at its last four bits */
    const __m512 m = _mm512_getmant_ps(v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    __m512 p = _mm512_fmadd_ps(m, _mm512_set1_ps(0.005333129f), _mm512_set1_ps(-0.05065332f));
    p = _mm512_fmadd_ps(m, p, _mm512_set1_ps(0.20631807f)), p = _mm512_fmadd_ps(m, p, _mm512_set1_ps(-0.4884648f));
    p = _mm512_fmadd_ps(m, p, _mm512_set1_ps(0.9504806f)), p = _mm512_fmadd_ps(m, p, _mm512_set1_ps(0.37698773f));
    const __m512 curve = _mm512_fmsub_ps(_mm512_permutexvar_ps(power, scale), p, _mm512_set1_ps(14.025f));
    const __mmask16 straight = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0.0031308f), _CMP_LE_OQ);
    return _mm512_mask_mul_ps(curve, straight, v, _mm512_set1_ps(3294.6f));
}

WIDE static inline __attribute__((always_inline)) __m512 level_of_density_wide(__m512 v)
{
    const __m512 t = _mm512_mul_ps(v, _mm512_set1_ps(-19.931568f)), n = _mm512_roundscale_ps(t, 0), f = _mm512_sub_ps(t, n);
    __m512 p = _mm512_fmadd_ps(f, _mm512_set1_ps(0.009685711f), _mm512_set1_ps(0.055922028f));
    p = _mm512_fmadd_ps(f, p, _mm512_set1_ps(0.24021865f)), p = _mm512_fmadd_ps(f, p, _mm512_set1_ps(0.693121f));
    p = _mm512_fmadd_ps(f, p, _mm512_set1_ps(1.0000001f));
    return _mm512_scalef_ps(_mm512_mul_ps(p, _mm512_set1_ps(255.0f)), n);
}

/* Computes levels, and finds again those that lie close to a threshold: by `find_level`, or where `exact` holds the values in float64 by
 * taking the power of these. */
WIDE static inline __attribute__((always_inline)) void find_levels_wide(const float *v, const double *exact, size_t n, uint8_t *o,
                                                                        const int start)
{
    for (size_t k = 0; k < n; k += 16) {
        const __m512 x = _mm512_loadu_ps(v + k), w = _mm512_min_ps(_mm512_max_ps(x, _mm512_setzero_ps()), _mm512_set1_ps(1.0f));
        const __m512 y = start == LIGHT ? level_of_light_wide(w) : level_of_density_wide(w);
        const __m512i level = _mm512_cvtps_epi32(y);
        const __m512 gap = _mm512_abs_ps(_mm512_sub_ps(y, _mm512_cvtepi32_ps(level)));
        _mm_storeu_si128((__m128i *)(o + k), _mm512_cvtepi32_epi8(level));
        __mmask16 close = _mm512_cmp_ps_mask(gap, _mm512_set1_ps(0.498f), _CMP_GT_OQ);
        if (exact) close |= _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(FLT_MAX), _CMP_NLE_UQ); /* infinite, or no number */
        for (; close; close &= close - 1) {
            const int j = __builtin_ctz(close);
            o[k + j] = exact ? level_of(exact[k + j], start) : find_level(v[k + j], start);
        }
    }
}

/* Joins whole blocks of 64 levels of three planes to pixels. */
WIDE static void interleave_wide(uint8_t y[3][CHUNK], size_t whole, uint8_t *o)
{
    __m512i order[3];
    for (int v = 0; v < 3; v++) order[v] = _mm512_loadu_si512(put_order[v]);
    for (size_t k = 0; k < whole; k += 64, o += 192) {
        const __m512i r = _mm512_loadu_si512(y[0] + k), g = _mm512_loadu_si512(y[1] + k), b = _mm512_loadu_si512(y[2] + k);
        for (int v = 0; v < 3; v++) {
            const __m512i early = _mm512_permutex2var_epi8(r, order[v], g);
            _mm512_storeu_si512(o + 64 * v, _mm512_mask_permutexvar_epi8(early, _mm512_movepi8_mask(order[v]), order[v], b));
        }
    }
}

/* Whole blocks of 64 pixels of three planes to levels; returns how many pixels that were. */
WIDE static size_t write_starts_wide(Planes_32 x, size_t n, int start, uint8_t *o)
{
    uint8_t y[3][CHUNK];
    const size_t whole = n / 64 * 64;
    for (int c = 0; c < 3; c++)
        if (start == LIGHT) find_levels_wide(x[c], NULL, whole, y[c], LIGHT);
        else if (start == DENSITY) find_levels_wide(x[c], NULL, whole, y[c], DENSITY);
        else round_levels(x[c], whole, y[c]);
    interleave_wide(y, whole, o);
    return whole;
}

/* The same for light or densities in float64. */
WIDE static size_t write_exact_wide(Planes_64 x, size_t n, int start, uint8_t *o)
{
    uint8_t y[3][CHUNK];
    float v[CHUNK];
    const size_t whole = n / 64 * 64;
    for (int c = 0; c < 3; c++) {
        for (size_t k = 0; k < whole; k += 8) _mm256_storeu_ps(v + k, _mm512_cvtpd_ps(_mm512_loadu_pd(x[c] + k)));
        if (start == LIGHT) find_levels_wide(v, x[c], whole, y[c], LIGHT);
        else find_levels_wide(v, x[c], whole, y[c], DENSITY);
    }
    interleave_wide(y, whole, o);
    return whole;
}

/* Rounds whole blocks of 16 pixels to steps and adds them, and their products up to `reach`; returns how many pixels that were. The compiler
 * multiplies 64 bits by 64 where 32 by 32 are enough, and goes over the pixels once for every sum. */
WIDE static inline __attribute__((always_inline)) size_t sum_steps_of(Planes_32 x, size_t n, const float *steps, const int reach, int64_t *sums,
                                                                      int64_t *products)
{
    const size_t whole = n / 16 * 16;
    const __m512 shift = _mm512_set1_ps(THREE_22), scale[3] = {_mm512_set1_ps(steps[0]), _mm512_set1_ps(steps[1]), _mm512_set1_ps(steps[2])};
    const __m512i zero = _mm512_castps_si512(shift);
    __m512i s[3], t[9];
    for (int i = 0; i < 3; i++) s[i] = _mm512_setzero_si512();
    for (int i = 0; i < 9; i++) t[i] = _mm512_setzero_si512();
    for (size_t k = 0; k < whole; k += 16) {
        __m512i q[3], odd[3];
        for (int i = 0; i < 3; i++) {
            q[i] = _mm512_sub_epi32(_mm512_castps_si512(_mm512_add_ps(_mm512_mul_ps(_mm512_loadu_ps(x[i] + k), scale[i]), shift)), zero);
            odd[i] = _mm512_srli_epi64(q[i], 32);
            s[i] = _mm512_add_epi32(s[i], q[i]);
        }
        for (int d = 0; d < reach; d++)
            for (int i = 0; i + d < 3; i++) {
                const __m512i both = _mm512_add_epi64(_mm512_mul_epi32(q[i], q[i + d]), _mm512_mul_epi32(odd[i], odd[i + d]));
                t[3 * d + i] = _mm512_add_epi64(t[3 * d + i], both);
            }
    }
    for (int i = 0; i < 3; i++) {
        const __m512i lower = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(s[i]));
        sums[i] = _mm512_reduce_add_epi64(_mm512_add_epi64(lower, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(s[i], 1))));
    }
    for (int i = 0; i < 3 * reach; i++) products[i] = _mm512_reduce_add_epi64(t[i]);
    return whole;
}

WIDE static size_t sum_steps_wide(Planes_32 x, size_t n, const float *steps, int reach, int64_t *sums, int64_t *products)
{
    return reach == 1 ? sum_steps_of(x, n, steps, 1, sums, products) : sum_steps_of(x, n, steps, 3, sums, products);
}
