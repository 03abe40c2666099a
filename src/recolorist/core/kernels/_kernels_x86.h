/* Faster maps of 8-bit pixels for x86 processors with AVX2 or AVX-512 VBMI, and loops over floats with AVX-512. Compilers turn the plain
 * 8-bit loop into three times as many instructions as AVX2 needs, and seven times as many as AVX-512 VBMI. RECOLORIST_SIMD in the
 * environment ("avx2", "none") switches the newer instructions off, so that each route can be tested on one machine. */
#include <immintrin.h>

static int simd_level(void)
{
    static int level = -1; /* asked once; two threads asking at once find the same answer */
    if (level < 0) {
        const char *wish = getenv("RECOLORIST_SIMD");
        int most = wish && strcmp(wish, "none") == 0 ? 0 : wish && strcmp(wish, "avx2") == 0 ? 1 : 2;
        int has = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") ? 2
                  : __builtin_cpu_supports("avx2")                                           ? 1
                                                                                             : 0;
        level = has < most ? has : most;
    }
    return level;
}

/* AVX2: the map in float32 with saturating packs. 24 lanes serve 1, 2, 3, 4, 6, 8 and 12 channels alike. */
typedef struct {
    float gain[24], offset[24];
} Float32Map;

__attribute__((target("avx2"))) static void map_u8_avx2(const uint8_t *p, uint8_t *o, size_t steps, const Float32Map *f)
{
    __m256 a[3], b[3];
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* undoes the lane order of the two packs */
    for (int g = 0; g < 3; g++) a[g] = _mm256_loadu_ps(f->gain + 8 * g), b[g] = _mm256_loadu_ps(f->offset + 8 * g);
    for (size_t k = 0; k < steps; k++, p += 96, o += 96)
        for (int part = 0; part < 3; part++) {
            __m256i v[4];
            for (int i = 0; i < 4; i++) {
                const int g = (4 * part + i) % 3;
                __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p + 32 * part + 8 * i)));
                v[i] = _mm256_cvtps_epi32(_mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(x), a[g]), b[g]));
            }
            __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
            _mm256_storeu_si256((__m256i *)(o + 32 * part), _mm256_permutevar8x32_epi32(packed, order));
        }
}

/* One value as map_u8_avx2 treats it: the same IEEE steps, so what holds here holds there. */
static inline uint8_t float32_step(float gain, float offset, int x)
{
    int v = _mm_cvtss_si32(_mm_set_ss((float)x * gain + offset));
    v = v > 255 ? 255 : v;
    return (uint8_t)(v < 0 ? 0 : v);
}

static int reproduces(float gain, float offset, const uint8_t *table)
{
    int wrong = 0;
    for (int x = 0; x < 256; x++) wrong |= float32_step(gain, offset, x) != table[x];
    return !wrong;
}

/* Returns whether the map in float32 gives the outputs of the float64 formula for all 256 inputs of every channel. Where a value lies
 * so close to a rounding boundary that float32 errs, a small change of the offset is tried, which usually corrects it. */
static int fit_float32(Float32Map *f, int channels, const uint8_t *tables, const Map *m)
{
    static const float nudges[] = {0.0f, 4e-5f, -4e-5f};
    for (int c = 0; c < channels; c++) {
        int t = 0;
        while (t < 3 && !reproduces((float)m->gain[c], (float)m->offset[c] + nudges[t], tables + 256 * c)) t++;
        if (t == 3) return 0;
        for (int j = c; j < 24; j += channels)
            f->gain[j] = (float)m->gain[c], f->offset[j] = (float)m->offset[c] + nudges[t];
    }
    return 1;
}

/* AVX-512 VBMI: whole 256-entry tables fit into registers, so looking up the exact table is the fastest map and float32
 * is not needed. `channels` is a constant in each caller; unrolled, the masks become constants too. */
