/* Pixels of 16 bits and floats in a colour space that is not linear, in float64: measuring them, mapping them, converting them. Pixels
 * are converted a chunk at a time and never stored; a second pass converts them again. */
#include "_kernels_levels.h"

#define MOST_MAPPED 1e30 /* a map that reaches further is refused by the caller */
typedef Planes_64 Planes;
#define EACH(STEP) (all_##STEP(x[0], n), all_##STEP(x[1], n), all_##STEP(x[2], n))
#define DEFINE_CHANNEL(ONE)                                                                                            \
    CLONED static void all_##ONE(double *v, size_t n)                                                                  \
    {                                                                                                                  \
        for (size_t k = 0; k < n; k++) v[k] = ONE(v[k]);                                                               \
    }
DEFINE_CHANNEL(to_light)
DEFINE_CHANNEL(from_light)
DEFINE_CHANNEL(to_density)
DEFINE_CHANNEL(from_density)

/* ---- in ----------------------------------------------------------------------------------------------------------- */

/* What is not finite, and put back by the caller, is taken for zero. */
#define DEFINE_READ(NAME, TYPE)                                                                                        \
    CLONED static void NAME(const TYPE *p, size_t n, int depth, double unit, Planes x)                                 \
    {                                                                                                                  \
        for (int c = 0; c < 3; c++)                                                                                    \
            for (size_t k = 0; k < n; k++) {                                                                           \
                double v = (double)p[k * depth + c] / unit;                                                            \
                x[c][k] = v - v == 0.0 ? v : 0.0;                                                                      \
            }                                                                                                          \
    }
DEFINE_READ(read_u8, uint8_t)
DEFINE_READ(read_u16, uint16_t)
DEFINE_READ(read_f32, float)
DEFINE_READ(read_f64, double)

typedef struct {
    const Space *space;
    int kind, depth, itemsize;
    double unit; /* the value of white */
} Format;

static void read_converted(const void *data, size_t n, const Format *f, Planes x)
{
    if (f->kind == 'B' && f->unit == 255.0) {
        const double *table = level_start_64[f->space->start];
        const uint8_t *p = data;
        for (size_t k = 0; k < n; k++, p += f->depth) x[0][k] = table[p[0]], x[1][k] = table[p[1]], x[2][k] = table[p[2]];
        f->space->forward(x, n);
        return;
    }
    if (f->kind == 'B' && f->unit == 1.0 && f->space->start == UNIT) { /* the levels themselves */
        const uint8_t *p = data;
        for (size_t k = 0; k < n; k++, p += f->depth) x[0][k] = (double)p[0], x[1][k] = (double)p[1], x[2][k] = (double)p[2];
        f->space->forward(x, n);
        return;
    }
    if (f->kind == 'B') read_u8(data, n, f->depth, f->unit, x);
    else if (f->kind == 'H') read_u16(data, n, f->depth, f->unit, x);
    else if (f->kind == 'f') read_f32(data, n, f->depth, f->unit, x);
    else read_f64(data, n, f->depth, f->unit, x);
    if (f->space->start == LIGHT) EACH(to_light);
    else if (f->space->start == DENSITY) EACH(to_density);
    f->space->forward(x, n);
}

/* ---- moments: mean and products of deviations of each chunk, joined in order (Chan) ---------------------------------- */

typedef struct {
    double count, mean[3], products[6], first[3], differs[3];
} Joined;

#define PARTS 8 /* running sums per number; pixel k of a chunk goes to sum k % PARTS */

static inline double add_parts(const double *parts)
{
    double total = 0.0;
    for (int j = 0; j < PARTS; j++) total += parts[j];
    return total;
}

/* The compiler keeps vectors in registers, but not arrays. */
#if defined(__GNUC__)
typedef double Vector __attribute__((vector_size(32)));
typedef int64_t Mask __attribute__((vector_size(32)));
#else
typedef double Vector;
typedef int64_t Mask;
#endif
#define WIDTH (int)(sizeof(Vector) / sizeof(double))

