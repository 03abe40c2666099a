/* The contrast that patches of an 8-bit image lose in a map; see core/detail.py for the definitions. */

/* Returns -1 if a place lies outside the image. */
static int gather(const uint8_t *p, size_t pixels, size_t size, const int64_t *places, size_t count, uint8_t *o)
{
    size_t k = 0;
    if (size == 3) /* four bytes are one move; the next pixel overwrites the last of them */
        for (; k + 1 < count && (uint64_t)places[k] < pixels - 1; k++, o += 3) memcpy(o, p + 3 * places[k], 4);
    for (; k < count; k++, o += size) {
        if ((uint64_t)places[k] >= pixels) return -1;
        memcpy(o, p + size * (size_t)places[k], size);
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

CLONED static void sum_columns_plain(const uint8_t *restrict p, const uint8_t *restrict q, size_t rows, size_t apart, ColumnSums *s)
{
    memset(s, 0, sizeof *s);
    for (size_t k = 0; k < rows; k++, p += apart, q += apart)
        for (int j = 0; j < SIDE; j++) {
            const uint16_t x = p[j], y = q[j];
            s->x[j] += x, s->y[j] += y;
            s->xx[j] += (uint16_t)(x * x), s->yy[j] += (uint16_t)(y * y), s->xy[j] += (uint16_t)(x * y);
        }
}

/* Sums of columns of 8-bit values before and after a map; at most 257 rows, so that 16 bits hold a sum. */
static void sum_columns(const uint8_t *p, const uint8_t *q, size_t rows, size_t apart, ColumnSums *s)
{
    if (!sum_columns_simd(p, q, rows, apart, s)) sum_columns_plain(p, q, rows, apart, s);
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

/* How patches are judged: the least variance that is detail, the least count of pixels, and for each column of a step its count of pixels
 * and the size of its gain, 1 where that is not known. */
typedef struct {
    int channels, is_known;
    double floor, enough, count[SIDE], gain[SIDE];
} Judge;

static void set_columns(Judge *judge, const double *gain, size_t rows)
{
    judge->is_known = gain != NULL;
    for (int j = 0, c = 0; j < SIDE; j++, c = c + 1 < judge->channels ? c + 1 : 0)
        judge->count[j] = (double)rows, judge->gain[j] = gain ? fabs(gain[c]) : 1.0;
}

/* The covariance of a column; what is rounding noise becomes zero. */
static inline double covariance(double product, double x, double y, double count)
{
    const double mean = product / count, value = mean - x / count * (y / count);
    return fabs(value) > 1e-12 * fabs(mean) ? value : 0.0;
}

/* The variance of each column before the map, and the share of its contrast that was lost; see core/detail.py for the definition. */
CLONED static void judge_columns(const ColumnSums *s, const Judge *judge, double *variance, double *lost)
{
    const double *count = judge->count, *gain = judge->gain;
    for (int j = 0; j < SIDE; j++) {
        const double before = covariance(s->xx[j], s->x[j], s->x[j], count[j]);
        const double after = covariance(s->yy[j], s->y[j], s->y[j], count[j]);
        const double common = covariance(s->xy[j], s->x[j], s->y[j], count[j]) * gain[j], goal = before * gain[j] * gain[j];
        const double spread = sqrt(goal * (judge->is_known && goal > after ? goal : after));
        const double kept = fabs(common) / (spread > 0.0 ? spread : 1.0);
        variance[j] = before, lost[j] = clip(1.0 - (spread > 0.0 ? kept : 0.0), 0.0, 1.0);
    }
}

/* Judges the patches from `first` on, whose columns were summed. Writes the largest share that a channel of each lost, in thousandths, or
 * NaN if it had no detail. */
static void judge_patches(const ColumnSums *s, size_t first, size_t few, const Judge *judge, double *losses, PatchCounts *found)
{
    const size_t n = (size_t)judge->channels;
    double variance[SIDE], lost[SIDE];
    judge_columns(s, judge, variance, lost);
    for (size_t k = 0; k < few; k++) {
        const double *v = variance + k * n;
        double least = 0.0, largest_loss = -1.0;
        for (size_t c = 0; c < n; c++) least = v[c] > least ? v[c] : least;
        least = 0.25 * least > judge->floor ? 0.25 * least : judge->floor; /* half the deviation of the strongest channel */
        for (size_t c = 0; c < n; c++) {
            const double loss = v[c] > 0.0 && v[c] >= least && judge->count[k * n] >= judge->enough ? lost[k * n + c] : -1.0;
            largest_loss = loss > largest_loss ? loss : largest_loss;
            found->lost_in[c] += loss > 0.5;
        }
        losses[first + k] = largest_loss < 0.0 ? NAN : HALF_EVEN(largest_loss * 1000.0) / 1000.0;
        if (largest_loss > found->most) found->most = largest_loss, found->worst = first + k;
        found->detailed += largest_loss >= 0.0, found->lost += largest_loss > 0.5;
    }
}

/* A step holds as many whole patches as fit. */
static void patch_losses(const uint8_t *p, const uint8_t *q, size_t rows, size_t patches, const int64_t *counts, Judge *judge,
                         double *losses, PatchCounts *found)
{
    const size_t n = (size_t)judge->channels, apart = patches * n, step = SIDE / n;
    ColumnSums s;
    for (size_t first = 0; first < patches; first += step) {
        const size_t few = patches - first < step ? patches - first : step, at = first * n;
        if (at + SIDE <= apart) sum_columns(p + at, q + at, rows, apart, &s);
        else sum_few_columns(p + at, q + at, rows, apart, few * n, &s);
        if (counts)
            for (size_t j = 0; j < few * n; j++) judge->count[j] = (double)counts[first + j / n];
        judge_patches(&s, first, few, judge, losses, found);
    }
}

enum { GRID = 8 }; /* pixels that are compared along the side of a patch */

/* Where the compared pixels lie: GRID lines for each row of patches, and GRID places in a line for each column of them. */
typedef struct {
    size_t width, height, rows, columns; /* of the image, and of patches */
    const int64_t *lines, *places;
} Grid;

static int is_inside(const int64_t *numbers, size_t count, size_t limit)
{
    int wrong = 0;
    for (size_t k = 0; k < count; k++) wrong |= (uint64_t)numbers[k] >= limit;
    return !wrong;
}

/* Copies the compared pixels of `few` patches of a row, from `first` on: pixels of a patch by rows, patches by columns. Writes a byte more. */
static void gather_patches(const uint8_t *p, size_t n, const Grid *grid, size_t row, size_t first, size_t few, uint8_t *o)
{
    size_t at[GRID][SIDE];
    for (size_t j = 0; j < few; j++)
        for (size_t x = 0; x < GRID; x++) at[x][j] = n * (size_t)grid->places[GRID * (first + j) + x];
    for (size_t y = 0; y < GRID; y++) {
        const size_t line = (size_t)grid->lines[GRID * row + y];
        const uint8_t *start = p + n * grid->width * line;
        for (size_t x = 0; x < GRID; x++)
            if (n == 3 && line + 1 < grid->height) /* four bytes are one move; the next pixel overwrites the last of them */
                for (size_t j = 0; j < few; j++, o += 3) memcpy(o, start + at[x][j], 4);
            else
                for (size_t j = 0; j < few; j++, o += n) memcpy(o, start + at[x][j], n);
    }
}

/* What patch_losses counts, for the compared pixels of an image and what a diagonal map makes of them. A piece stays in the first cache. */
static void level_losses(const uint8_t *p, const Grid *grid, const Map *m, const Judge *judge, double *losses, PatchCounts *found)
{
    enum { PIECE = GRID * GRID * SIDE + SIDE }; /* sums read past the last row */
    const size_t n = (size_t)m->channels, pieces = (grid->columns * n + SIDE / n * n - 1) / (SIDE / n * n);
    const size_t step = (grid->columns + pieces - 1) / pieces; /* pieces of nearly one size */
    uint8_t before[PIECE] = {0}, after[PIECE] = {0}, tables[256 * 16];
    ColumnSums s;
    tables_u8(tables, m);
    for (size_t row = 0; row < grid->rows; row++)
        for (size_t first = 0; first < grid->columns; first += step) {
            const size_t few = grid->columns - first < step ? grid->columns - first : step;
            gather_patches(p, n, grid, row, first, few, before);
            look_up_all_u8(before, after, GRID * GRID * few, m->channels, tables);
            sum_columns(before, after, GRID * GRID, few * n, &s);
            judge_patches(&s, row * grid->columns + first, few, judge, losses, found);
        }
}

static PyObject *counted_patches(const PatchCounts *found, int channels)
{
    PyObject *lost_in = integers(found->lost_in, channels);
    return Py_BuildValue("KKNnd", found->detailed, found->lost, lost_in, (Py_ssize_t)found->worst, found->most);
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
        set_columns(&judge, gain == Py_None ? NULL : gains, rows);
        Py_BEGIN_ALLOW_THREADS
        patch_losses(before.buf, after.buf, rows, patches, counts.obj ? counts.buf : NULL, &judge, losses.buf, &found);
        Py_END_ALLOW_THREADS
        result = counted_patches(&found, judge.channels);
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

/* level_losses(pixels, channels, width, lines, places, (gain, offset), floor, losses) -> what patch_losses returns for an 8-bit image and
 * what a diagonal map makes of it. `lines` and `places` are int64, 8 for each row and column of patches; `losses` is float64. */
static PyObject *py_level_losses(PyObject *self, PyObject *args)
{
    Py_buffer view, lines, places, losses;
    PyObject *from, *in, *at, *gain, *offset, *into, *result = NULL;
    Py_ssize_t width;
    double gains[16], offsets[16];
    PatchCounts found = {.most = -1.0};
    Judge judge = {0};
    if (!PyArg_ParseTuple(args, "OinOO(OO)dO", &from, &judge.channels, &width, &in, &at, &gain, &offset, &judge.floor, &into)) return NULL;
    if (judge.channels < 1 || judge.channels > 16 || width < 1) {
        PyErr_SetString(PyExc_ValueError, "channels or width out of range");
        return NULL;
    }
    if (numbers_from(gain, gains, judge.channels) < 0 || numbers_from(offset, offsets, judge.channels) < 0) return NULL;
    if (borrow(from, &view, 0) < 0) return NULL;
    if (borrow(in, &lines, 0) < 0) goto no_lines;
    if (borrow(at, &places, 0) < 0) goto no_places;
    if (borrow(into, &losses, 1) < 0) goto no_losses;
    const Map m = {0.0, 255.0, judge.channels, gains, offsets};
    const size_t line_count = (size_t)lines.len / sizeof(int64_t), place_count = (size_t)places.len / sizeof(int64_t);
    const Grid grid = {(size_t)width, (size_t)view.len / width / judge.channels, line_count / GRID, place_count / GRID, lines.buf, places.buf};
    if (grid.rows < 1 || grid.columns < 1 || (size_t)losses.len != grid.rows * grid.columns * sizeof(double) || lines.itemsize != sizeof(int64_t) ||
        places.itemsize != sizeof(int64_t) || !is_inside(grid.lines, line_count, grid.height) ||
        !is_inside(grid.places, place_count, grid.width)) {
        PyErr_SetString(PyExc_ValueError, "pixels, places and losses do not fit together");
    } else {
        set_columns(&judge, gains, GRID * GRID);
        Py_BEGIN_ALLOW_THREADS
        level_losses(view.buf, &grid, &m, &judge, losses.buf, &found);
        Py_END_ALLOW_THREADS
        result = counted_patches(&found, judge.channels);
    }
    PyBuffer_Release(&losses);
no_losses:
    PyBuffer_Release(&places);
no_places:
    PyBuffer_Release(&lines);
no_lines:
    PyBuffer_Release(&view);
    return result;
}
