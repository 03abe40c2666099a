/* What Python sees. Every function takes contiguous buffers, which its callers have checked. */

/* Takes a contiguous buffer, whose items must be aligned to their own size. */
static int borrow(PyObject *object, Py_buffer *view, int writable)
{
    if (PyObject_GetBuffer(object, view, PyBUF_ND | (writable ? PyBUF_WRITABLE : 0)) < 0) return -1;
    const Py_ssize_t item = view->itemsize;
    if ((item == 2 || item == 4 || item == 8) && (uintptr_t)view->buf % (uintptr_t)item) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_ValueError, "memory is not aligned to its items; copy the array first");
        return -1;
    }
    return 0;
}

static int numbers_from(PyObject *sequence, double *numbers, Py_ssize_t expected)
{
    if (PySequence_Size(sequence) != expected) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a coefficient list has the wrong length");
        return -1;
    }
    for (Py_ssize_t i = 0; i < expected; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        if (!item) return -1;
        numbers[i] = PyFloat_AsDouble(item);
        Py_DECREF(item);
        if (numbers[i] == -1.0 && PyErr_Occurred()) return -1;
    }
    return 0;
}

static PyObject *doubles(const double *numbers, Py_ssize_t count)
{
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        PyObject *item = PyFloat_FromDouble(numbers[i]);
        if (!item || PyTuple_SetItem(result, i, item) < 0) Py_CLEAR(result);
    }
    return result;
}

static PyObject *integers(const uint64_t *numbers, Py_ssize_t count)
{
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        PyObject *item = PyLong_FromUnsignedLongLong(numbers[i]);
        if (!item || PyTuple_SetItem(result, i, item) < 0) Py_CLEAR(result);
    }
    return result;
}

/* moments_integer(pixels, itemsize, channels, reach) -> (sums, products); products[d * channels + i] = sum x[i] x[i + d] */
static PyObject *py_moments_integer(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *s = NULL, *q = NULL, *result = NULL;
    int itemsize, channels, reach;
    if (!PyArg_ParseTuple(args, "Oiii", &pixels, &itemsize, &channels, &reach)) return NULL;
    if (channels < 1 || channels > MAX_CHANNELS || reach < 1 || reach > channels || (itemsize != 1 && itemsize != 2)) {
        PyErr_SetString(PyExc_ValueError, "channels, reach or itemsize out of range");
        return NULL;
    }
    uint64_t *sums = PyMem_Calloc((size_t)channels * (reach + 1), sizeof(uint64_t));
    if (!sums) return PyErr_NoMemory();
    if (borrow(pixels, &view, 0) == 0) {
        Py_BEGIN_ALLOW_THREADS
        moments_integer(view.buf, itemsize, (size_t)view.len / itemsize / channels, channels, reach, sums, sums + channels);
        Py_END_ALLOW_THREADS
        PyBuffer_Release(&view);
        s = integers(sums, channels);
        q = integers(sums + channels, (Py_ssize_t)channels * reach);
        if (s && q) result = PyTuple_Pack(2, s, q);
    }
    Py_XDECREF(s);
    Py_XDECREF(q);
    PyMem_Free(sums);
    return result;
}

/* Allocates memory for some numbers and, where the loops work on planes, for a block of those. */
static double *scratch(size_t numbers, int channels)
{
    size_t planes = channels == 1 || channels == 3 ? 0 : (size_t)channels * BLOCK;
    return PyMem_Malloc((numbers + planes) * sizeof(double));
}

static int refuse_floats(int itemsize, int channels)
{
    if (channels >= 1 && channels <= MAX_CHANNELS && (itemsize == 4 || itemsize == 8)) return 0;
    PyErr_SetString(PyExc_ValueError, "channels or itemsize out of range");
    return -1;
}