/* Sums, and whether a value differs from the first of the image: so a flat channel is recognised exactly. */
CLONED static void sum_chunk(Planes x, size_t n, Joined *all, double *sums)
{
    double s[3][PARTS];
    const size_t whole = n / PARTS * PARTS;
    for (int j = 0; j < PARTS; j += WIDTH) {
        Vector s0 = {0}, s1 = {0}, s2 = {0}, first[3];
        Mask m0 = {0}, m1 = {0}, m2 = {0}, other = {0};
        for (int c = 0; c < 3; c++) first[c] = s0 + all->first[c];
        for (size_t k = j; k < whole; k += PARTS) {
            Vector u, v, w;
            memcpy(&u, x[0] + k, sizeof u), memcpy(&v, x[1] + k, sizeof v), memcpy(&w, x[2] + k, sizeof w);
            s0 += u, s1 += v, s2 += w;
            m0 |= u != first[0], m1 |= v != first[1], m2 |= w != first[2];
        }
        memcpy(s[0] + j, &s0, sizeof s0), memcpy(s[1] + j, &s1, sizeof s1), memcpy(s[2] + j, &s2, sizeof s2);
        if (memcmp(&m0, &other, sizeof other)) all->differs[0] = 1.0;
        if (memcmp(&m1, &other, sizeof other)) all->differs[1] = 1.0;
        if (memcmp(&m2, &other, sizeof other)) all->differs[2] = 1.0;
    }
    for (int c = 0; c < 3; c++) {
        for (size_t k = whole; k < n; k++) {
            s[c][k - whole] += x[c][k];
            if (x[c][k] != all->first[c]) all->differs[c] = 1.0;
        }
        sums[c] = add_parts(s[c]);
    }
}

/* Sums of products of deviations, the upper triangle row by row. */
CLONED static void multiply_chunk(Planes x, size_t n, const double *mean, double *products)
{
    double s[6][PARTS];
    const size_t whole = n / PARTS * PARTS;
    for (int j = 0; j < PARTS; j += WIDTH) {
        Vector t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, t4 = {0}, t5 = {0};
        for (size_t k = j; k < whole; k += PARTS) {
            Vector u, v, w;
            memcpy(&u, x[0] + k, sizeof u), memcpy(&v, x[1] + k, sizeof v), memcpy(&w, x[2] + k, sizeof w);
            u = u - mean[0], v = v - mean[1], w = w - mean[2];
            t0 += u * u, t1 += u * v, t2 += u * w, t3 += v * v, t4 += v * w, t5 += w * w;
        }
        memcpy(s[0] + j, &t0, sizeof t0), memcpy(s[1] + j, &t1, sizeof t1), memcpy(s[2] + j, &t2, sizeof t2);
        memcpy(s[3] + j, &t3, sizeof t3), memcpy(s[4] + j, &t4, sizeof t4), memcpy(s[5] + j, &t5, sizeof t5);
    }
    for (size_t k = whole; k < n; k++) {
        const double u = x[0][k] - mean[0], v = x[1][k] - mean[1], w = x[2][k] - mean[2];
        const size_t j = k - whole;
        s[0][j] += u * u, s[1][j] += u * v, s[2][j] += u * w, s[3][j] += v * v, s[4][j] += v * w, s[5][j] += w * w;
    }
    for (int i = 0; i < 6; i++) products[i] = add_parts(s[i]);
}

static void join_chunk(Joined *all, Planes x, size_t n)
{
    double mean[3], gap[3], products[6];
    const double before = all->count, share = (double)n / (before + (double)n), weight = before * share;
    if (before == 0.0)
        for (int c = 0; c < 3; c++) all->first[c] = x[c][0];
    sum_chunk(x, n, all, mean);
    for (int c = 0; c < 3; c++) mean[c] /= (double)n, gap[c] = mean[c] - all->mean[c];
    multiply_chunk(x, n, mean, products);
    for (int i = 0, pair = 0; i < 3; i++)
        for (int j = i; j < 3; j++, pair++) all->products[pair] += products[pair] + (gap[i] * gap[j]) * weight;
    for (int c = 0; c < 3; c++) all->mean[c] += gap[c] * share;
    all->count = before + (double)n;
}