#define VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))
VBMI static inline __attribute__((always_inline)) void look_up_vbmi(const uint8_t *p, uint8_t *o, size_t steps,
                                                                    const uint8_t *tables, const int channels)
{
    __m512i t[4][4];
    __mmask64 mine[4]; /* bytes j of a vector with j % channels == c */
    for (int c = 0; c < channels; c++) {
        mine[c] = 0;
        for (int j = c; j < 64; j += channels) mine[c] |= (__mmask64)1 << j;
        for (int i = 0; i < 4; i++) t[c][i] = _mm512_loadu_si512(tables + 256 * c + 64 * i);
    }
    for (size_t k = 0; k < steps; k++, p += 192, o += 192)
        for (int v = 0; v < 3; v++) {
            __m512i x = _mm512_loadu_si512(p + 64 * v), y = x;
            __mmask64 upper = _mm512_movepi8_mask(x);
            for (int c = 0; c < channels; c++) {
                __m512i low = _mm512_permutex2var_epi8(t[c][0], x, t[c][1]);
                __m512i high = _mm512_permutex2var_epi8(t[c][2], x, t[c][3]);
                int phase = ((c - 64 * v) % channels + channels) % channels; /* vectors start at another channel each */
                y = _mm512_mask_mov_epi8(y, mine[phase], _mm512_mask_mov_epi8(low, upper, high));
            }
            _mm512_storeu_si512(o + 64 * v, y);
        }
}
VBMI static void look_up_vbmi_1(const uint8_t *p, uint8_t *o, size_t steps, const uint8_t *t) { look_up_vbmi(p, o, steps, t, 1); }
VBMI static void look_up_vbmi_3(const uint8_t *p, uint8_t *o, size_t steps, const uint8_t *t) { look_up_vbmi(p, o, steps, t, 3); }
VBMI static void look_up_vbmi_4(const uint8_t *p, uint8_t *o, size_t steps, const uint8_t *t) { look_up_vbmi(p, o, steps, t, 4); }

/* Both return how many pixels were mapped; the caller looks up the rest. */
static size_t look_up_simd(const uint8_t *p, uint8_t *o, size_t pixels, int channels, const uint8_t *tables)
{
    const size_t values = pixels * (size_t)channels;
    if (values < 3072 || simd_level() < 2) return 0; /* setting up costs more than it saves */
    if (channels == 1) look_up_vbmi_1(p, o, values / 192, tables);
    else if (channels == 3) look_up_vbmi_3(p, o, values / 192, tables);
    else if (channels == 4) look_up_vbmi_4(p, o, values / 192, tables);
    else return 0;
    return values / 192 * 192 / channels;
}

static size_t map_u8_simd(const uint8_t *p, uint8_t *o, size_t pixels, int channels, const uint8_t *tables, const Map *m)
{
    const size_t values = pixels * (size_t)channels, done = look_up_simd(p, o, pixels, channels, tables);
    Float32Map f;
    if (done || values < 3072) return done;
    if (24 % channels == 0 && simd_level() >= 1 && fit_float32(&f, channels, tables, m)) {
        map_u8_avx2(p, o, values / 96, &f);
        return values / 96 * 96 / channels;
    }
    return 0;
}

/* Floats: the compiler keeps to vectors of 256 bits, which take half as long again. */
#define WIDE_FLOATS __attribute__((target("avx512f")))
WIDE_FLOATS static void map_f32_wide(const float *p, float *o, size_t steps, const Map *m)
{
    const __m512d low = _mm512_set1_pd(m->low), high = _mm512_set1_pd(m->high);
    double gain[24], offset[24];
    __m512d a[3], b[3];
    for (int j = 0; j < 24; j++) gain[j] = m->gain[j % m->channels], offset[j] = m->offset[j % m->channels];
    for (int g = 0; g < 3; g++) a[g] = _mm512_loadu_pd(gain + 8 * g), b[g] = _mm512_loadu_pd(offset + 8 * g);
    for (; steps; steps--, p += 24, o += 24)
        for (int g = 0; g < 3; g++) {
            const __m512d v = _mm512_add_pd(_mm512_mul_pd(a[g], _mm512_cvtps_pd(_mm256_loadu_ps(p + 8 * g))), b[g]);
            _mm256_storeu_ps(o + 8 * g, _mm512_cvtpd_ps(_mm512_min_pd(high, _mm512_max_pd(low, v)))); /* a value that is no number stays */
        }
}

