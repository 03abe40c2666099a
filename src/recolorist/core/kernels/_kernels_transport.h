/* The Monge-Kantorovich map between two covariances of three channels, and the exponential of a symmetric matrix, by Jacobi's rotations:
 * only + - * / and sqrt in the order written here, so that C, NumPy and JavaScript give the same bits; linear algebra libraries choose an
 * order of their own. fallback_transport.py holds the same. */

enum { SWEEPS = 60 };
typedef double Matrix3[3][3];

/* One rotation that makes a[p][q] zero. */
static void rotate(Matrix3 a, Matrix3 vectors, int p, int q)
{
    const double off = a[p][q];
    if (fabs(off) <= 1e-30 * (fabs(a[p][p]) + fabs(a[q][q]))) {
        a[p][q] = a[q][p] = 0.0; /* far below the last bit of either diagonal entry */
        return;
    }
    const double ratio = (a[q][q] - a[p][p]) / (2.0 * off);
    const double tangent = (ratio < 0.0 ? -1.0 : 1.0) / (fabs(ratio) + sqrt(ratio * ratio + 1.0));
    const double cosine = 1.0 / sqrt(tangent * tangent + 1.0), sine = tangent * cosine, step = tangent * off;
    const int r = 3 - p - q; /* the third index */
    const double rp = a[r][p], rq = a[r][q];
    a[p][p] = a[p][p] - step, a[q][q] = a[q][q] + step;
    a[p][q] = a[q][p] = 0.0;
    a[r][p] = a[p][r] = cosine * rp - sine * rq;
    a[r][q] = a[q][r] = sine * rp + cosine * rq;
    for (int i = 0; i < 3; i++) {
        const double u = vectors[i][p], v = vectors[i][q];
        vectors[i][p] = cosine * u - sine * v, vectors[i][q] = sine * u + cosine * v;
    }
}

/* Eigenvalues and, as columns, eigenvectors of a symmetric matrix, which is the mean of what came and its transpose. */
static void decompose(Matrix3 from, double *values, Matrix3 vectors)
{
    Matrix3 a;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] = (from[i][j] + from[j][i]) / 2.0, vectors[i][j] = i == j;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        if (a[0][1] == 0.0 && a[0][2] == 0.0 && a[1][2] == 0.0) break;
        rotate(a, vectors, 0, 1), rotate(a, vectors, 0, 2), rotate(a, vectors, 1, 2);
    }
    for (int i = 0; i < 3; i++) values[i] = a[i][i];
}

static void multiply(Matrix3 x, Matrix3 y, Matrix3 o)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) o[i][j] = (x[i][0] * y[0][j] + x[i][1] * y[1][j]) + x[i][2] * y[2][j];
}

/* vectors . diag(values) . transpose of vectors */
static void compose(Matrix3 vectors, const double *values, Matrix3 o)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            o[i][j] = (vectors[i][0] * values[0] * vectors[j][0] + vectors[i][1] * values[1] * vectors[j][1]) + vectors[i][2] * values[2] * vectors[j][2];
}

static double largest(const double *v)
{
    const double two = v[0] > v[1] ? v[0] : v[1];
    return two > v[2] ? two : v[2];
}

/* Writes S^-1/2 (S^1/2 T S^1/2)^1/2 S^-1/2 on the directions in which the content varies, zero on the others; no direction is amplified
 * by more than `max_gain`. Returns whether that limit was reached. `noise` is the share below which a spread is rounding. */
static int transport(Matrix3 content, Matrix3 style, double max_gain, double noise, Matrix3 move)
{
    double spread[3], root[3], inverse[3];
    Matrix3 axes, half, unhalf, work, middle;
    int capped = 0;
    decompose(content, spread, axes);
    const double least = largest(spread) * noise;
    for (int i = 0; i < 3; i++) {
        root[i] = spread[i] > least ? sqrt(spread[i]) : 0.0;
        inverse[i] = spread[i] > least ? 1.0 / root[i] : 0.0;
    }
    compose(axes, root, half), compose(axes, inverse, unhalf);
    multiply(half, style, work), multiply(work, half, middle);
    decompose(middle, spread, axes);
    const double floor = largest(spread) * noise;
    for (int i = 0; i < 3; i++) root[i] = spread[i] > floor ? sqrt(spread[i]) : 0.0;
    compose(axes, root, middle);
    multiply(unhalf, middle, work), multiply(work, unhalf, half);
    decompose(half, spread, axes);
    for (int i = 0; i < 3; i++) {
        capped |= spread[i] > max_gain;
        root[i] = clip(spread[i], 0.0, max_gain);
    }
    compose(axes, root, move);
    return capped;
}