static void join_pixels(const char *p, size_t pixels, const Format *f, Joined *all)
{
    Planes x;
    while (pixels) {
        size_t n = pixels < CHUNK ? pixels : CHUNK;
        read_converted(p, n, f, x);
        join_chunk(all, x, n);
        p += n * f->depth * f->itemsize, pixels -= n;
    }
}

/* ---- the map, and out ----------------------------------------------------------------------------------------------- */

/* Returns 1 if a value lies beyond the range in which results have a meaning, else 0. */
CLONED static int map_planes(double *restrict p, double *restrict q, double *restrict r, size_t n, int diagonal, const Map *m)
{
    const double *o = m->offset, b0 = o[0], b1 = o[1], b2 = o[2];
    double g[9] = {0};
    for (int i = 0; i < (diagonal ? 3 : 9); i++) g[diagonal ? 4 * i : i] = m->gain[i];
    if (diagonal)
        for (size_t k = 0; k < n; k++) p[k] = g[0] * p[k] + b0, q[k] = g[4] * q[k] + b1, r[k] = g[8] * r[k] + b2;
    else
        for (size_t k = 0; k < n; k++) {
            const double u = p[k], v = q[k], w = r[k];
            p[k] = ((g[0] * u + g[1] * v) + g[2] * w) + b0;
            q[k] = ((g[3] * u + g[4] * v) + g[5] * w) + b1;
            r[k] = ((g[6] * u + g[7] * v) + g[8] * w) + b2;
        }
    uint64_t far = 0;
    for (size_t k = 0; k < n; k++)
        far |= (uint64_t)!(fabs(p[k]) <= MOST_MAPPED) | (uint64_t)!(fabs(q[k]) <= MOST_MAPPED) | (uint64_t)!(fabs(r[k]) <= MOST_MAPPED);
    return (int)far;
}

#define DEFINE_WRITE(NAME, TYPE, FINISH)                                                                               \
    CLONED static void NAME(Planes x, size_t n, int depth, double unit, double low, double high, TYPE *restrict o)     \
    {                                                                                                                  \
        TYPE y[3][CHUNK];                                                                                              \
        for (int c = 0; c < 3; c++)                                                                                    \
            for (size_t k = 0; k < n; k++) y[c][k] = (TYPE)FINISH(clip(x[c][k] * unit, low, high));                    \
        for (size_t k = 0; k < n; k++) o[depth * k] = y[0][k], o[depth * k + 1] = y[1][k], o[depth * k + 2] = y[2][k]; \
    }
DEFINE_WRITE(write_u8, uint8_t, TO_INTEGER)
DEFINE_WRITE(write_u16, uint16_t, TO_INTEGER)
DEFINE_WRITE(write_f32, float, AS_IT_IS)
DEFINE_WRITE(write_f64, double, AS_IT_IS)

static void write_unit(Planes x, size_t n, const Format *f, double low, double high, void *o)
{
    if (f->kind == 'B') write_u8(x, n, f->depth, f->unit, low, high, o);
    else if (f->kind == 'H') write_u16(x, n, f->depth, f->unit, low, high, o);
    else if (f->kind == 'f') write_f32(x, n, f->depth, f->unit, low, high, o);
    else write_f64(x, n, f->depth, f->unit, low, high, o);
}

static void write_converted(Planes x, size_t n, const Format *f, double low, double high, void *o)
{
    const int start = f->space->start;
    f->space->inverse(x, n);
#ifdef HAVE_WIDE
    if (f->kind == 'B' && f->depth == 3 && f->unit == 255.0 && low == 0.0 && high == 255.0 && start != UNIT && simd_level() == 2) {
        const size_t done = write_exact_wide(x, n, start, o);
        if (done == n) return;
        for (int c = 0; c < 3; c++) memmove(x[c], x[c] + done, (n - done) * sizeof **x);
        n -= done, o = (uint8_t *)o + 3 * done;
    }
#endif
    if (start == LIGHT) EACH(from_light);
    else if (start == DENSITY) EACH(from_density);
    write_unit(x, n, f, low, high, o);
}

