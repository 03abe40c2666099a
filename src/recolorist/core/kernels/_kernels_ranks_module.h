/* What Python sees of ranking. Channels are int64 ("q") or float64 ("d"), at most 2^32 - 1 pixels. */

static int refuse_values(const Py_buffer *view, int kind, Py_ssize_t expected)
{
    if ((kind == 'q' || kind == 'd') && view->len % 8 == 0 && view->len / 8 <= (Py_ssize_t)UINT32_MAX && view->len &&
        (expected < 0 || view->len == expected * 8))
        return 0;
    PyErr_SetString(PyExc_ValueError, "kind or size of the values out of range");
    return -1;
}

/* Lets NumPy sort the numbers: no plain loop keeps up with its vector instructions. */
static int sort_array(PyObject *numbers)
{
    PyObject *done = PyObject_CallMethod(numbers, "sort", NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Puts places in order of the upper bits of their keys; `numbers` is the object that `a` belongs to. Returns how many bits were left
 * out, or -1 if an exception was raised. */
static int sort_pixels(PyObject *numbers, uint64_t *a, const uint64_t *keys, size_t n, int place_bits)
{
    int lost;
    Py_BEGIN_ALLOW_THREADS
    lost = pack_all_keys(a, keys, n, place_bits);
    Py_END_ALLOW_THREADS
    return sort_array(numbers) < 0 ? -1 : lost;
}

/* strict_order(values, kind, height, width, mask, by_position, numbers): mask is a buffer of bytes, or None; numbers, an array of uint64
 * for each pixel inside the mask, receives their places in order */
static PyObject *py_strict_order(PyObject *self, PyObject *args)
{
    Py_buffer view, inside = {0}, places;
    PyObject *values, *mask, *numbers, *result = NULL;
    int kind, by_position, lost;
    Py_ssize_t height, width;
    if (!PyArg_ParseTuple(args, "OCnnOpO", &values, &kind, &height, &width, &mask, &by_position, &numbers)) return NULL;
    if (borrow(values, &view, 0) < 0) return NULL;
    if (refuse_values(&view, kind, height * width) == 0 && (mask == Py_None || borrow(mask, &inside, 0) == 0)) {
        if (borrow(numbers, &places, 1) == 0) {
            const uint8_t *chosen = inside.buf;
            const size_t pixels = (size_t)(height * width), room = (size_t)places.len / 8;
            uint64_t *a = places.buf, *spare = PyMem_Malloc((pixels + room) * sizeof *spare);
            size_t n = 0;
            Channel c = {kind == 'q' ? view.buf : NULL, kind == 'd' ? view.buf : NULL, height, width, by_position ? 1 : KEYS, 0, {0}, {0}, 0, NULL};
            if (!spare) PyErr_NoMemory();
            else if (chosen && inside.len != (Py_ssize_t)pixels) PyErr_SetString(PyExc_ValueError, "mask has the wrong size");
            else {
                const Keys keys = keys_of_channel(&c, spare + room);
                for (size_t k = 0; k < pixels; k++)
                    if ((!chosen || chosen[k]) && n++ < room) a[n - 1] = k, spare[n - 1] = c.first[k];
                if (n != room) PyErr_SetString(PyExc_ValueError, "numbers has the wrong size");
                else if ((lost = sort_pixels(numbers, a, spare, n, keys.place_bits)) >= 0) {
                    Py_BEGIN_ALLOW_THREADS
                    settle_ties(a, spare, n, &keys, 0, lost);
                    Py_END_ALLOW_THREADS
                    for (size_t k = 0; k < n; k++) a[k] = PLACE(a[k], &keys);
                    result = Py_None;
                    Py_INCREF(result);
                }
            }
            PyMem_Free(spare);
            PyBuffer_Release(&places);
        }
        if (mask != Py_None) PyBuffer_Release(&inside);
    }
    PyBuffer_Release(&view);
    return result;
}

/* match_shares(values, kind, style, style_kind, target, numbers): the style is sorted; target is an array of float64 and numbers one of
 * uint64 for each value, to work in */
static PyObject *py_match_shares(PyObject *self, PyObject *args)
{
    Py_buffer view, goal, target, places;
    PyObject *values, *style, *into, *numbers, *result = NULL;
    int kind, style_kind;
    if (!PyArg_ParseTuple(args, "OCOCOO", &values, &kind, &style, &style_kind, &into, &numbers)) return NULL;
    if (borrow(values, &view, 0) < 0) return NULL;
    if (borrow(style, &goal, 0) == 0) {
        if (refuse_values(&view, kind, -1) == 0 && refuse_values(&goal, style_kind, -1) == 0 && borrow(into, &target, 1) == 0) {
            if (borrow(numbers, &places, 1) == 0) {
                const Values content = {view.buf, kind == 'd', (size_t)view.len / 8}, goals = {goal.buf, style_kind == 'd', (size_t)goal.len / 8};
                const size_t n = content.count;
                const int place_bits = bit_length(n - 1);
                uint64_t *a = places.buf;
                if (target.len != view.len || places.len != view.len) PyErr_SetString(PyExc_ValueError, "target has the wrong size");
                else {
                    for (size_t k = 0; k < n; k++) a[k] = k;
                    fill_keys(&content, target.buf); /* the target is free until it is written */
                    const int lost = sort_pixels(numbers, a, target.buf, n, place_bits);
                    int done = 0;
                    if (lost >= 0) {
                        Py_BEGIN_ALLOW_THREADS
                        done = match_shares(a, n, place_bits, lost, &goals, target.buf);
                        Py_END_ALLOW_THREADS
                        result = done ? Py_None : PyErr_NoMemory();
                        Py_XINCREF(result);
                    }
                }
                PyBuffer_Release(&places);
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