/* Returns how many values were mapped. */
static size_t map_f32_simd(const float *p, float *o, size_t values, const Map *m)
{
    if (24 % m->channels || simd_level() < 2) return 0;
    map_f32_wide(p, o, values / 24, m);
    return values / 24 * 24;
}

/* sums_woven_f32_1 and _3 with the extremes in the same loop. The order of the sums is part of their definition. `channels` is a
 * constant in each caller. */
WIDE_FLOATS static inline __attribute__((always_inline)) void sums_f32_wide(const float *p, size_t pixels, double *sums,
                                                                            double *lows, double *highs, const int channels)
{
    __m512 a[3], b[3];
    float low[3 * FLOAT_LANES], high[3 * FLOAT_LANES];
    size_t left = 0; /* values in the end that fill no vector */
    for (int i = 0; i < channels; i++) a[i] = _mm512_set1_ps(HUGE_VALF), b[i] = _mm512_set1_ps(-HUGE_VALF);
    while (pixels) {
        size_t todo = pixels < BLOCK ? pixels : BLOCK;
        double s[3 * FLOAT_LANES];
        __m512d t[6];
        for (int i = 0; i < 2 * channels; i++) t[i] = _mm512_setzero_pd();
        pixels -= todo;
        for (; todo >= FLOAT_LANES; todo -= FLOAT_LANES, p += FLOAT_LANES * channels) {
            for (int i = 0; i < channels; i++) {
                const __m512 v = _mm512_loadu_ps(p + 16 * i);
                a[i] = _mm512_min_ps(v, a[i]), b[i] = _mm512_max_ps(v, b[i]); /* the second where the first is no number */
            }
            for (int i = 0; i < 2 * channels; i++) t[i] = _mm512_add_pd(t[i], _mm512_cvtps_pd(_mm256_loadu_ps(p + 8 * i)));
        }
        for (int i = 0; i < 2 * channels; i++) _mm512_storeu_pd(s + 8 * i, t[i]);
        left = channels * todo;
        for (size_t j = 0; j < left; j++) s[j] += (double)p[j];
        for (int c = 0; c < channels; c++) sums[c] += add_lanes(s + c, channels);
    }
    for (int i = 0; i < channels; i++) _mm512_storeu_ps(low + 16 * i, a[i]), _mm512_storeu_ps(high + 16 * i, b[i]);
    for (int j = 0; j < FLOAT_LANES * channels; j++) {
        const int c = j % channels;
        lows[c] = low[j] < lows[c] ? low[j] : lows[c], highs[c] = high[j] > highs[c] ? high[j] : highs[c];
    }
    for (size_t j = 0; j < left; j++) {
        const int c = (int)j % channels;
        lows[c] = p[j] < lows[c] ? p[j] : lows[c], highs[c] = p[j] > highs[c] ? p[j] : highs[c];
    }
}
WIDE_FLOATS static void sums_f32_wide_1(const float *p, size_t pixels, double *sums, double *lows, double *highs)
{
    sums_f32_wide(p, pixels, sums, lows, highs, 1);
}
WIDE_FLOATS static void sums_f32_wide_3(const float *p, size_t pixels, double *sums, double *lows, double *highs)
{
    sums_f32_wide(p, pixels, sums, lows, highs, 3);
}

static int sums_f32_simd(const float *p, size_t pixels, int channels, double *sums, double *lows, double *highs)
{
    if (simd_level() < 2) return 0;
    (channels == 1 ? sums_f32_wide_1 : sums_f32_wide_3)(p, pixels, sums, lows, highs);
    return 1;
}