static int map_converted(const char *p, char *o, size_t pixels, const Format *f, int diagonal, const Map *m)
{
    if (f->kind == 'B' && f->unit == 255.0) {
        float gain[9], offset[3];
        for (int i = 0; i < (diagonal ? 3 : 9); i++) gain[i] = (float)m->gain[i];
        for (int i = 0; i < 3; i++) offset[i] = (float)m->offset[i];
        return map_levels((const uint8_t *)p, (uint8_t *)o, pixels, f->depth, f->space, diagonal, gain, offset);
    }
    Planes x;
    int far = 0;
    const size_t size = (size_t)f->itemsize, pixel = size * f->depth, beside = pixel - 3 * size;
    while (pixels) {
        size_t n = pixels < CHUNK ? pixels : CHUNK;
        read_converted(p, n, f, x);
        far |= map_planes(x[0], x[1], x[2], n, diagonal, m);
        write_converted(x, n, f, m->low, m->high, o);
        if (beside)
            for (size_t k = 0; k < n; k++) memcpy(o + k * pixel + 3 * size, p + k * pixel + 3 * size, beside);
        p += n * pixel, o += n * pixel, pixels -= n;
    }
    return far;
}

/* ---- conversion alone ----------------------------------------------------------------------------------------------- */

static void convert_pixels(const double *p, double *o, size_t pixels, const Format *f, int inverse)
{
    Planes x;
    while (pixels) {
        size_t n = pixels < CHUNK ? pixels : CHUNK;
        if (inverse) {
            read_f64(p, n, 3, 1.0, x);
            write_converted(x, n, f, -HUGE_VAL, HUGE_VAL, o);
        } else {
            read_converted(p, n, f, x);
            write_f64(x, n, 3, 1.0, -HUGE_VAL, HUGE_VAL, o);
        }
        p += 3 * n, o += 3 * n, pixels -= n;
    }
}

/* ---- whole channels, for the methods that rank -------------------------------------------------------------------- */

static void split_pixels(const char *p, double *planes, size_t pixels, const Format *f)
{
    Planes x;
    for (size_t k = 0; k < pixels; k += CHUNK) {
        const size_t n = pixels - k < CHUNK ? pixels - k : CHUNK;
        read_converted(p + k * f->depth * f->itemsize, n, f, x);
        for (int c = 0; c < 3; c++) memcpy(planes + (size_t)c * pixels + k, x[c], n * sizeof **x);
    }
}

static void join_planes(const double *planes, char *o, size_t pixels, const Format *f, double low, double high)
{
    Planes x;
    for (size_t k = 0; k < pixels; k += CHUNK) {
        const size_t n = pixels - k < CHUNK ? pixels - k : CHUNK;
        for (int c = 0; c < 3; c++) memcpy(x[c], planes + (size_t)c * pixels + k, n * sizeof **x);
        write_converted(x, n, f, low, high, o + k * f->depth * f->itemsize);
    }
}

CLONED static void mix_planes(double *restrict x, double *restrict y, double *restrict z, size_t n, const double *g)
{
    const double a = g[0], b = g[1], c = g[2], d = g[3], e = g[4], f = g[5], h = g[6], i = g[7], j = g[8];
    for (size_t k = 0; k < n; k++) {
        const Colour_64 v = {x[k], y[k], z[k]};
        x[k] = mix_64(v, a, b, c), y[k] = mix_64(v, d, e, f), z[k] = mix_64(v, h, i, j);
    }
}

/* The same for a linear space: `rows` lead from its basis to RGB in [0, 1], `units` is what stands for 1 in each plane. */
static void unmix_planes(const double *planes, const double *units, const double *rows, char *o, size_t pixels, const Format *f, double low,
                         double high)
{
    Planes x;
    for (size_t k = 0; k < pixels; k += CHUNK) {
        const size_t n = pixels - k < CHUNK ? pixels - k : CHUNK;
        for (int c = 0; c < 3; c++)
            for (size_t i = 0; i < n; i++) x[c][i] = planes[(size_t)c * pixels + k + i] / units[c];
        mix_planes(x[0], x[1], x[2], n, rows);
        write_unit(x, n, f, low, high, o + k * f->depth * f->itemsize);
    }
}
