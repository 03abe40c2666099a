/* What Python sees of the colour spaces that are not linear. */

static const Space *space_called(const char *name)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, name) == 0) return spaces + i;
    PyErr_Format(PyExc_ValueError, "no conversion is known for %s", name);
    return NULL;
}

static int format_from(const char *name, int kind, int depth, double unit, Format *f)
{
    f->space = space_called(name), f->kind = kind, f->depth = depth, f->unit = unit;
    f->itemsize = kind == 'B' ? 1 : kind == 'H' ? 2 : kind == 'f' ? 4 : 8;
    if (!f->space) return -1;
    if (depth >= 3 && depth <= MAX_CHANNELS && unit > 0.0) return 0;
    PyErr_SetString(PyExc_ValueError, "depth or unit out of range");
    return -1;
}

/* moments_converted(pixels, kind, depth, space, unit, joined): adds pixels to `joined`, sixteen float64: count, means, products of
 * deviations (upper triangle), the first pixel, 1 where others differ from it. Pieces of whole chunks add up as all at once do. */
static PyObject *py_moments_converted(PyObject *self, PyObject *args)
{
    Py_buffer view, joined;
    PyObject *pixels, *into, *result = NULL;
    const char *name;
    int kind, depth;
    double unit;
    Format f;
    if (!PyArg_ParseTuple(args, "OCisdO", &pixels, &kind, &depth, &name, &unit, &into)) return NULL;
    if (format_from(name, kind, depth, unit, &f) < 0 || borrow(pixels, &view, 0) < 0) return NULL;
    if (borrow(into, &joined, 1) == 0) {
        if (joined.len == sizeof(Joined)) {
            Py_BEGIN_ALLOW_THREADS
            join_pixels(view.buf, (size_t)view.len / f.itemsize / depth, &f, joined.buf);
            Py_END_ALLOW_THREADS
            result = Py_None;
            Py_INCREF(result);
        } else {
            PyErr_SetString(PyExc_ValueError, "joined has the wrong size");
        }
        PyBuffer_Release(&joined);
    }
    PyBuffer_Release(&view);
    return result;
}

static PyObject *wide_integer(const WideSum *sum)
{
    PyObject *high = PyLong_FromLongLong(sum->high), *bits = PyLong_FromLong(32), *low = PyLong_FromUnsignedLongLong(sum->low);
    PyObject *upper = high && bits && low ? PyNumber_Lshift(high, bits) : NULL;
    PyObject *result = upper ? PyNumber_Add(upper, low) : NULL;
    Py_XDECREF(high), Py_XDECREF(bits), Py_XDECREF(low), Py_XDECREF(upper);
    return result;
}

/* moments_levels(pixels, depth, space, reach) -> (sums, products) of 8-bit pixels, in whole steps of the channels of the space;
 * products[3 * d + i] = sum x[i] x[i + d] */
