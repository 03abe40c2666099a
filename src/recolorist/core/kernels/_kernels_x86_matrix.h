/* Faster 8-bit colour for x86 with AVX2 or AVX-512 VNNI: sums of products of three channels, and the 3 x 3 map. Both give what the plain
 * loops give. */
#include "_kernels_x86_vnni.h"

#define AVX2 __attribute__((target("avx2,fma")))

static int has_avx2_and_fma(void) { return simd_level() >= 1 && __builtin_cpu_supports("fma"); }

/* Eight pixels of three bytes, read as 32 bytes, to one vector of 32-bit words for each channel. */
#define UNWEAVE(p, r, g, b)                                                                                            \
    const __m256i pair = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(p)), halves);                \
    const __m256i r = _mm256_shuffle_epi8(pair, pick[0]), g = _mm256_shuffle_epi8(pair, pick[1]);                      \
    const __m256i b = _mm256_shuffle_epi8(pair, pick[2]);

#define PICK(c)                                                                                                        \
    _mm256_setr_epi8(c, -1, -1, -1, c + 3, -1, -1, -1, c + 6, -1, -1, -1, c + 9, -1, -1, -1, c, -1, -1, -1, c + 3, -1, \
                     -1, -1, c + 6, -1, -1, -1, c + 9, -1, -1, -1)

/* Exact sums and products; the caller counts what is left. 16 pixels a step, two of each channel in a 32-bit word: one instruction
 * multiplies both and adds them. Words are flushed before they overflow: 16384 * 2 * 255^2 fits. */
AVX2 static size_t moments_u8_3_avx2(const uint8_t *p, size_t pixels, uint64_t *sums, uint64_t *products)
{
    static const int place[6] = {0, 1, 2, 3, 4, 6}; /* of rr, gg, bb, rg, gb, rb among the products */
    const __m256i halves = _mm256_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0), ones = _mm256_set1_epi16(1);
    const __m256i pick[3] = {PICK(0), PICK(1), PICK(2)};
    size_t done = 0;
    while (done + 20 <= pixels) { /* the second load reads 32 bytes where 24 count */
        __m256i s[3], q[6];
        for (int i = 0; i < 3; i++) s[i] = _mm256_setzero_si256();
        for (int i = 0; i < 6; i++) q[i] = _mm256_setzero_si256();
        for (int step = 0; step < 16384 && done + 20 <= pixels; step++, done += 16, p += 48) {
            __m256i v[3];
            UNWEAVE(p, r, g, b)
            {
                UNWEAVE(p + 24, x, y, z)
                v[0] = _mm256_or_si256(r, _mm256_slli_epi32(x, 16)), v[1] = _mm256_or_si256(g, _mm256_slli_epi32(y, 16));
                v[2] = _mm256_or_si256(b, _mm256_slli_epi32(z, 16));
            }
            for (int i = 0; i < 3; i++) {
                s[i] = _mm256_add_epi32(s[i], _mm256_madd_epi16(v[i], ones));
                q[i] = _mm256_add_epi32(q[i], _mm256_madd_epi16(v[i], v[i]));
            }
            q[3] = _mm256_add_epi32(q[3], _mm256_madd_epi16(v[0], v[1]));
            q[4] = _mm256_add_epi32(q[4], _mm256_madd_epi16(v[1], v[2]));
            q[5] = _mm256_add_epi32(q[5], _mm256_madd_epi16(v[0], v[2]));
        }
        for (int i = 0; i < 9; i++) {
            uint32_t words[8];
            _mm256_storeu_si256((__m256i *)words, i < 3 ? s[i] : q[i - 3]);
            for (int j = 0; j < 8; j++) *(i < 3 ? sums + i : products + place[i - 3]) += words[j];
        }
    }
    return done;
}

/* The map in float32. Each float32 result lies within `slack` of the float64 formula: coefficients and three fused steps round once
 * each, so four halves of a last place of the sum of magnitudes, and six are allowed for. Where the result is further than that from
 * a half, both round to the same level; the other pixels are mapped again in float64. */
enum { TILE = 256 };

/* Returns the distance from a half from which on both round to the same level, or a negative number where float32 cannot serve. */
static double sure_distance(const Map *m)
{
    double most = 0.0;
    for (int i = 0; i < 3; i++) {
        const double *g = m->gain + 3 * i, reach = 255.0 * ((fabs(g[0]) + fabs(g[1])) + fabs(g[2])) + fabs(m->offset[i]);
        most = reach > most ? reach : most;
    }
    const double slack = most * 6.0 / 16777216.0;
    return slack < 0.125 && m->low == 0.0 && m->high == 255.0 ? (0.5 - slack) - 1e-6 : -1.0;
}

