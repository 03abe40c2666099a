/* 8-bit images in a colour space that is not linear, in float32: measured exactly, and mapped. Pixels
 * are converted a chunk at a time and never stored. */
#include "_kernels_spaces.h"

#define FARTHEST_32 1e9f /* a map that reaches further is refused by the caller */
#define BINS 4096        /* more than 1 / (smallest distance of two thresholds), so that no bin holds two of them */

/* Where each level lies in each start, and the values from which on an output has at least that level. */
static double level_start_64[3][256];
static float level_start[3][256];
static float thresholds[3][257];
static uint8_t least_level[3][BINS];

static void fill_orders(void);

static void fill_tables(void)
{
    for (int x = 0; x < 256; x++) {
        const double v = (double)x / 255.0;
        level_start_64[UNIT][x] = v, level_start_64[LIGHT][x] = to_light(v), level_start_64[DENSITY][x] = to_density(v);
        for (int start = 0; start < 3; start++) level_start[start][x] = (float)level_start_64[start][x];
    }
    for (int k = 1; k < 256; k++) { /* densities rise as levels fall */
        thresholds[LIGHT][k] = (float)to_light(((double)k - 0.5) / 255.0);
        thresholds[DENSITY][k] = (float)to_density((255.5 - (double)k) / 255.0);
    }
    for (int start = LIGHT; start <= DENSITY; start++) {
        thresholds[start][256] = HUGE_VALF;
        for (int i = 0, k = 0; i < BINS; i++) {
            while (thresholds[start][k + 1] <= (float)i / BINS) k++;
            least_level[start][i] = (uint8_t)k;
        }
    }
    fill_orders();
}

/* ---- in and out ----------------------------------------------------------------------------------------------------- */

/* The level of an output is the number of thresholds that its start has reached: no power is taken. */
static inline uint8_t find_level(float v, int start)
{
    const float w = v > 0.0f ? v : 0.0f;
    const int k = least_level[start][(int)((w < 0.99999f ? w : 0.99999f) * (float)BINS)];
    const int level = k + (v >= thresholds[start][k + 1]);
    return (uint8_t)(start == DENSITY ? 255 - level : level);
}

CLONED static void round_levels(const float *restrict v, size_t n, uint8_t *restrict o)
{
    for (size_t k = 0; k < n; k++) {
        float w = v[k] * 255.0f;
        w = w > 0.0f ? w : 0.0f;
        o[k] = (uint8_t)bits_of_32((w < 255.0f ? w : 255.0f) + THREE_22);
    }
}

#ifdef HAVE_WIDE
#include "_kernels_x86_levels.h"
#else
static void fill_orders(void) {}
#endif

static void read_levels(const uint8_t *p, size_t n, int depth, const Space *space, Planes_32 x)
{
    const float *table = level_start[space->start];
    size_t k = 0;
#ifdef HAVE_WIDE
    if (depth == 3 && simd_level() == 2) k = read_starts_wide(p, n, space->start, x);
#endif
    for (p += k * depth; k < n; k++, p += depth) x[0][k] = table[p[0]], x[1][k] = table[p[1]], x[2][k] = table[p[2]];
    space->forward_32(x, n);
}

static void write_levels(Planes_32 x, size_t n, int depth, const Space *space, uint8_t *o)
{
    const int start = space->start;
    size_t k = 0;
    space->inverse_32(x, n);
#ifdef HAVE_WIDE
    if (depth == 3 && simd_level() == 2) k = write_starts_wide(x, n, start, o);
#endif
    o += k * depth;
    if (start == UNIT) {
        uint8_t y[3][CHUNK];
        for (int c = 0; c < 3; c++) round_levels(x[c] + k, n - k, y[c] + k);
        for (; k < n; k++, o += depth) o[0] = y[0][k], o[1] = y[1][k], o[2] = y[2][k];
    }
    for (; k < n; k++, o += depth)
        o[0] = find_level(x[0][k], start), o[1] = find_level(x[1][k], start), o[2] = find_level(x[2][k], start);
}

/* ---- exact sums ----------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t high;
    uint64_t low; /* both together: high * 2^32 + low */
} WideSum;

typedef struct {
    int64_t sums[3];
    WideSum products[9]; /* products[3 * d + i] = sum x[i] x[i + d] */
} LevelSums;

typedef int32_t Steps[3][CHUNK];