static PyObject *py_moments_levels(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *pixels, *sums, *products;
    const char *name;
    int depth, reach;
    Format f;
    LevelSums all = {0};
    if (!PyArg_ParseTuple(args, "Oisi", &pixels, &depth, &name, &reach) || format_from(name, 'B', depth, 255.0, &f) < 0) return NULL;
    if (reach < 1 || reach > 3) {
        PyErr_SetString(PyExc_ValueError, "reach out of range");
        return NULL;
    }
    if (borrow(pixels, &view, 0) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    sum_levels(view.buf, (size_t)view.len / depth, depth, f.space, reach, &all);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    sums = PyTuple_New(3), products = PyTuple_New(3 * reach);
    for (int i = 0; sums && products && i < 3 * reach; i++) {
        PyObject *sum = i < 3 ? PyLong_FromLongLong(all.sums[i]) : NULL, *product = wide_integer(all.products + i);
        if ((i < 3 && (!sum || PyTuple_SetItem(sums, i, sum) < 0)) || !product || PyTuple_SetItem(products, i, product) < 0)
            Py_CLEAR(products);
    }
    PyObject *result = sums && products ? PyTuple_Pack(2, sums, products) : NULL;
    Py_XDECREF(sums), Py_XDECREF(products);
    return result;
}

/* affine_converted(source, target, kind, depth, space, unit, (gain, offset), (low, high)) -> whether all mapped values mean something;
 * channels beyond the third are copied */
static PyObject *py_affine_converted(PyObject *self, PyObject *args)
{
    Py_buffer source, target;
    PyObject *from, *to, *gain, *offset, *result = NULL;
    const char *name;
    int kind, depth, far = 0;
    double unit, numbers[12];
    Format f;
    Map m;
    if (!PyArg_ParseTuple(args, "OOCisd(OO)(dd)", &from, &to, &kind, &depth, &name, &unit, &gain, &offset, &m.low, &m.high)) return NULL;
    const Py_ssize_t gains = PySequence_Size(gain);
    const int diagonal = gains == 3;
    if (format_from(name, kind, depth, unit, &f) < 0) return NULL;
    if (numbers_from(gain, numbers, diagonal ? 3 : 9) < 0 || numbers_from(offset, numbers + 9, 3) < 0) return NULL;
    m.channels = 3, m.gain = numbers, m.offset = numbers + 9;
    if (borrow(from, &source, 0) < 0) return NULL;
    if (borrow(to, &target, 1) == 0) {
        if (source.len == target.len) {
            Py_BEGIN_ALLOW_THREADS
            far = map_converted(source.buf, target.buf, (size_t)source.len / f.itemsize / depth, &f, diagonal, &m);
            Py_END_ALLOW_THREADS
            result = PyBool_FromLong(!far);
        } else {
            PyErr_SetString(PyExc_ValueError, "source and target differ in size");
        }
        PyBuffer_Release(&target);
    }
    PyBuffer_Release(&source);
    return result;
}

/* convert(source, target, space, inverse): float64 pixels of three channels between RGB in [0, 1] and a space */
static PyObject *py_convert(PyObject *self, PyObject *args)
{
    Py_buffer source, target;
    PyObject *from, *to, *result = NULL;
    const char *name;
    int inverse;
    Format f;
    if (!PyArg_ParseTuple(args, "OOsp", &from, &to, &name, &inverse) || format_from(name, 'd', 3, 1.0, &f) < 0) return NULL;
    if (borrow(from, &source, 0) < 0) return NULL;
    if (borrow(to, &target, 1) == 0) {
        if (source.len == target.len) {
            Py_BEGIN_ALLOW_THREADS
            convert_pixels(source.buf, target.buf, (size_t)source.len / 24, &f, inverse);
            Py_END_ALLOW_THREADS
            result = Py_None;
            Py_INCREF(result);
        } else {
            PyErr_SetString(PyExc_ValueError, "source and target differ in size");
        }
        PyBuffer_Release(&target);
    }
    PyBuffer_Release(&source);
    return result;
}

/* split(pixels, kind, depth, space, unit, planes): the channels of a space, as three planes of float64 */
static PyObject *py_split(PyObject *self, PyObject *args)
{
    Py_buffer view, planes;
    PyObject *pixels, *into, *result = NULL;
    const char *name;
    int kind, depth;
    double unit;
    Format f;
    if (!PyArg_ParseTuple(args, "OCisdO", &pixels, &kind, &depth, &name, &unit, &into)) return NULL;
    if (format_from(name, kind, depth, unit, &f) < 0 || borrow(pixels, &view, 0) < 0) return NULL;
    if (borrow(into, &planes, 1) == 0) {
        const size_t n = (size_t)view.len / f.itemsize / depth;
        if ((size_t)planes.len == 24 * n) {
            Py_BEGIN_ALLOW_THREADS
            split_pixels(view.buf, planes.buf, n, &f);
            Py_END_ALLOW_THREADS
            result = Py_None;
            Py_INCREF(result);
        } else {
            PyErr_SetString(PyExc_ValueError, "planes has the wrong size");
        }
        PyBuffer_Release(&planes);
    }
    PyBuffer_Release(&view);
    return result;
}

/* join(planes, target, kind, depth, space, unit, (low, high), (units, rows)): planes of a space back to pixels; of a linear space, whose
 * name is empty, by nine numbers and what stands for 1 in each plane. Channels beyond the third are left as they are. */
static PyObject *py_join(PyObject *self, PyObject *args)
{
    Py_buffer planes, target;
    PyObject *from, *to, *units, *rows, *result = NULL;
    const char *name;
    int kind, depth;
    double unit, low, high, numbers[12];
    Format f;
    if (!PyArg_ParseTuple(args, "OOCisd(dd)(OO)", &from, &to, &kind, &depth, &name, &unit, &low, &high, &units, &rows)) return NULL;
    const int linear = !*name;
    if (format_from(linear ? "lab" : name, kind, depth, unit, &f) < 0) return NULL;
    if (linear && (numbers_from(units, numbers, 3) < 0 || numbers_from(rows, numbers + 3, 9) < 0)) return NULL;
    if (borrow(from, &planes, 0) < 0) return NULL;
    if (borrow(to, &target, 1) == 0) {
        const size_t n = (size_t)target.len / f.itemsize / depth;
        if ((size_t)planes.len == 24 * n) {
            Py_BEGIN_ALLOW_THREADS
            if (linear) unmix_planes(planes.buf, numbers, numbers + 3, target.buf, n, &f, low, high);
            else join_planes(planes.buf, target.buf, n, &f, low, high);
            Py_END_ALLOW_THREADS
            result = Py_None;
            Py_INCREF(result);
        } else {
            PyErr_SetString(PyExc_ValueError, "planes has the wrong size");
        }
        PyBuffer_Release(&target);
    }
    PyBuffer_Release(&planes);
    return result;
}