AVX2 static size_t matrix3_u8_avx2(const uint8_t *p, uint8_t *o, size_t pixels, const Map *m)
{
    const __m256i halves = _mm256_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0), joined = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    const __m256i pick[3] = {PICK(0), PICK(1), PICK(2)};
    const __m256i weave = _mm256_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1, 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1,
                                           -1, -1, -1);
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const double sure = sure_distance(m);
    __m256 a[9], c[3];
    size_t done = 0;
    if (sure < 0.0) return 0;
    for (int i = 0; i < 9; i++) a[i] = _mm256_set1_ps((float)m->gain[i]);
    for (int i = 0; i < 3; i++) c[i] = _mm256_set1_ps((float)m->offset[i]);
    const __m256 near = _mm256_set1_ps((float)sure);
    while (done + TILE + 3 <= pixels) { /* the last load of a tile reads 32 bytes where 24 count */
        uint32_t doubtful = 0;
        for (int k = 0; k < TILE; k += 8) {
            UNWEAVE(p + 3 * k, r, g, b)
            const __m256 x = _mm256_cvtepi32_ps(r), y = _mm256_cvtepi32_ps(g), z = _mm256_cvtepi32_ps(b);
            __m256i level[3];
            __m256 off = _mm256_setzero_ps();
            for (int i = 0; i < 3; i++) {
                const __m256 v = _mm256_fmadd_ps(a[3 * i + 2], z, _mm256_fmadd_ps(a[3 * i + 1], y, _mm256_fmadd_ps(a[3 * i], x, c[i])));
                level[i] = _mm256_cvtps_epi32(v);
                off = _mm256_max_ps(off, _mm256_andnot_ps(sign, _mm256_sub_ps(v, _mm256_cvtepi32_ps(level[i]))));
            }
            doubtful |= (uint32_t)(_mm256_movemask_ps(_mm256_cmp_ps(off, near, _CMP_GT_OQ)) != 0) << (k / 8);
            const __m256i words = _mm256_packs_epi32(level[0], level[1]), rest = _mm256_packs_epi32(level[2], level[2]);
            const __m256i bytes = _mm256_shuffle_epi8(_mm256_packus_epi16(words, rest), weave);
            const __m256i whole = _mm256_permutevar8x32_epi32(bytes, joined);
            _mm_storeu_si128((__m128i *)(o + 3 * k), _mm256_castsi256_si128(whole));
            _mm_storel_epi64((__m128i *)(o + 3 * k + 16), _mm256_extracti128_si256(whole, 1));
        }
        if (__builtin_popcount(doubtful) > 8) matrix3_u8(p, o, TILE, m);
        else
            for (; doubtful; doubtful &= doubtful - 1) {
                const int k = 24 * __builtin_ctz(doubtful);
                matrix3_u8(p + k, o + k, 8, m);
            }
        p += 3 * TILE, o += 3 * TILE, done += TILE;
    }
    return done;
}

/* The same with AVX-512 VNNI, in whole numbers: `shift` bits of a number in 32 bits are its fraction. A coefficient has 24 bits; one
 * instruction adds the products of its first 16 with 256 * (x - 128) and of its last 8 with x, which lie side by side in a word. */
typedef struct {
    int shift;
    int32_t unsure;           /* below it, a fraction may belong to another level */
    int32_t base[3], pair[9]; /* offsets, and the two parts of each coefficient */
} FixedMap;

/* Returns 0 where 32 bits cannot serve. Coefficients are rounded, which moves a sum to either side; `base` takes back half of that. The
 * other half, and the rounding of the base, make a fraction unsure. */
static int fit_fixed(const Map *m, FixedMap *f)
{
    double most = 0.0, largest = 0.0, scale = 8388608.0, slack = 0.0, base[3];
    for (int i = 0; i < 3; i++) {
        const double *g = m->gain + 3 * i, reach = 255.0 * ((fabs(g[0]) + fabs(g[1])) + fabs(g[2])) + fabs(m->offset[i]);
        most = reach > most ? reach : most;
        for (int j = 0; j < 3; j++) largest = fabs(g[j]) > largest ? fabs(g[j]) : largest;
    }
    for (f->shift = 23; (most + 2.0) * scale > 2147483648.0 || largest * scale > 8388000.0; scale /= 2.0)
        if (--f->shift < 16) return 0;
    for (int i = 0; i < 3; i++) {
        double error = 0.0, errors = 0.0;
        base[i] = (m->offset[i] + 0.5) * scale;
        for (int j = 3 * i; j < 3 * i + 3; j++) {
            const double exact = m->gain[j] * scale, whole = HALF_EVEN(exact);
            const int32_t number = (int32_t)whole, last = number & 255, first = (number - last) / 256;
            error += exact - whole, errors += fabs(exact - whole);
            f->pair[j] = (int32_t)((uint32_t)first << 16 | (uint32_t)last), base[i] += 32768.0 * first;
        }
        base[i] += 127.5 * error, slack = 127.5 * errors > slack ? 127.5 * errors : slack;
    }
    for (f->unsure = 4; f->unsure < 2.0 * slack + 2.0;) f->unsure *= 2;
    for (int i = 0; i < 3; i++) f->base[i] = (int32_t)(uint32_t)(int64_t)HALF_EVEN(base[i] + f->unsure / 2);
    return m->low == 0.0 && m->high == 255.0;
}

