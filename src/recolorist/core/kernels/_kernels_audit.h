/* What an audit counts without writing an image: the levels that a map moves, and the contrast that patches lose. */

/* ---- levels ----------------------------------------------------------------------------------------------------- */

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

static void map_moments(const uint8_t *p, size_t pixels, const Map *m, uint64_t *x, uint64_t *y, uint64_t *xy)
{
    enum { PIECE = 64 * ROW };
    const int n = m->channels;
    const size_t most = PIECE / n;
    uint8_t q[PIECE], tables[256 * 16];
    tables_u8(tables, m);
    while (pixels) {
        const size_t few = pixels < most ? pixels : most, values = few * n;
        size_t k = ROW % n == 0 ? values / ROW * ROW : 0;
        uint64_t row[ROW] = {0};
        look_up_all_u8(p, q, few, n, tables);
        moments_integer(p, 1, few, n, 1, x, x + n);
        moments_integer(q, 1, few, n, 1, y, y + n);
        if (k) sum_products(p, q, k / ROW, row);
        for (size_t j = 0; j < k && j < ROW; j++) xy[j % n] += row[j];
        for (; k < values; k++) xy[k % n] += (uint64_t)p[k] * q[k];
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
    uint64_t x[32] = {0}, y[32] = {0}, xy[16] = {0}, outside[16] = {0};
    if (!PyArg_ParseTuple(args, "OiOO", &from, &channels, &gain, &offset)) return NULL;
    if (channels < 1 || channels > 16) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (numbers_from(gain, gains, channels) < 0 || numbers_from(offset, offsets, channels) < 0 || borrow(from, &view, 0) < 0) return NULL;
    const size_t pixels = (size_t)view.len / channels;
    const Map m = {0.0, 255.0, channels, gains, offsets};
    Py_BEGIN_ALLOW_THREADS
    map_moments(view.buf, pixels, &m, x, y, xy);
    clipped(view.buf, pixels, &m, outside);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    PyObject *result = PyTuple_New(channels);
    for (int c = 0; result && c < channels; c++) {
        const int d = channels + c; /* squares follow the sums */
        PyObject *sums = Py_BuildValue("nKiKKKKK", (Py_ssize_t)pixels, outside[c], 0, x[c], y[c], x[d], y[d], xy[c]);
        if (!sums || PyTuple_SetItem(result, c, sums) < 0) Py_CLEAR(result);
    }
    return result;
}

/* ---- patches ---------------------------------------------------------------------------------------------------- */

/* Returns -1 if a place lies outside the image. */
static int gather(const uint8_t *p, size_t pixels, size_t size, const int64_t *places, size_t count, uint8_t *o)
{
    for (size_t k = 0; k < count; k++, o += size) {
        const uint64_t place = (uint64_t)places[k];
        if (place >= pixels) return -1; /* first: the place after -1 would be 0, and inside */
        if (size == 3 && place + 1 < pixels && k + 1 < count) memcpy(o, p + 3 * place, 4); /* one move; the next one overwrites */
        else memcpy(o, p + size * place, size);
    }
    return 0;
}

/* gather(pixels, size, places, target): copies pixels of `size` bytes; `places` are int64 */
static PyObject *py_gather(PyObject *self, PyObject *args)
{
    Py_buffer source, places, target;
    PyObject *from, *at, *to, *result = NULL;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "OnOO", &from, &size, &at, &to) || borrow(from, &source, 0) < 0) return NULL;
    if (borrow(at, &places, 0) == 0) {
        if (borrow(to, &target, 1) == 0) {
            const Py_ssize_t count = places.len / (Py_ssize_t)sizeof(int64_t);
            int wrong = size < 1 || places.itemsize != sizeof(int64_t) || target.len / size != count || target.len % size;
            if (!wrong) {
                Py_BEGIN_ALLOW_THREADS
                wrong = gather(source.buf, (size_t)(source.len / size), (size_t)size, places.buf, (size_t)count, target.buf);
                Py_END_ALLOW_THREADS
            }
            if (wrong) PyErr_SetString(PyExc_ValueError, "pixels, places and target do not fit together");
            else result = Py_NewRef(Py_None);
            PyBuffer_Release(&target);
        }
        PyBuffer_Release(&places);
    }
    PyBuffer_Release(&source);
    return result;
}

