/* What an audit counts without writing an image: the levels that a map moves. What patches lose is in _kernels_patches.h. */

/* Of one channel, over the levels that occur: x is a level and y what a map makes of it. */
typedef struct {
    uint64_t pixels, clipped, inversions, x, y;
    WideSum xx, yy, xy;
} MappedLevels;

static void add_wide(WideSum *sum, uint64_t count, uint64_t product) /* product < 2^32 */
{
    const uint64_t low = (count & 0xFFFFFFFFu) * product;
    sum->high += (int64_t)((count >> 32) * product + (low >> 32)), sum->low += low & 0xFFFFFFFFu;
}

static void map_counts(const uint64_t *counts, size_t levels, double gain, double offset, MappedLevels *m)
{
    const double high = (double)(levels - 1);
    uint64_t before = 0; /* the output of the level below */
    for (size_t x = 0; x < levels; x++) {
        const uint64_t n = counts[x];
        if (!n) continue;
        const double v = rint(gain * (double)x + offset);
        const uint64_t y = (uint64_t)clip(v, 0.0, high);
        m->pixels += n, m->x += n * x, m->y += n * y;
        m->clipped += v < 0.0 || v > high ? n : 0;
        m->inversions += y < before;
        add_wide(&m->xx, n, x * x), add_wide(&m->yy, n, y * y), add_wide(&m->xy, n, x * y);
        before = y;
    }
}

/* map_counts(counts, channels, gain, offset) -> for each channel (pixels, clipped, inversions, x, y, xx, yy, xy): sums over the levels
 * x that occur and the outputs y of a diagonal map. `counts` is a uint64 buffer with as many levels for each channel. */
static PyObject *py_map_counts(PyObject *self, PyObject *args)
{
    Py_buffer counts;
    PyObject *from, *gain, *offset, *result = NULL;
    int channels;
    double gains[MAX_CHANNELS], offsets[MAX_CHANNELS];
    if (!PyArg_ParseTuple(args, "OiOO", &from, &channels, &gain, &offset)) return NULL;
    if (channels < 1 || channels > MAX_CHANNELS) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (numbers_from(gain, gains, channels) < 0 || numbers_from(offset, offsets, channels) < 0 || borrow(from, &counts, 0) < 0) return NULL;
    const size_t levels = (size_t)counts.len / sizeof(uint64_t) / channels;
    if (levels && levels <= 65536 && levels * channels * sizeof(uint64_t) == (size_t)counts.len) result = PyTuple_New(channels);
    else PyErr_SetString(PyExc_ValueError, "counts has the wrong size");
    for (int c = 0; result && c < channels; c++) {
        MappedLevels m = {0};
        map_counts((const uint64_t *)counts.buf + c * levels, levels, gains[c], offsets[c], &m);
        PyObject *xx = wide_integer(&m.xx), *yy = wide_integer(&m.yy), *xy = wide_integer(&m.xy);
        PyObject *sums = Py_BuildValue("KKKKKNNN", m.pixels, m.clipped, m.inversions, m.x, m.y, xx, yy, xy);
        if (!sums || PyTuple_SetItem(result, c, sums) < 0) Py_CLEAR(result);
    }
    PyBuffer_Release(&counts);
    return result;
}

/* The same sums from 8-bit pixels, by small pieces that stay in the first cache: twice as fast as counting levels. */
CLONED static void sum_products(const uint8_t *restrict p, const uint8_t *restrict q, size_t steps, uint64_t *products)
{
    uint32_t t[ROW] = {0}; /* a piece has fewer than 65536 steps, so 32 bits hold the sums */
    for (; steps; steps--, p += ROW, q += ROW)
        for (int j = 0; j < ROW; j++) t[j] += (uint16_t)((uint16_t)p[j] * (uint16_t)q[j]);
    for (int j = 0; j < ROW; j++) products[j] += t[j];
}

typedef struct {
    uint64_t clipped[16], x[16], y[16], xx[16], yy[16], xy[16]; /* by channel */
} MapSums;

enum { SIDE = 64 }; /* columns of patches that are summed at a time; also the most channels */

typedef struct {
    uint32_t x[SIDE], y[SIDE], xx[SIDE], yy[SIDE], xy[SIDE];
} ColumnSums;

#ifdef HAVE_WIDE
#include "_kernels_x86_audit.h"
#else
static int sum_columns_simd(const uint8_t *p, const uint8_t *q, size_t rows, size_t apart, ColumnSums *s)
{
    (void)p, (void)q, (void)rows, (void)apart, (void)s;
    return 0; /* not done */
}
static size_t map_moments_simd(const uint8_t *p, size_t pixels, const Map *m, const uint8_t *tables, MapSums *sums)
{
    (void)p, (void)pixels, (void)m, (void)tables, (void)sums;
    return 0; /* pixels done */
}
#endif

static void map_moments(const uint8_t *p, size_t pixels, const Map *m, MapSums *sums)
{
    enum { PIECE = 64 * ROW };
    const int n = m->channels;
    const size_t most = PIECE / n;
    uint8_t q[PIECE], tables[256 * 16];
    tables_u8(tables, m);
    const size_t done = map_moments_simd(p, pixels, m, tables, sums);
    p += done * n, pixels -= done;
    if (pixels) {
        uint64_t outside[16] = {0};
        clipped(p, pixels, m, outside);
        for (int c = 0; c < n; c++) sums->clipped[c] += outside[c];
    }
    while (pixels) {
        const size_t few = pixels < most ? pixels : most, values = few * n;
        size_t k = ROW % n == 0 ? values / ROW * ROW : 0;
        uint64_t row[ROW] = {0};
        look_up_all_u8(p, q, few, n, tables);
        moments_integer(p, 1, few, n, 1, sums->x, sums->xx);
        moments_integer(q, 1, few, n, 1, sums->y, sums->yy);
        if (k) sum_products(p, q, k / ROW, row);
        for (size_t j = 0; j < k && j < ROW; j++) sums->xy[j % n] += row[j];
        for (; k < values; k++) sums->xy[k % n] += (uint64_t)p[k] * q[k];
        p += values, pixels -= few;
    }
}

/* map_moments(pixels, channels, gain, offset) -> what map_counts returns, from 8-bit pixels; no gain is negative, so that no level
 * overtakes another */
static PyObject *py_map_moments(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *from, *gain, *offset;
    int channels;
    double gains[16], offsets[16];
    MapSums s = {{0}, {0}, {0}, {0}, {0}, {0}};
    if (!PyArg_ParseTuple(args, "OiOO", &from, &channels, &gain, &offset)) return NULL;
    if (channels < 1 || channels > 16) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (numbers_from(gain, gains, channels) < 0 || numbers_from(offset, offsets, channels) < 0 || borrow(from, &view, 0) < 0) return NULL;
    const size_t pixels = (size_t)view.len / channels;
    const Map m = {0.0, 255.0, channels, gains, offsets};
    Py_BEGIN_ALLOW_THREADS
    map_moments(view.buf, pixels, &m, &s);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    PyObject *result = PyTuple_New(channels);
    for (int c = 0; result && c < channels; c++) {
        PyObject *sums = Py_BuildValue("nKiKKKKK", (Py_ssize_t)pixels, s.clipped[c], 0, s.x[c], s.y[c], s.xx[c], s.yy[c], s.xy[c]);
        if (!sums || PyTuple_SetItem(result, c, sums) < 0) Py_CLEAR(result);
    }
    return result;
}
