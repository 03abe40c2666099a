/* What Python sees of ranking. Channels are int64 ("q") or float64 ("d"), of at most 2^32 - 1 pixels. */

static int refuse_values(const Py_buffer *view, int kind, Py_ssize_t expected)
{
    if ((kind == 'q' || kind == 'd') && view->len % 8 == 0 && view->len / 8 <= (Py_ssize_t)UINT32_MAX && view->len &&
        (expected < 0 || view->len == expected * 8))
        return 0;
    PyErr_SetString(PyExc_ValueError, "kind or size of the values out of range");
    return -1;
}

/* strict_order(values, kind, height, width, mask, by_position, numbers): mask is a buffer of bytes, or None; numbers, an array of uint64
 * for each pixel inside the mask, receives their places in order */
static PyObject *py_strict_order(PyObject *self, PyObject *args)
{
    Py_buffer view, inside = {0}, places;
    PyObject *values, *mask, *numbers, *result = NULL;
    int kind, by_position;
    Py_ssize_t height, width;
    if (!PyArg_ParseTuple(args, "OCnnOpO", &values, &kind, &height, &width, &mask, &by_position, &numbers)) return NULL;
    if (borrow(values, &view, 0) < 0) return NULL;
    if (refuse_values(&view, kind, height * width) == 0 && (mask == Py_None || borrow(mask, &inside, 0) == 0)) {
        if (borrow(numbers, &places, 1) == 0) {
            const uint8_t *chosen = inside.buf;
            const size_t pixels = (size_t)(height * width), room = (size_t)places.len / 8;
            uint64_t *a = places.buf;
            size_t n = 0;
            Channel c = {.height = height, .width = width, .keys = by_position ? 1 : KEYS};
            if (kind == 'q') c.whole = view.buf;
            else c.floats = view.buf;
            join_keys(&c);
            uint64_t *spare = PyMem_Malloc(((size_t)filled_words(&c) * pixels + room) * sizeof *spare);
            if (!spare) PyErr_NoMemory();
            else if (chosen && inside.len != (Py_ssize_t)pixels) PyErr_SetString(PyExc_ValueError, "mask has the wrong size");
            else {
                Py_BEGIN_ALLOW_THREADS
                const Keys keys = keys_of_channel(&c, spare + room);
                for (size_t k = 0; k < pixels; k++)
                    if ((!chosen || chosen[k]) && n++ < room) a[n - 1] = k, spare[n - 1] = keys.first[k];
                if (n == room) {
                    const int lost = pack_all_keys(a, spare, n, keys.place_bits, kind == 'd');
                    sort_numbers(a, spare, n, keys.place_bits, bits_apart(n, kind == 'd'));
                    settle_ties(a, spare, n, &keys, 0, lost);
                    for (size_t k = 0; k < n; k++) a[k] = PLACE(a[k], &keys);
                }
                Py_END_ALLOW_THREADS
                if (n != room) PyErr_SetString(PyExc_ValueError, "numbers has the wrong size");
                else result = Py_NewRef(Py_None);
            }
            PyMem_Free(spare);
            PyBuffer_Release(&places);
        }
        if (mask != Py_None) PyBuffer_Release(&inside);
    }
    PyBuffer_Release(&view);
    return result;
}

/* match_shares(values, kind, style, style_kind, target): target is an array of float64 for each value */
static PyObject *py_match_shares(PyObject *self, PyObject *args)
{
    Py_buffer view, goal, target;
    PyObject *values, *style, *into, *result = NULL;
    int kind, style_kind;
    if (!PyArg_ParseTuple(args, "OCOCO", &values, &kind, &style, &style_kind, &into)) return NULL;
    if (borrow(values, &view, 0) < 0) return NULL;
    if (borrow(style, &goal, 0) == 0) {
        if (refuse_values(&view, kind, -1) == 0 && refuse_values(&goal, style_kind, -1) == 0 && borrow(into, &target, 1) == 0) {
            const Values content = {view.buf, kind, (size_t)view.len / 8}, goals = {goal.buf, style_kind, (size_t)goal.len / 8};
            int done = 0;
            if (target.len == view.len) {
                Py_BEGIN_ALLOW_THREADS
                done = match_shares(&content, &goals, target.buf);
                Py_END_ALLOW_THREADS
                result = done ? Py_None : PyErr_NoMemory();
                Py_XINCREF(result);
            } else {
                PyErr_SetString(PyExc_ValueError, "target has the wrong size");
            }
            PyBuffer_Release(&target);
        }
        PyBuffer_Release(&goal);
    }
    PyBuffer_Release(&view);
    return result;
}

/* match_counts(values, style, target) -> whether int64 values were matched by counting; not if their span is larger than their number. The
 * style need not be sorted. */