enum { SIDE = 64 }; /* columns that are summed at a time; also the most channels */

typedef struct {
    uint32_t x[SIDE], y[SIDE], xx[SIDE], yy[SIDE], xy[SIDE];
} ColumnSums;

/* Sums of columns of 8-bit values before and after a map; at most 257 rows, so that 16 bits hold a sum. */
CLONED static void sum_columns(const uint8_t *restrict p, const uint8_t *restrict q, size_t rows, size_t apart, ColumnSums *s)
{
    memset(s, 0, sizeof *s);
    for (size_t k = 0; k < rows; k++, p += apart, q += apart)
        for (int j = 0; j < SIDE; j++) {
            const uint16_t x = p[j], y = q[j];
            s->x[j] += x, s->y[j] += y;
            s->xx[j] += (uint16_t)(x * x), s->yy[j] += (uint16_t)(y * y), s->xy[j] += (uint16_t)(x * y);
        }
}

static void sum_few_columns(const uint8_t *p, const uint8_t *q, size_t rows, size_t apart, size_t columns, ColumnSums *s)
{
    memset(s, 0, sizeof *s);
    for (size_t k = 0; k < rows; k++, p += apart, q += apart)
        for (size_t j = 0; j < columns; j++) {
            const uint32_t x = p[j], y = q[j];
            s->x[j] += x, s->y[j] += y, s->xx[j] += x * x, s->yy[j] += y * y, s->xy[j] += x * y;
        }
}

typedef struct {
    uint64_t detailed, lost, lost_in[SIDE]; /* patches with detail, and those that lost more than half of it */
    size_t worst;                           /* the first patch that lost most */
    double most;                            /* the share that it lost; -1 if no patch had detail */
} PatchCounts;

/* How patches are judged: the gain of each channel, or NULL; the least variance that is detail, and the least count of pixels. */
typedef struct {
    int channels;
    const double *gain;
    double floor, enough;
} Judge;

/* The covariance of a column; what is rounding noise becomes zero. */
static inline double covariance(double product, double x, double y, double count)
{
    const double mean = product / count, value = mean - x / count * (y / count);
    return fabs(value) > 1e-12 * fabs(mean) ? value : 0.0;
}

/* The variance of each column before the map, and the share of its contrast that was lost; see core/detail.py for the definition. */
CLONED static void judge_columns(const ColumnSums *s, const double *count, const double *gain, int is_known, double *variance, double *lost)
{
    for (int j = 0; j < SIDE; j++) {
        const double before = covariance(s->xx[j], s->x[j], s->x[j], count[j]);
        const double after = covariance(s->yy[j], s->y[j], s->y[j], count[j]);
        const double common = covariance(s->xy[j], s->x[j], s->y[j], count[j]) * gain[j], goal = before * gain[j] * gain[j];
        const double spread = sqrt(goal * (is_known && goal > after ? goal : after));
        const double kept = fabs(common) / (spread > 0.0 ? spread : 1.0);
        variance[j] = before, lost[j] = clip(1.0 - (spread > 0.0 ? kept : 0.0), 0.0, 1.0);
    }
}

/* Writes the largest share that a channel of each patch lost, in thousandths, or NaN if it had no detail. A step holds as many whole
 * patches as fit. */