/* sums_float(pixels, itemsize, channels) -> (sums, lows, highs) */
static PyObject *py_sums_float(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *result = NULL;
    int itemsize, channels;
    if (!PyArg_ParseTuple(args, "Oii", &pixels, &itemsize, &channels) || refuse_floats(itemsize, channels)) return NULL;
    double *numbers = scratch(3 * (size_t)channels, channels);
    if (!numbers) return PyErr_NoMemory();
    if (borrow(pixels, &view, 0) == 0) {
        double *sums = numbers, *lows = numbers + channels, *highs = lows + channels, *planes = highs + channels;
        Py_BEGIN_ALLOW_THREADS
        for (int c = 0; c < channels; c++) sums[c] = 0.0, lows[c] = HUGE_VAL, highs[c] = -HUGE_VAL;
        sums_float(view.buf, itemsize, (size_t)view.len / itemsize / channels, channels, planes, sums, lows, highs);
        Py_END_ALLOW_THREADS
        PyBuffer_Release(&view);
        PyObject *s = doubles(sums, channels), *l = doubles(lows, channels), *h = doubles(highs, channels);
        if (s && l && h) result = PyTuple_Pack(3, s, l, h);
        Py_XDECREF(s);
        Py_XDECREF(l);
        Py_XDECREF(h);
    }
    PyMem_Free(numbers);
    return result;
}

/* products_float(pixels, itemsize, channels, means, diagonal) -> sums of products of deviations: squares if diagonal, else
 * the upper triangle row by row */
static PyObject *py_products_float(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *means, *result = NULL;
    int itemsize, channels, diagonal;
    if (!PyArg_ParseTuple(args, "OiiOp", &pixels, &itemsize, &channels, &means, &diagonal) || refuse_floats(itemsize, channels))
        return NULL;
    size_t pairs = diagonal ? (size_t)channels : (size_t)channels * (channels + 1) / 2;
    double *numbers = scratch(pairs + channels, channels);
    if (!numbers) return PyErr_NoMemory();
    double *centre = numbers + pairs, *planes = centre + channels;
    if (numbers_from(means, centre, channels) == 0 && borrow(pixels, &view, 0) == 0) {
        size_t total = (size_t)view.len / itemsize / channels;
        Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < pairs; i++) numbers[i] = 0.0;
        products_float(view.buf, itemsize, total, channels, diagonal, centre, planes, numbers);
        Py_END_ALLOW_THREADS
        PyBuffer_Release(&view);
        result = doubles(numbers, (Py_ssize_t)pairs);
    }
    PyMem_Free(numbers);
    return result;
}

/* affine(source, target, kind, channels, gain, offset, low, high): diagonal if len(gain) == channels, else a 3 x 3 matrix */
static PyObject *py_affine(PyObject *self, PyObject *args)
{
    Py_buffer source, target;
    PyObject *from, *to, *gain, *offset, *result = NULL;
    int kind, channels;
    Map m;
    if (!PyArg_ParseTuple(args, "OOCiOOdd", &from, &to, &kind, &channels, &gain, &offset, &m.low, &m.high)) return NULL;
    if (channels < 1 || channels > MAX_CHANNELS) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    const Py_ssize_t gains = PySequence_Size(gain);
    const int diagonal = gains == channels, itemsize = kind == 'B' ? 1 : kind == 'H' ? 2 : kind == 'f' ? 4 : 8;
    if (!diagonal && (channels != 3 || gains != 9)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "gain has neither `channels` nor 3 x 3 numbers");
        return NULL;
    }
    double *numbers = PyMem_Calloc((size_t)gains + channels, sizeof(double));
    if (!numbers) return PyErr_NoMemory();
    m.channels = channels, m.gain = numbers, m.offset = numbers + gains;
    if (numbers_from(gain, numbers, gains) == 0 && numbers_from(offset, numbers + gains, channels) == 0 &&
        borrow(from, &source, 0) == 0) {
        if (borrow(to, &target, 1) == 0) {
            if (source.len == target.len) {
                Py_BEGIN_ALLOW_THREADS
                map_pixels(source.buf, target.buf, (char)kind, diagonal, (size_t)source.len / itemsize / channels, &m);
                Py_END_ALLOW_THREADS
                result = Py_None;
                Py_INCREF(result);
            } else {
                PyErr_SetString(PyExc_ValueError, "source and target differ in size");
            }
            PyBuffer_Release(&target);
        }
        PyBuffer_Release(&source);
    }
    PyMem_Free(numbers);
    return result;
}

