/* The hot loops: exact moments, the affine map, histograms. Options and images are checked by the callers. fallback.py
 * holds the same loops in NumPy, and the two must agree bit for bit. Built with -ffp-contract=off: a fused multiply-add
 * would round differently from NumPy. Pixels are interleaved, contiguous and in native byte order. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHANNELS 512 /* core/image.py refuses more */
#define FEW_PIXELS 2048  /* pixels up to which forming all products costs less than the end of a loop for squares alone */
#define LANES 32         /* pixels per step: channel phase stays fixed, so the compiler can vectorise */
#define BLOCK 4096       /* pixels whose float sums form one partial sum; part of the definition of a float mean */
#define FLOAT_LANES 16   /* running sums per channel inside a block; also part of that definition */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define CLONED __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CLONED
#endif

/* Several 32-bit words that are worked on at once, where the compiler has such a type; else one. */
#if defined(__GNUC__)
typedef uint32_t Words __attribute__((vector_size(32)));
#else
typedef uint32_t Words;
#endif
#define WORDS (int)(sizeof(Words) / sizeof(uint32_t))

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FIRST_BYTE(word) ((word) >> 24)
#define SECOND_BYTE(word) ((word) >> 16 & 255)
#define THIRD_BYTE(word) ((word) >> 8 & 255)
#else
#define FIRST_BYTE(word) ((word) & 255)
#define SECOND_BYTE(word) ((word) >> 8 & 255)
#define THIRD_BYTE(word) ((word) >> 16 & 255)
#endif

/* ---- exact integer moments ------------------------------------------------------------------------------------ */

/* uint8, `lanes = channels * LANES` running sums; `reach` products per value: x[i]*x[i], x[i]*x[i+1], ...
 * 32-bit sums are flushed every 4096 steps: 4096 * 255^2 fits, while a 2.1-megapixel white image would overflow. */
#define DEFINE_MOMENTS_U8(NAME, CHANNELS, REACH)                                                                       \
    CLONED static void NAME(const uint8_t *p, size_t steps, uint64_t *sums, uint64_t *products)                        \
    {                                                                                                                  \
        enum { N = (CHANNELS) * LANES };                                                                               \
        while (steps) {                                                                                                \
            size_t todo = steps < 4096 ? steps : 4096;                                                                 \
            uint32_t s[N] = {0}, q[REACH][N] = {{0}};                                                                  \
            steps -= todo;                                                                                             \
            while (todo) {                                                                                             \
                size_t few = todo < 256 ? todo : 256; /* 256 * 255 fits in 16 bits */                                  \
                uint16_t t[N] = {0};                                                                                   \
                todo -= few;                                                                                           \
                for (size_t k = 0; k < few; k++, p += N) {                                                             \
                    for (int j = 0; j < N; j++) {                                                                      \
                        uint16_t v = p[j];                                                                             \
                        t[j] = (uint16_t)(t[j] + v);                                                                   \
                        q[0][j] += (uint16_t)(v * v);                                                                  \
                    }                                                                                                  \
                    for (int d = 1; d < REACH; d++)                                                                    \
                        for (int j = 0; j < N; j++) q[d][j] += (uint16_t)((uint16_t)p[j] * (uint16_t)p[j + d]);        \
                }                                                                                                      \
                for (int j = 0; j < N; j++) s[j] += t[j];                                                              \
            }                                                                                                          \
            for (int j = 0; j < N; j++) sums[j % (CHANNELS)] += s[j];                                                  \
            for (int d = 0; d < REACH; d++)                                                                            \
                for (int j = 0; j < N; j++) products[d * (CHANNELS) + j % (CHANNELS)] += q[d][j];                      \
        }                                                                                                              \
    }
DEFINE_MOMENTS_U8(moments_u8_3, 3, 1)
DEFINE_MOMENTS_U8(moments_u8_4, 4, 1)
DEFINE_MOMENTS_U8(moments_u8_3_cross, 3, 3)