static PyObject *py_match_counts(PyObject *self, PyObject *args)
{
    Py_buffer view, goal, target;
    PyObject *values, *style, *into, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &values, &style, &into)) return NULL;
    if (borrow(values, &view, 0) < 0) return NULL;
    if (borrow(style, &goal, 0) == 0) {
        if (refuse_values(&view, 'q', -1) == 0 && refuse_values(&goal, 'q', -1) == 0 && borrow(into, &target, 1) == 0) {
            const size_t n = (size_t)view.len / 8, m = (size_t)goal.len / 8;
            int done = 0;
            if (target.len == view.len) {
                Py_BEGIN_ALLOW_THREADS
                done = match_counts(view.buf, n, goal.buf, m, target.buf);
                Py_END_ALLOW_THREADS
                result = done < 0 ? PyErr_NoMemory() : PyBool_FromLong(done);
            } else {
                PyErr_SetString(PyExc_ValueError, "target has the wrong size");
            }
            PyBuffer_Release(&target);
        }
        PyBuffer_Release(&goal);
    }
    PyBuffer_Release(&view);
    return result;
}

/* mix_whole(pixels, itemsize, depth, row, target): a row of three whole numbers times each pixel, as int64 */
static PyObject *py_mix_whole(PyObject *self, PyObject *args)
{
    Py_buffer view, target;
    PyObject *pixels, *into, *result = NULL;
    int itemsize, depth;
    long long row[3];
    if (!PyArg_ParseTuple(args, "Oii(LLL)O", &pixels, &itemsize, &depth, row, row + 1, row + 2, &into)) return NULL;
    if (depth < 3 || depth > MAX_CHANNELS || (itemsize != 1 && itemsize != 2)) {
        PyErr_SetString(PyExc_ValueError, "depth or itemsize out of range");
        return NULL;
    }
    if (borrow(pixels, &view, 0) < 0) return NULL;
    if (borrow(into, &target, 1) == 0) {
        const size_t n = (size_t)view.len / itemsize / depth;
        if ((size_t)target.len == n * sizeof(int64_t)) {
            const int64_t rows[3] = {row[0], row[1], row[2]};
            Py_BEGIN_ALLOW_THREADS
            if (itemsize == 1) mix_whole_u8(view.buf, n, depth, rows, target.buf);
            else mix_whole_u16(view.buf, n, depth, rows, target.buf);
            Py_END_ALLOW_THREADS
            result = Py_None;
            Py_INCREF(result);
        } else {
            PyErr_SetString(PyExc_ValueError, "target has the wrong size");
        }
        PyBuffer_Release(&target);
    }
    PyBuffer_Release(&view);
    return result;
}

/* hsi_levels(pixels, itemsize, depth, saturation, total): of integer pixels, HSI's saturation as float64 and the sum of the channels as
 * int64 */
static PyObject *py_hsi_levels(PyObject *self, PyObject *args)
{
    Py_buffer view, share, total;
    PyObject *pixels, *saturation, *sums, *result = NULL;
    int itemsize, depth;
    if (!PyArg_ParseTuple(args, "OiiOO", &pixels, &itemsize, &depth, &saturation, &sums)) return NULL;
    if (depth < 3 || depth > MAX_CHANNELS || (itemsize != 1 && itemsize != 2)) {
        PyErr_SetString(PyExc_ValueError, "depth or itemsize out of range");
        return NULL;
    }
    if (borrow(pixels, &view, 0) < 0) return NULL;
    if (borrow(saturation, &share, 1) == 0) {
        if (borrow(sums, &total, 1) == 0) {
            const size_t n = (size_t)view.len / itemsize / depth;
            if ((size_t)share.len == n * sizeof(double) && total.len == share.len) {
                Py_BEGIN_ALLOW_THREADS
                if (itemsize == 1) hsi_levels_u8(view.buf, n, depth, share.buf, total.buf);
                else hsi_levels_u16(view.buf, n, depth, share.buf, total.buf);
                Py_END_ALLOW_THREADS
                result = Py_None;
                Py_INCREF(result);
            } else {
                PyErr_SetString(PyExc_ValueError, "saturation or total has the wrong size");
            }
            PyBuffer_Release(&total);
        }
        PyBuffer_Release(&share);
    }
    PyBuffer_Release(&view);
    return result;
}

/* look_up(pixels, target, channels, tables): 8-bit pixels through one table of 256 bytes for each channel */
static PyObject *py_look_up(PyObject *self, PyObject *args)
{
    Py_buffer source, target, tables;
    PyObject *from, *to, *with, *result = NULL;
    int channels;
    if (!PyArg_ParseTuple(args, "OOiO", &from, &to, &channels, &with)) return NULL;
    if (borrow(from, &source, 0) < 0) return NULL;
    if (borrow(to, &target, 1) == 0) {
        if (borrow(with, &tables, 0) == 0) {
            if (channels >= 1 && channels <= MAX_CHANNELS && tables.len == 256 * channels && source.len == target.len) {
                Py_BEGIN_ALLOW_THREADS
                look_up_all_u8(source.buf, target.buf, (size_t)source.len / channels, channels, tables.buf);
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