/* moments_rgba(pixels) -> (sums, products) of the first three of four 8-bit channels, as from moments_integer with reach 3 */
static PyObject *py_moments_rgba(PyObject *self, PyObject *pixels)
{
    Py_buffer view;
    uint64_t sums[3] = {0}, products[9] = {0};
    if (borrow(pixels, &view, 0) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    moments_rgba(view.buf, (size_t)view.len / 4, sums, products);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    PyObject *s = integers(sums, 3), *q = integers(products, 9), *result = s && q ? PyTuple_Pack(2, s, q) : NULL;
    Py_XDECREF(s);
    Py_XDECREF(q);
    return result;
}

/* histogram(pixels, itemsize, depth, counts): adds to counts, a uint64 buffer of 256 or 65536 for each channel that is counted;
 * channels of the pixels beyond those of counts are passed over */
static PyObject *py_histogram(PyObject *self, PyObject *args)
{
    Py_buffer view, counts;
    PyObject *pixels, *into, *result = NULL;
    int itemsize, depth;
    if (!PyArg_ParseTuple(args, "OiiO", &pixels, &itemsize, &depth, &into)) return NULL;
    if (depth < 1 || depth > MAX_CHANNELS || (itemsize != 1 && itemsize != 2)) {
        PyErr_SetString(PyExc_ValueError, "channels or itemsize out of range");
        return NULL;
    }
    const size_t table = (itemsize == 1 ? 256 : 65536) * sizeof(uint64_t);
    if (borrow(pixels, &view, 0) < 0) return NULL;
    if (borrow(into, &counts, 1) == 0) {
        const size_t channels = (size_t)counts.len / table;
        if (counts.len % table == 0 && channels >= 1 && channels <= (size_t)depth) {
            Py_BEGIN_ALLOW_THREADS
            histogram(view.buf, itemsize, (size_t)view.len / itemsize / depth, depth, (int)channels, counts.buf);
            Py_END_ALLOW_THREADS
            result = Py_None;
            Py_INCREF(result);
        } else {
            PyErr_SetString(PyExc_ValueError, "counts has the wrong size");
        }
        PyBuffer_Release(&counts);
    }
    PyBuffer_Release(&view);
    return result;
}

/* clipped(pixels, channels, gain, offset) -> how many 8-bit values per channel the diagonal map drives beyond 0 or 255 */
static PyObject *py_clipped(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *gain, *offset;
    int channels;
    double gains[MAX_CHANNELS], offsets[MAX_CHANNELS];
    uint64_t counts[MAX_CHANNELS] = {0};
    if (!PyArg_ParseTuple(args, "OiOO", &pixels, &channels, &gain, &offset)) return NULL;
    if (channels < 1 || channels > MAX_CHANNELS) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (numbers_from(gain, gains, channels) < 0 || numbers_from(offset, offsets, channels) < 0) return NULL;
    if (borrow(pixels, &view, 0) < 0) return NULL;
    const Map m = {0.0, 255.0, channels, gains, offsets};
    Py_BEGIN_ALLOW_THREADS
    clipped(view.buf, (size_t)view.len / channels, &m, counts);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return integers(counts, channels);
}

/* planes(pixels, target, channels, tables): uint8 (n, channels) to float32 (channels, n) through tables (channels, 256) */
static PyObject *py_planes(PyObject *self, PyObject *args)
{
    Py_buffer source, target, tables;
    PyObject *from, *to, *with, *result = NULL;
    int channels;
    if (!PyArg_ParseTuple(args, "OOiO", &from, &to, &channels, &with)) return NULL;
    if (channels < 1 || channels > MAX_CHANNELS) {
        PyErr_SetString(PyExc_ValueError, "channels out of range");
        return NULL;
    }
    if (borrow(from, &source, 0) < 0) return NULL;
    if (borrow(to, &target, 1) == 0) {
        if (borrow(with, &tables, 0) == 0) {
            if (target.len == source.len * 4 && tables.len == (Py_ssize_t)channels * 256 * 4 && source.len % channels == 0) {
                Py_BEGIN_ALLOW_THREADS
                look_up_planes(source.buf, target.buf, (size_t)source.len / channels, channels, tables.buf);
                Py_END_ALLOW_THREADS
                result = Py_None;
                Py_INCREF(result);
            } else {
                PyErr_SetString(PyExc_ValueError, "pixels, target and tables do not fit together");
            }
            PyBuffer_Release(&tables);
        }
        PyBuffer_Release(&target);
    }
    PyBuffer_Release(&source);
    return result;
}

#include "_kernels_pairs.h"
#include "_kernels_converted_module.h"
#include "_kernels_ranks_module.h"
#include "_kernels_transport.h"
#include "_kernels_philox.h"
#include "_kernels_audit.h"
#include "_kernels_patches.h"

static PyMethodDef methods[] = {
    {"moments_integer", py_moments_integer, METH_VARARGS, "Exact sums and sums of products of 8- or 16-bit pixels."},
    {"sums_float", py_sums_float, METH_VARARGS, "Sums, minima and maxima of float pixels, in fixed order."},
    {"products_float", py_products_float, METH_VARARGS, "Sums of products of deviations, in fixed order."},
    {"pairs_levels", py_pairs_levels, METH_VARARGS, "Mean and variance of each channel of a small 8-bit image."},
    {"rows_levels", py_rows_levels, METH_O, "Means, variances and covariances of a small 8-bit image with three channels."},
    {"pairs_float", py_pairs_float, METH_VARARGS, "Mean and variance of each channel of float pixels, and their range."},
    {"affine", py_affine, METH_VARARGS, "Affine map of pixels, rounded half to even and clipped."},
    {"moments_rgba", py_moments_rgba, METH_O, "Exact sums and products of 8-bit colour beside a fourth channel."},
    {"clipped", py_clipped, METH_VARARGS, "Count 8-bit values that a diagonal map drives beyond the range."},
    {"histogram", py_histogram, METH_VARARGS, "Count 8- or 16-bit levels per channel."},
    {"map_counts", py_map_counts, METH_VARARGS, "Sums over the levels that occur and over what a diagonal map makes of them."},
    {"map_moments", py_map_moments, METH_VARARGS, "The same sums from 8-bit pixels."},
    {"gather", py_gather, METH_VARARGS, "Copy the pixels at given places."},
    {"patch_losses", py_patch_losses, METH_VARARGS, "The share of its contrast that each patch of 8-bit pixels lost."},
    {"level_losses", py_level_losses, METH_VARARGS, "The same for an 8-bit image and what a diagonal map makes of it."},
    {"planes", py_planes, METH_VARARGS, "Look 8-bit pixels up in float tables, channel by channel."},
    {"moments_converted", py_moments_converted, METH_VARARGS, "Moments of pixels in a colour space that is not linear."},
    {"moments_levels", py_moments_levels, METH_VARARGS, "Exact sums of 8-bit pixels in a colour space that is not linear."},
    {"affine_converted", py_affine_converted, METH_VARARGS, "Affine map of pixels in a colour space that is not linear."},
    {"convert", py_convert, METH_VARARGS, "Convert float64 pixels to or from a colour space that is not linear."},
    {"transport", py_transport, METH_VARARGS, "The map that turns one covariance into another and moves least."},
    {"product", py_product, METH_VARARGS, "Multiply three 3 x 3 matrices."},
    {"mixed_variances", py_mixed_variances, METH_VARARGS, "Variances of three mixtures of three channels."},
    {"exponential", py_exponential, METH_VARARGS, "The exponential of a symmetric 3 x 3 matrix."},
    {"first_random", py_first_random, METH_VARARGS, "The first number of a random stream of NumPy."},
    {"split", py_split, METH_VARARGS, "Split pixels into the channels of a colour space that is not linear."},
    {"join", py_join, METH_VARARGS, "Join the channels of a colour space to pixels."},
    {"strict_order", py_strict_order, METH_VARARGS, "Order pixels by value, then by the sums over growing rings."},
    {"match_shares", py_match_shares, METH_VARARGS, "Give values the style's value of the same cumulative share."},
    {"match_counts", py_match_counts, METH_VARARGS, "The same for whole numbers of a small span, by counting."},
    {"hsi_levels", py_hsi_levels, METH_VARARGS, "HSI's saturation of integer pixels, and the sums of their channels."},
    {"mix_whole", py_mix_whole, METH_VARARGS, "Whole-number combinations of three channels."},
    {"look_up", py_look_up, METH_VARARGS, "Look 8-bit pixels up in a table for each channel."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *self)
{
    fill_tables();
    return 0;
}
static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_kernels", "Compiled form of the NumPy loops in recolorist.core.kernels.fallback.", 0, methods, slots, NULL, NULL, NULL,
};
PyMODINIT_FUNC PyInit__kernels(void) { return PyModuleDef_Init(&module); }
