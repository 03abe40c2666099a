/* Mean and variance of each channel in one call: small images cost more in calls and numbers between them than in pixels. */

#define MOST_PAIRED ((size_t)1 << 18) /* pixels of 8 bits: count * sum of squares stays below 2^53, where float64 is exact */

static PyObject *pair_list(const double *means, const double *variances, int channels)
{
    PyObject *result = PyList_New(channels);
    for (int c = 0; result && c < channels; c++) {
        PyObject *pair = doubles((const double[]){means[c], variances[c]}, 2);
        if (!pair || PyList_SetItem(result, c, pair) < 0) Py_CLEAR(result);
    }
    return result;
}

/* pairs_levels(pixels, channels) -> [(mean, variance), ...] of at most 2^18 pixels of 8 bits: exact ratios, rounded once */
static PyObject *py_pairs_levels(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *result = NULL;
    int channels;
    if (!PyArg_ParseTuple(args, "Oi", &pixels, &channels)) return NULL;
    if (channels < 1 || channels > MAX_CHANNELS) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (borrow(pixels, &view, 0) < 0) return NULL;
    const size_t count = (size_t)view.len / channels;
    if (count >= 1 && count <= MOST_PAIRED) {
        uint64_t sums[MAX_CHANNELS], squares[MAX_CHANNELS];
        double means[MAX_CHANNELS], variances[MAX_CHANNELS];
        memset(sums, 0, channels * sizeof *sums), memset(squares, 0, channels * sizeof *squares);
        Py_BEGIN_ALLOW_THREADS
        moments_integer(view.buf, 1, count, channels, 1, sums, squares);
        Py_END_ALLOW_THREADS
        const double n = (double)count;
        for (int c = 0; c < channels; c++) {
            means[c] = (double)sums[c] / n;
            variances[c] = (double)(count * squares[c] - sums[c] * sums[c]) / (n * n);
        }
        result = pair_list(means, variances, channels);
    } else {
        PyErr_SetString(PyExc_ValueError, "from 1 to 2^18 pixels can be measured so");
    }
    PyBuffer_Release(&view);
    return result;
}

/* rows_levels(pixels) -> ((sums, products), [(mean, variance), ...], [[covariance, ...], ...]) of at most 2^18 pixels with three channels of
 * 8 bits: sums and products as from moments_integer with reach 3, then exact ratios, rounded once */
static PyObject *py_rows_levels(PyObject *self, PyObject *pixels)
{
    Py_buffer view;
    uint64_t sums[3] = {0}, products[9] = {0};
    double means[3], variances[3], rows[3][3];
    if (borrow(pixels, &view, 0) < 0) return NULL;
    const size_t count = (size_t)view.len / 3;
    if (count >= 1 && count <= MOST_PAIRED) {
        Py_BEGIN_ALLOW_THREADS
        moments_integer(view.buf, 1, count, 3, 3, sums, products);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&view);
    if (count < 1 || count > MOST_PAIRED) {
        PyErr_SetString(PyExc_ValueError, "from 1 to 2^18 pixels can be measured so");
        return NULL;
    }
    const double n = (double)count;
    for (int i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++) { /* whole numbers below 2^53 and of either sign */
            const int64_t exact = (int64_t)(count * products[3 * (j - i) + i]) - (int64_t)(sums[i] * sums[j]);
            rows[i][j] = rows[j][i] = (double)exact / (n * n);
        }
        means[i] = (double)sums[i] / n, variances[i] = rows[i][i];
    }
    PyObject *pairs = pair_list(means, variances, 3), *cov = PyList_New(3);
    for (int i = 0; cov && i < 3; i++) {
        PyObject *row = Py_BuildValue("[ddd]", rows[i][0], rows[i][1], rows[i][2]);
        if (!row || PyList_SetItem(cov, i, row) < 0) Py_CLEAR(cov);
    }
    return Py_BuildValue("(NN)NN", integers(sums, 3), integers(products, 9), pairs, cov); /* takes over its parts, also where one is missing */
}

/* pairs_float(pixels, itemsize, channels) -> ([(mean, variance), ...], lowest, highest), or None if a sum is not finite; a channel
 * with one value has that value as its mean and no variance, whatever rounding left over */
static PyObject *py_pairs_float(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *result = NULL;
    int itemsize, channels;
    if (!PyArg_ParseTuple(args, "Oii", &pixels, &itemsize, &channels) || refuse_floats(itemsize, channels)) return NULL;
    double *numbers = scratch(4 * (size_t)channels, channels);
    if (!numbers) return PyErr_NoMemory();
    if (borrow(pixels, &view, 0) == 0) {
        const size_t count = (size_t)view.len / itemsize / channels;
        double *means = numbers, *lows = means + channels, *highs = lows + channels, *squares = highs + channels;
        double low = HUGE_VAL, high = -HUGE_VAL;
        int finite = 1;
        Py_BEGIN_ALLOW_THREADS
        for (int c = 0; c < channels; c++) means[c] = squares[c] = 0.0, lows[c] = HUGE_VAL, highs[c] = -HUGE_VAL;
        sums_float(view.buf, itemsize, count, channels, squares + channels, means, lows, highs);
        for (int c = 0; c < channels; c++) finite &= isfinite(means[c]) != 0, means[c] /= (double)count;
        if (finite) products_float(view.buf, itemsize, count, channels, 1, means, squares + channels, squares);
        Py_END_ALLOW_THREADS
        PyBuffer_Release(&view);
        for (int c = 0; c < channels; c++) {
            finite &= isfinite(squares[c]) != 0;
            const int flat = lows[c] == highs[c];
            means[c] = flat ? lows[c] : means[c], squares[c] = flat ? 0.0 : squares[c] / (double)count;
            low = lows[c] < low ? lows[c] : low, high = highs[c] > high ? highs[c] : high;
        }
        if (finite) {
            PyObject *pairs = pair_list(means, squares, channels);
            if (pairs) result = Py_BuildValue("Ndd", pairs, low, high);
        } else {
            result = Py_None;
            Py_INCREF(result);
        }
    }
    PyMem_Free(numbers);
    return result;
}