/* transport(content, style, max_gain, noise) -> (nine numbers, whether the limit was reached); covariances as nine numbers */
static PyObject *py_transport(PyObject *self, PyObject *args)
{
    PyObject *from, *to;
    double max_gain, noise;
    Matrix3 content, style, move;
    if (!PyArg_ParseTuple(args, "OOdd", &from, &to, &max_gain, &noise)) return NULL;
    if (numbers_from(from, content[0], 9) < 0 || numbers_from(to, style[0], 9) < 0) return NULL;
    const int capped = transport(content, style, max_gain, noise, move);
    PyObject *numbers = doubles(move[0], 9), *result = numbers ? Py_BuildValue("NO", numbers, capped ? Py_True : Py_False) : NULL;
    return result;
}

/* product(first, second, third) -> (first . second) . third, all of nine numbers */
static PyObject *py_product(PyObject *self, PyObject *args)
{
    PyObject *from[3];
    Matrix3 m[3], pair, all;
    if (!PyArg_ParseTuple(args, "OOO", from, from + 1, from + 2)) return NULL;
    for (int i = 0; i < 3; i++)
        if (numbers_from(from[i], m[i][0], 9) < 0) return NULL;
    multiply(m[0], m[1], pair), multiply(pair, m[2], all);
    return doubles(all[0], 9);
}

/* mixed_variances(cov, rows, noise) -> the variances of three mixtures of the channels, or None if one is not finite. `cov` and `rows` are
 * nine numbers; what is less than the share `noise` of the largest variance that the terms could have is rounding, and zero. */
static PyObject *py_mixed_variances(PyObject *self, PyObject *args)
{
    PyObject *from, *with;
    double noise, variances[3];
    Matrix3 c, rows;
    if (!PyArg_ParseTuple(args, "OOd", &from, &with, &noise) || numbers_from(from, c[0], 9) < 0 || numbers_from(with, rows[0], 9) < 0) return NULL;
    const double d0 = sqrt(c[0][0]), d1 = sqrt(c[1][1]), d2 = sqrt(c[2][2]);
    for (int i = 0; i < 3; i++) { /* added from left to right, term by term: the order is part of the definition */
        const double a = rows[i][0], b = rows[i][1], e = rows[i][2], scale = fabs(a) * d0 + fabs(b) * d1 + fabs(e) * d2;
        double mixed = a * c[0][0] * a + a * c[0][1] * b + a * c[0][2] * e;
        mixed = mixed + b * c[1][0] * a + b * c[1][1] * b + b * c[1][2] * e;
        mixed = mixed + e * c[2][0] * a + e * c[2][1] * b + e * c[2][2] * e;
        if (!isfinite(mixed)) Py_RETURN_NONE;
        variances[i] = mixed > noise * scale * scale ? mixed : 0.0;
    }
    return doubles(variances, 3);
}

/* Writes e to the power of a symmetric matrix whose eigenvalues are held within `limit` of zero; symmetric to the last bit. */
static void exponential(Matrix3 from, double limit, Matrix3 to)
{
    double values[3];
    Matrix3 axes, whole;
    decompose(from, values, axes);
    for (int i = 0; i < 3; i++) values[i] = power_of_e(clip(values[i], -limit, limit));
    compose(axes, values, whole);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) to[i][j] = (whole[i][j] + whole[j][i]) / 2.0;
}

/* exponential(matrix, limit) -> nine numbers; the limit is at most 700 */
static PyObject *py_exponential(PyObject *self, PyObject *args)
{
    PyObject *numbers;
    double limit;
    Matrix3 from, to;
    if (!PyArg_ParseTuple(args, "Od", &numbers, &limit) || numbers_from(numbers, from[0], 9) < 0) return NULL;
    exponential(from, limit, to);
    return doubles(to[0], 9);
}