#define DEFINE_MOMENTS_ANY(NAME, TYPE)                                                                                 \
    CLONED static void NAME(const TYPE *p, size_t pixels, int channels, int reach, uint64_t *sums, uint64_t *products) \
    {                                                                                                                  \
        for (size_t k = 0; k < pixels; k++, p += channels)                                                             \
            for (int i = 0; i < channels; i++) {                                                                       \
                uint64_t v = p[i];                                                                                     \
                sums[i] += v;                                                                                          \
                for (int d = 0; d < reach && i + d < channels; d++) products[d * channels + i] += v * p[i + d];        \
            }                                                                                                          \
    }
DEFINE_MOMENTS_ANY(moments_any_u8, uint8_t)
DEFINE_MOMENTS_ANY(moments_any_u16, uint16_t)

/* uint16 with three channels is the common 16-bit case; constant bounds let the compiler unroll and vectorise it */
#define DEFINE_MOMENTS_U16_3(NAME, REACH)                                                                              \
    CLONED static void NAME(const uint16_t *p, size_t steps, uint64_t *sums, uint64_t *products)                       \
    {                                                                                                                  \
        enum { N = 3 * 8 };                                                                                            \
        uint64_t s[N] = {0}, q[REACH][N] = {{0}};                                                                      \
        for (size_t k = 0; k < steps; k++, p += N) {                                                                   \
            for (int j = 0; j < N; j++) s[j] += p[j];                                                                  \
            for (int d = 0; d < REACH; d++)                                                                            \
                for (int j = 0; j < N; j++) q[d][j] += (uint32_t)p[j] * (uint32_t)p[j + d];                            \
        }                                                                                                              \
        for (int j = 0; j < N; j++) {                                                                                  \
            sums[j % 3] += s[j];                                                                                       \
            for (int d = 0; d < REACH; d++) products[d * 3 + j % 3] += q[d][j];                                        \
        }                                                                                                              \
    }
DEFINE_MOMENTS_U16_3(moments_u16_3, 1)
DEFINE_MOMENTS_U16_3(moments_u16_3_cross, 3)

/* uint8 RGB and a fourth byte that is passed over: alpha, or the padding of an imaging library. Whole pixels in vectors of 32-bit
 * words let the nine running sums stay in registers, so this costs half of what three channels without the byte do. */
CLONED static void moments_u8_rgba(const uint8_t *p, size_t steps, uint64_t *sums, uint64_t *products)
{
    static const int place[6] = {0, 1, 2, 3, 4, 6}; /* of rr, gg, bb, rg, gb, rb among the products */
    while (steps) {
        size_t todo = steps < 65536 ? steps : 65536; /* 65536 * 255^2 fits in 32 bits */
        Words s[3], q[6], v;
        uint32_t sum[3][WORDS], product[6][WORDS];
        steps -= todo;
        memset(s, 0, sizeof s);
        memset(q, 0, sizeof q);
        for (; todo; todo--, p += sizeof v) {
            memcpy(&v, p, sizeof v);
            Words r = FIRST_BYTE(v), g = SECOND_BYTE(v), b = THIRD_BYTE(v);
            s[0] += r, s[1] += g, s[2] += b;
            q[0] += r * r, q[1] += g * g, q[2] += b * b;
            q[3] += r * g, q[4] += g * b, q[5] += r * b;
        }
        memcpy(sum, s, sizeof s);
        memcpy(product, q, sizeof q);
        for (int j = 0; j < WORDS; j++) {
            for (int i = 0; i < 3; i++) sums[i] += sum[i][j];
            for (int i = 0; i < 6; i++) products[place[i]] += product[i][j];
        }
    }
}

/* Both return how many pixels they counted. */
static size_t moments_u8_simd(const uint8_t *p, size_t pixels, int channels, int reach, uint64_t *sums, uint64_t *products);
static size_t moments_rgba_simd(const uint8_t *p, size_t pixels, uint64_t *sums, uint64_t *products);

static void moments_rgba(const uint8_t *p, size_t pixels, uint64_t *sums, uint64_t *products)
{
    if (moments_rgba_simd(p, pixels, sums, products)) return;
    moments_u8_rgba(p, pixels / WORDS, sums, products);
    for (size_t k = pixels / WORDS * WORDS; k < pixels; k++)
        for (int i = 0; i < 3; i++) {
            sums[i] += p[4 * k + i];
            for (int d = 0; i + d < 3; d++) products[3 * d + i] += (uint64_t)p[4 * k + i] * p[4 * k + i + d];
        }
}