/* The nearest whole numbers; none is larger than 2^22, so the products of a chunk fit. */
CLONED static void round_steps(Planes_32 x, size_t start, size_t n, const float *steps, Steps q)
{
    for (int c = 0; c < 3; c++)
        for (size_t k = start; k < n; k++) q[c][k] = bits_of_32(x[c][k] * steps[c] + THREE_22) - 0x4B400000;
}

CLONED static int64_t sum_steps(const int32_t *restrict q, size_t n)
{
    int64_t total = 0;
    for (size_t k = 0; k < n; k++) total += q[k];
    return total;
}

CLONED static int64_t multiply_steps(const int32_t *restrict p, const int32_t *restrict q, size_t n)
{
    int64_t total = 0;
    for (size_t k = 0; k < n; k++) total += (int64_t)p[k] * q[k];
    return total;
}

/* Sums of a chunk, and of products up to `reach`. */
static void sum_chunk_32(Planes_32 x, size_t n, const float *steps, int reach, int64_t *sums, int64_t *products)
{
    Steps q;
    size_t k = 0;
    memset(sums, 0, 3 * sizeof *sums), memset(products, 0, 9 * sizeof *products);
#ifdef HAVE_WIDE
    if ((reach == 1 || reach == 3) && simd_level() == 2) k = sum_steps_wide(x, n, steps, reach, sums, products);
#endif
    if (k == n) return;
    round_steps(x, k, n, steps, q);
    for (int i = 0; i < 3; i++) sums[i] += sum_steps(q[i] + k, n - k);
    for (int d = 0; d < reach; d++)
        for (int i = 0; i + d < 3; i++) products[3 * d + i] += multiply_steps(q[i] + k, q[i + d] + k, n - k);
}

static void sum_levels(const uint8_t *p, size_t pixels, int depth, const Space *space, int reach, LevelSums *all)
{
    Planes_32 x;
    int64_t sums[3], products[9];
    while (pixels) {
        const size_t n = pixels < CHUNK ? pixels : CHUNK;
        read_levels(p, n, depth, space, x);
        sum_chunk_32(x, n, space->steps, reach, sums, products);
        for (int i = 0; i < 3; i++) all->sums[i] += sums[i];
        for (int i = 0; i < 3 * reach; i++)
            all->products[i].high += products[i] >> 32, all->products[i].low += (uint64_t)products[i] & 0xFFFFFFFFu;
        p += n * depth, pixels -= n;
    }
}

/* ---- the map ----------------------------------------------------------------------------------------------- */

#define IS_FAR(v) (uint32_t)!((v) <= FARTHEST_32 && (v) >= -FARTHEST_32)

/* Returns 1 if a value lies beyond the range in which results have a meaning, else 0. */
CLONED static int map_planes_32(float *restrict p, float *restrict q, float *restrict r, size_t n, int diagonal, const float *g,
                                const float *o)
{
    const float b0 = o[0], b1 = o[1], b2 = o[2];
    uint32_t far = 0;
    if (diagonal) {
        const float a = g[0], b = g[1], c = g[2];
        for (size_t k = 0; k < n; k++) {
            p[k] = a * p[k] + b0, q[k] = b * q[k] + b1, r[k] = c * r[k] + b2;
            far |= IS_FAR(p[k]) | IS_FAR(q[k]) | IS_FAR(r[k]);
        }
    } else {
        const float a = g[0], b = g[1], c = g[2], d = g[3], e = g[4], f = g[5], h = g[6], i = g[7], j = g[8];
        for (size_t k = 0; k < n; k++) {
            const float u = p[k], v = q[k], w = r[k];
            p[k] = ((a * u + b * v) + c * w) + b0;
            q[k] = ((d * u + e * v) + f * w) + b1;
            r[k] = ((h * u + i * v) + j * w) + b2;
            far |= IS_FAR(p[k]) | IS_FAR(q[k]) | IS_FAR(r[k]);
        }
    }
    return (int)far;
}

static int map_levels(const uint8_t *p, uint8_t *o, size_t pixels, int depth, const Space *space, int diagonal, const float *gain,
                      const float *offset)
{
    Planes_32 x;
    int far = 0;
    while (pixels) {
        const size_t n = pixels < CHUNK ? pixels : CHUNK;
        read_levels(p, n, depth, space, x);
        far |= map_planes_32(x[0], x[1], x[2], n, diagonal, gain, offset);
        write_levels(x, n, depth, space, o);
        if (depth > 3)
            for (size_t k = 0; k < n; k++) memcpy(o + k * depth + 3, p + k * depth + 3, (size_t)depth - 3);
        p += n * depth, o += n * depth, pixels -= n;
    }
    return far;
}