/* 16 pixels at a time. Whole vectors are written, half as costly as masked ones where the output is not in the cache; source and target
 * must not overlap. */
VNNI static size_t matrix3_u8_vnni(const uint8_t *p, uint8_t *o, size_t pixels, const Map *m)
{
    FixedMap f;
    uint8_t spread[3][64], gather[64] = {0};
    __m512i pick[3], base[3], pair[9];
    size_t done = 0;
    if (pixels < 22 || !fit_fixed(m, &f)) return 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 64; j++) spread[i][j] = (uint8_t)(3 * (j / 4) + i);
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 3; i++) gather[3 * k + i] = (uint8_t)(k / 4 * 16 + 4 * i + k % 4);
    for (int i = 0; i < 3; i++) pick[i] = _mm512_loadu_si512(spread[i]), base[i] = _mm512_set1_epi32(f.base[i]);
    for (int i = 0; i < 9; i++) pair[i] = _mm512_set1_epi32(f.pair[i]);
    const __m512i weave = _mm512_loadu_si512(gather), sign = _mm512_set1_epi32(INT32_MIN);
    const __m512i sure = _mm512_set1_epi32((1 << f.shift) - f.unsure); /* the bits of a fraction that are not all 0 if it is sure */
    const __m128i shift = _mm_cvtsi32_si128(f.shift);
    for (; done + 22 <= pixels; done += 16, p += 48, o += 48) { /* reads and writes 64 bytes, of which 48 count */
        const __m512i bytes = _mm512_loadu_si512(p);
        __m512i x[3], v[3];
        uint32_t doubtful = 0;
        for (int i = 0; i < 3; i++) x[i] = _mm512_xor_si512(sign, _mm512_maskz_permutexvar_epi8(0x9999999999999999, pick[i], bytes));
        for (int i = 0; i < 3; i++) {
            v[i] = _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(base[i], x[0], pair[3 * i]), x[1], pair[3 * i + 1]);
            v[i] = _mm512_dpwssd_epi32(v[i], x[2], pair[3 * i + 2]);
            doubtful |= (uint32_t)_mm512_testn_epi32_mask(v[i], sure);
            v[i] = _mm512_sra_epi32(v[i], shift);
        }
        const __m512i levels = _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[2]));
        _mm512_storeu_si512(o, _mm512_permutexvar_epi8(weave, levels)); /* the rest is written again by the next turn */
        for (; doubtful; doubtful &= doubtful - 1) {
            const int k = 3 * __builtin_ctz(doubtful);
            map_pixel_u8(p + k, o + k, m);
        }
    }
    return done;
}

static size_t moments_u8_simd(const uint8_t *p, size_t pixels, int channels, int reach, uint64_t *sums, uint64_t *products)
{
    if (has_vnni() && (channels == 3 ? reach != 2 : reach == 1 && (channels == 1 || channels == 4))) {
        moments_u8_vnni(p, pixels, channels, channels, reach, sums, products);
        return pixels;
    }
    if (channels != 3 || reach == 2 || (reach == 1 && pixels >= FEW_PIXELS) || !has_avx2_and_fma()) return 0;
    uint64_t all[9] = {0}; /* the loop forms all products; those that were not asked for are dropped */
    const size_t done = moments_u8_3_avx2(p, pixels, sums, all);
    for (int i = 0; i < 3 * reach; i++) products[i] += all[i];
    return done;
}

static size_t moments_rgba_simd(const uint8_t *p, size_t pixels, uint64_t *sums, uint64_t *products)
{
    if (!has_vnni()) return 0;
    moments_u8_vnni(p, pixels, 4, 3, 3, sums, products);
    return pixels;
}

static size_t matrix3_u8_simd(const uint8_t *p, uint8_t *o, size_t pixels, const Map *m)
{
    const size_t done = has_vnni() ? matrix3_u8_vnni(p, o, pixels, m) : 0;
    return done || !has_avx2_and_fma() ? done : matrix3_u8_avx2(p, o, pixels, m);
}