/* The vectorised loops may read up to two values past the pixels they count, so the last pixels are left to the plain loop. */
static void moments_integer(const void *data, int itemsize, size_t pixels, int channels, int reach, uint64_t *sums,
                            uint64_t *products)
{
    size_t steps = 0, done = itemsize == 1 ? moments_u8_simd(data, pixels, channels, reach, sums, products) : 0;
    if (itemsize == 1 && channels == 1 && reach == 1 && !done) { /* as four channels: so many sums at once keep the processor busy */
        uint64_t four[4] = {0}, squares[4] = {0};
        steps = pixels / (4 * LANES);
        done = steps * 4 * LANES;
        moments_u8_4(data, steps, four, squares);
        for (int i = 0; i < 4; i++) sums[0] += four[i], products[0] += squares[i];
    } else if (itemsize == 1 && pixels > LANES && !done) {
        steps = (pixels - 1) / LANES;
        done = steps * LANES;
        if (channels == 3 && reach == 1) moments_u8_3(data, steps, sums, products);
        else if (channels == 3 && reach == 3) moments_u8_3_cross(data, steps, sums, products);
        else if (channels == 4 && reach == 1) moments_u8_4(data, steps, sums, products);
        else done = 0;
    } else if (itemsize == 2 && channels == 3 && pixels > 8) {
        steps = (pixels - 1) / 8;
        done = steps * 8;
        if (reach == 1) moments_u16_3(data, steps, sums, products);
        else if (reach == 3) moments_u16_3_cross(data, steps, sums, products);
        else done = 0;
    }
    if (itemsize == 1)
        moments_any_u8((const uint8_t *)data + done * channels, pixels - done, channels, reach, sums, products);
    else
        moments_any_u16((const uint16_t *)data + done * channels, pixels - done, channels, reach, sums, products);
    for (int d = 1; d < reach; d++) /* the lanes also multiply across the end of a pixel; these products are left out */
        for (int i = channels - d; i < channels; i++) products[d * channels + i] = 0;
}

#include "_kernels_floats.h"

/* ---- the map ------------------------------------------------------------------------------------------------------ */

#include "_kernels_map.h"

#define DEFINE_DIAGONAL(NAME, TYPE, FINISH)                                                                            \
    CLONED static void NAME(const TYPE *restrict p, TYPE *restrict o, size_t pixels, const Map *m)                     \
    {                                                                                                                  \
        const double low = m->low, high = m->high;                                                                     \
        size_t k = 0, values = pixels * (size_t)m->channels;                                                           \
        double a[24], b[24];                                                                                           \
        if (24 % m->channels == 0) {                                                                                   \
            for (int j = 0; j < 24; j++) a[j] = m->gain[j % m->channels], b[j] = m->offset[j % m->channels];           \
            for (; k + 24 <= values; k += 24)                                                                          \
                for (int j = 0; j < 24; j++) {                                                                         \
                    double v = a[j] * (double)p[k + j] + b[j];                                                         \
                    o[k + j] = (TYPE)FINISH(clip(v, low, high));                                                       \
                }                                                                                                      \
        }                                                                                                              \
        for (; k < values; k++) {                                                                                      \
            double v = m->gain[k % m->channels] * (double)p[k] + m->offset[k % m->channels];                           \
            o[k] = (TYPE)FINISH(clip(v, low, high));                                                                   \
        }                                                                                                              \
    }
DEFINE_DIAGONAL(diagonal_u8, uint8_t, TO_INTEGER)
DEFINE_DIAGONAL(diagonal_u16, uint16_t, TO_INTEGER)
DEFINE_DIAGONAL(diagonal_f32, float, AS_IT_IS)
DEFINE_DIAGONAL(diagonal_f64, double, AS_IT_IS)

/* Sum in channel order, offset last: the order is part of the definition. Planes of 256 pixels stay in the first cache;
 * all three channels are split, and joined again, in one loop each; otherwise compilers do not vectorise the strided accesses. */