static void patch_losses(const uint8_t *p, const uint8_t *q, size_t rows, size_t patches, const int64_t *counts, const Judge *judge,
                         double *losses, PatchCounts *found)
{
    const size_t n = (size_t)judge->channels, apart = patches * n, step = SIDE / n;
    double count[SIDE], gain[SIDE], variance[SIDE], lost[SIDE];
    ColumnSums s;
    for (size_t j = 0; j < SIDE; j++) count[j] = (double)rows, gain[j] = judge->gain ? fabs(judge->gain[j % n]) : 1.0;
    for (size_t first = 0; first < patches; first += step) {
        const size_t few = patches - first < step ? patches - first : step, at = first * n;
        if (at + SIDE <= apart) sum_columns(p + at, q + at, rows, apart, &s);
        else sum_few_columns(p + at, q + at, rows, apart, few * n, &s);
        if (counts)
            for (size_t j = 0; j < few * n; j++) count[j] = (double)counts[first + j / n];
        judge_columns(&s, count, gain, judge->gain != NULL, variance, lost);
        for (size_t k = 0; k < few; k++) {
            const double *v = variance + k * n;
            double least = 0.0, largest_loss = -1.0;
            for (size_t c = 0; c < n; c++) least = v[c] > least ? v[c] : least;
            least = 0.25 * least > judge->floor ? 0.25 * least : judge->floor; /* half the deviation of the strongest channel */
            for (size_t c = 0; c < n; c++) {
                const double loss = v[c] > 0.0 && v[c] >= least && count[k * n] >= judge->enough ? lost[k * n + c] : -1.0;
                largest_loss = loss > largest_loss ? loss : largest_loss;
                found->lost_in[c] += loss > 0.5;
            }
            losses[first + k] = largest_loss < 0.0 ? NAN : rint(largest_loss * 1000.0) / 1000.0;
            if (largest_loss > found->most) found->most = largest_loss, found->worst = first + k;
            found->detailed += largest_loss >= 0.0, found->lost += largest_loss > 0.5;
        }
    }
}

/* patch_losses(before, after, channels, counts, gain, (floor, enough), losses) -> (detailed, lost, lost by channel, worst patch, its loss).
 * `before` and `after` are 8-bit (pixels of a patch, patches, channels), `losses` float64 (patches). `counts` are int64 (patches) or None
 * for all pixels, `gain` is None where nothing is known of the map. */
static PyObject *py_patch_losses(PyObject *self, PyObject *args)
{
    Py_buffer before, after, losses, counts = {0};
    PyObject *from, *to, *each, *gain, *into, *result = NULL;
    double gains[SIDE];
    PatchCounts found = {.most = -1.0};
    Judge judge = {0};
    if (!PyArg_ParseTuple(args, "OOiOO(dd)O", &from, &to, &judge.channels, &each, &gain, &judge.floor, &judge.enough, &into)) return NULL;
    if (judge.channels < 1 || judge.channels > SIDE) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (gain != Py_None && numbers_from(gain, gains, judge.channels) < 0) return NULL;
    judge.gain = gain == Py_None ? NULL : gains;
    if (borrow(from, &before, 0) < 0) return NULL;
    if (borrow(to, &after, 0) < 0) goto no_after;
    if (borrow(into, &losses, 1) < 0) goto no_losses;
    if (each != Py_None && borrow(each, &counts, 0) < 0) goto no_counts;
    const size_t patches = (size_t)losses.len / sizeof(double), row = patches * judge.channels;
    const size_t rows = row ? (size_t)before.len / row : 0;
    if (rows < 1 || rows > 257 || rows * row != (size_t)before.len || before.len != after.len ||
        (counts.obj && (size_t)counts.len != patches * sizeof(int64_t))) {
        PyErr_SetString(PyExc_ValueError, "pixels, counts and losses do not fit together");
    } else {
        Py_BEGIN_ALLOW_THREADS
        patch_losses(before.buf, after.buf, rows, patches, counts.obj ? counts.buf : NULL, &judge, losses.buf, &found);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("KKNnd", found.detailed, found.lost, integers(found.lost_in, judge.channels), (Py_ssize_t)found.worst,
                               found.most);
    }
    if (counts.obj) PyBuffer_Release(&counts);
no_counts:
    PyBuffer_Release(&losses);
no_losses:
    PyBuffer_Release(&after);
no_after:
    PyBuffer_Release(&before);
    return result;
}