#define DEFINE_MATRIX3(NAME, TYPE, FINISH)                                                                             \
    CLONED static void NAME(const TYPE *restrict p, TYPE *restrict o, size_t pixels, const Map *m)                     \
    {                                                                                                                  \
        const double low = m->low, high = m->high;                                                                     \
        const double *g = m->gain;                                                                                     \
        double x[3][256];                                                                                              \
        TYPE y[3][256];                                                                                                \
        while (pixels) {                                                                                               \
            size_t n = pixels < 256 ? pixels : 256;                                                                    \
            for (size_t k = 0; k < n; k++)                                                                             \
                x[0][k] = (double)p[3 * k], x[1][k] = (double)p[3 * k + 1], x[2][k] = (double)p[3 * k + 2];            \
            for (int c = 0; c < 3; c++) {                                                                              \
                const double g0 = g[3 * c], g1 = g[3 * c + 1], g2 = g[3 * c + 2], b = m->offset[c];                    \
                for (size_t k = 0; k < n; k++) {                                                                       \
                    double v = ((g0 * x[0][k] + g1 * x[1][k]) + g2 * x[2][k]) + b;                                     \
                    y[c][k] = (TYPE)FINISH(clip(v, low, high));                                                        \
                }                                                                                                      \
            }                                                                                                          \
            for (size_t k = 0; k < n; k++) o[3 * k] = y[0][k], o[3 * k + 1] = y[1][k], o[3 * k + 2] = y[2][k];         \
            p += 3 * n, o += 3 * n, pixels -= n;                                                                       \
        }                                                                                                              \
    }
DEFINE_MATRIX3(matrix3_u8, uint8_t, TO_INTEGER)
DEFINE_MATRIX3(matrix3_u16, uint16_t, TO_INTEGER)
DEFINE_MATRIX3(matrix3_f32, float, AS_IT_IS)
DEFINE_MATRIX3(matrix3_f64, double, AS_IT_IS)

/* One pixel by the same formula. */
static inline void map_pixel_u8(const uint8_t *p, uint8_t *o, const Map *m)
{
    const double x = p[0], y = p[1], z = p[2], *g = m->gain;
    for (int c = 0; c < 3; c++, g += 3) o[c] = (uint8_t)TO_INTEGER(clip(((g[0] * x + g[1] * y) + g[2] * z) + m->offset[c], m->low, m->high));
}

/* ---- 8-bit: the float64 formula decides 256 outputs per channel; everything faster must reproduce that table ------ */

CLONED static void table_u8(uint8_t *table, double gain, double offset, double low, double high)
{
    for (int x = 0; x < 256; x++) table[x] = (uint8_t)TO_INTEGER(clip(gain * (double)x + offset, low, high));
}

static void tables_u8(uint8_t *tables, const Map *m)
{
    for (int c = 0; c < m->channels; c++) table_u8(tables + 256 * c, m->gain[c], m->offset[c], m->low, m->high);
}

static void look_up_u8(const uint8_t *restrict p, uint8_t *restrict o, size_t pixels, int channels,
                       const uint8_t *restrict tables)
{
    if (channels == 3) /* the constant lets the compiler unroll */
        for (size_t k = 0; k < pixels; k++, p += 3, o += 3)
            o[0] = tables[p[0]], o[1] = tables[256 + p[1]], o[2] = tables[512 + p[2]];
    else
        for (size_t k = 0; k < pixels; k++, p += channels, o += channels)
            for (int c = 0; c < channels; c++) o[c] = tables[256 * c + p[c]];
}

#if defined(__GNUC__) && defined(__x86_64__)
#include "_kernels_x86.h"
#define HAVE_WIDE
#include "_kernels_x86_matrix.h"
#else
static size_t look_up_simd(const uint8_t *p, uint8_t *o, size_t pixels, int channels, const uint8_t *tables)
{
    (void)p, (void)o, (void)pixels, (void)channels, (void)tables;
    return 0; /* pixels done */
}
static size_t map_u8_simd(const uint8_t *p, uint8_t *o, size_t pixels, int channels, const uint8_t *tables, const Map *m)
{
    (void)p, (void)o, (void)pixels, (void)channels, (void)tables, (void)m;
    return 0; /* pixels done */
}
static int sums_f32_simd(const float *p, size_t pixels, int channels, double *sums, double *lows, double *highs)
{
    (void)p, (void)pixels, (void)channels, (void)sums, (void)lows, (void)highs;
    return 0;
}
static size_t map_f32_simd(const float *p, float *o, size_t values, const Map *m)
{
    (void)p, (void)o, (void)values, (void)m;
    return 0;
}
static size_t moments_u8_simd(const uint8_t *p, size_t pixels, int channels, int reach, uint64_t *sums, uint64_t *products)
{
    (void)p, (void)pixels, (void)channels, (void)reach, (void)sums, (void)products;
    return 0;
}
static size_t moments_rgba_simd(const uint8_t *p, size_t pixels, uint64_t *sums, uint64_t *products)
{
    (void)p, (void)pixels, (void)sums, (void)products;
    return 0;
}
static size_t matrix3_u8_simd(const uint8_t *p, uint8_t *o, size_t pixels, const Map *m)
{
    (void)p, (void)o, (void)pixels, (void)m;
    return 0;
}
#endif

static void matrix3_fast_u8(const uint8_t *p, uint8_t *o, size_t pixels, const Map *m)
{
    const size_t done = matrix3_u8_simd(p, o, pixels, m);
    matrix3_u8(p + 3 * done, o + 3 * done, pixels - done, m);
}

static void diagonal_table_u8(const uint8_t *p, uint8_t *o, size_t pixels, const Map *m)
{
    uint8_t tables[256 * 16];
    if (m->channels > 16) {
        diagonal_u8(p, o, pixels, m);
        return;
    }
    tables_u8(tables, m);
    size_t done = map_u8_simd(p, o, pixels, m->channels, tables, m);
    look_up_u8(p + done * m->channels, o + done * m->channels, pixels - done, m->channels, tables);
}

static void diagonal_fast_f32(const float *p, float *o, size_t pixels, const Map *m)
{
    const size_t done = map_f32_simd(p, o, pixels * (size_t)m->channels, m); /* whole pixels */
    diagonal_f32(p + done, o + done, pixels - done / m->channels, m);
}

static void look_up_all_u8(const uint8_t *p, uint8_t *o, size_t pixels, int channels, const uint8_t *tables)
{
    const size_t done = look_up_simd(p, o, pixels, channels, tables);
    look_up_u8(p + done * channels, o + done * channels, pixels - done, channels, tables);
}

static void map_pixels(const void *p, void *o, char kind, int diagonal, size_t pixels, const Map *m)
{
    switch (kind) {
    case 'B': diagonal ? diagonal_table_u8(p, o, pixels, m) : matrix3_fast_u8(p, o, pixels, m); break;
    case 'H': diagonal ? diagonal_u16(p, o, pixels, m) : matrix3_u16(p, o, pixels, m); break;
    case 'f': diagonal ? diagonal_fast_f32(p, o, pixels, m) : matrix3_f32(p, o, pixels, m); break;
    default: diagonal ? diagonal_f64(p, o, pixels, m) : matrix3_f64(p, o, pixels, m); break;
    }
}

/* One table of floats per channel, interleaved pixels in, planes out: matching, scaling and normalising in one look-up. */
static void look_up_planes(const uint8_t *restrict p, float *restrict o, size_t pixels, int channels,
                           const float *restrict tables)
{
    if (channels == 3) {
        float *restrict o1 = o + pixels, *restrict o2 = o1 + pixels;
        for (size_t k = 0; k < pixels; k++, p += 3)
            o[k] = tables[p[0]], o1[k] = tables[256 + p[1]], o2[k] = tables[512 + p[2]];
    } else {
        for (int c = 0; c < channels; c++)
            for (size_t k = 0; k < pixels; k++) o[(size_t)c * pixels + k] = tables[256 * c + p[k * channels + c]];
    }
}

#include "_kernels_counts.h"
#include "_kernels_converted.h"
#include "_kernels_ranks.h"
#include "_kernels_shares.h"
#include "_kernels_module.h"
