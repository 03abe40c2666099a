/* Float moments: fixed blocks and lanes, so that a sum depends on the image alone. Pixel k of a block is added to lane
 * k % FLOAT_LANES of its channel, lanes are added in order, and so are blocks. */

static double add_lanes(const double *lanes, int apart)
{
    double total = 0.0;
    for (int j = 0; j < FLOAT_LANES; j++) total += lanes[j * apart];
    return total;
}

/* ---- one and three channels: the lanes of all channels lie side by side as the pixels do; no planes are needed -- */

#define STEPS 16 /* of FLOAT_LANES pixels, whose deviations stay in the first cache */

#define DEFINE_WOVEN(TYPE, SUFFIX, CHANNELS)                                                                           \
    CLONED static void extremes_woven_##SUFFIX(const TYPE *p, size_t values, TYPE *lows, TYPE *highs)                  \
    {                                                                                                                  \
        enum { M = 48 }; /* lanes; the order does not matter here, and fewer do not vectorise well */                  \
        TYPE a[M], b[M];                                                                                               \
        for (int j = 0; j < M; j++) a[j] = lows[j % (CHANNELS)], b[j] = highs[j % (CHANNELS)];                         \
        for (; values >= M; values -= M, p += M)                                                                       \
            for (int j = 0; j < M; j++) {                                                                              \
                a[j] = p[j] < a[j] ? p[j] : a[j];                                                                      \
                b[j] = p[j] > b[j] ? p[j] : b[j];                                                                      \
            }                                                                                                          \
        for (size_t j = 0; j < values; j++) {                                                                          \
            a[j] = p[j] < a[j] ? p[j] : a[j];                                                                          \
            b[j] = p[j] > b[j] ? p[j] : b[j];                                                                          \
        }                                                                                                              \
        for (int j = 0; j < M; j++) {                                                                                  \
            lows[j % (CHANNELS)] = a[j] < lows[j % (CHANNELS)] ? a[j] : lows[j % (CHANNELS)];                          \
            highs[j % (CHANNELS)] = b[j] > highs[j % (CHANNELS)] ? b[j] : highs[j % (CHANNELS)];                       \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    CLONED static void sums_woven_##SUFFIX(const TYPE *p, size_t pixels, double *sums, double *lows, double *highs)    \
    {                                                                                                                  \
        enum { N = (CHANNELS) * FLOAT_LANES };                                                                         \
        TYPE a[CHANNELS], b[CHANNELS];                                                                                 \
        for (int c = 0; c < (CHANNELS); c++) a[c] = (TYPE)HUGE_VAL, b[c] = -(TYPE)HUGE_VAL;                            \
        while (pixels) {                                                                                               \
            size_t todo = pixels < BLOCK ? pixels : BLOCK;                                                             \
            double s[N] = {0};                                                                                         \
            pixels -= todo;                                                                                            \
            extremes_woven_##SUFFIX(p, todo * (CHANNELS), a, b);                                                       \
            for (; todo >= FLOAT_LANES; todo -= FLOAT_LANES, p += N)                                                   \
                for (int j = 0; j < N; j++) s[j] += (double)p[j];                                                      \
            for (size_t j = 0; j < todo * (CHANNELS); j++) s[j] += (double)p[j];                                       \
            p += todo * (CHANNELS);                                                                                    \
            for (int c = 0; c < (CHANNELS); c++) sums[c] += add_lanes(s + c, CHANNELS);                                \
        }                                                                                                              \
        for (int c = 0; c < (CHANNELS); c++) {                                                                         \
            lows[c] = a[c] < lows[c] ? a[c] : lows[c];                                                                 \
            highs[c] = b[c] > highs[c] ? b[c] : highs[c];                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    CLONED static void squares_woven_##SUFFIX(const TYPE *p, size_t pixels, const double *centre, double *squares)     \
    {                                                                                                                  \
        enum { N = (CHANNELS) * FLOAT_LANES };                                                                         \
        double m[N];                                                                                                   \
        for (int j = 0; j < N; j++) m[j] = centre[j % (CHANNELS)];                                                     \
        while (pixels) {                                                                                               \
            size_t todo = pixels < BLOCK ? pixels : BLOCK;                                                             \
            double s[N] = {0};                                                                                         \
            pixels -= todo;                                                                                            \
            for (; todo >= FLOAT_LANES; todo -= FLOAT_LANES, p += N)                                                   \
                for (int j = 0; j < N; j++) {                                                                          \
                    double d = (double)p[j] - m[j];                                                                    \
                    s[j] += d * d;                                                                                     \
                }                                                                                                      \
            for (size_t j = 0; j < todo * (CHANNELS); j++) {                                                           \
                double d = (double)p[j] - m[j];                                                                        \
                s[j] += d * d;                                                                                         \
            }                                                                                                          \
            p += todo * (CHANNELS);                                                                                    \
            for (int c = 0; c < (CHANNELS); c++) squares[c] += add_lanes(s + c, CHANNELS);                             \
        }                                                                                                              \
    }
DEFINE_WOVEN(float, f32_1, 1)
DEFINE_WOVEN(float, f32_3, 3)
DEFINE_WOVEN(double, f64_1, 1)
DEFINE_WOVEN(double, f64_3, 3)

/* Three channels: a deviation times itself, its right neighbour and the one after. Products
 * that reach into the next pixel are dropped in the end. `products` is the upper triangle, row by row. */
#define DEFINE_PRODUCTS_WOVEN(NAME, TYPE)                                                                              \
    CLONED static void NAME(const TYPE *p, size_t pixels, const double *centre, double *products)                      \
    {                                                                                                                  \
        enum { N = 3 * FLOAT_LANES };                                                                                  \
        static const int place[3][3] = {{0, 3, 5}, {1, 4, -1}, {2, -1, -1}}; /* by distance and first channel */       \
        double m[N], d[STEPS * N + 2] = {0};                                                                           \
        for (int j = 0; j < N; j++) m[j] = centre[j % 3];                                                              \
        while (pixels) {                                                                                               \
            size_t todo = pixels < BLOCK ? pixels : BLOCK;                                                             \
            double s[3][N] = {{0}};                                                                                    \
            pixels -= todo;                                                                                            \
            while (todo) {                                                                                             \
                size_t few = todo < STEPS * FLOAT_LANES ? todo : STEPS * FLOAT_LANES, k = 0;                           \
                todo -= few;                                                                                           \
                for (; k + N <= 3 * few; k += N)                                                                       \
                    for (int j = 0; j < N; j++) d[k + j] = (double)p[k + j] - m[j];                                    \
                for (size_t j = 0; k + j < 3 * few; j++) d[k + j] = (double)p[k + j] - m[j];                           \
                for (int r = 0; r < 3; r++) {                                                                          \
                    for (k = 0; k + N <= 3 * few; k += N)                                                              \
                        for (int j = 0; j < N; j++) s[r][j] += d[k + j] * d[k + j + r];                                \
                    for (size_t j = 0; k + j < 3 * few; j++) s[r][j] += d[k + j] * d[k + j + r];                       \
                }                                                                                                      \
                p += 3 * few;                                                                                          \
            }                                                                                                          \
            for (int r = 0; r < 3; r++)                                                                                \
                for (int c = 0; c + r < 3; c++) products[place[r][c]] += add_lanes(s[r] + c, 3);                       \
        }                                                                                                              \
    }
DEFINE_PRODUCTS_WOVEN(products_woven_f32, float)
DEFINE_PRODUCTS_WOVEN(products_woven_f64, double)

/* ---- any other number of channels: a block is split into planes first ---------------------------------------------- */

#define DEFINE_UNWEAVE(NAME, TYPE)                                                                                     \
    CLONED static void NAME(const TYPE *p, size_t pixels, int channels, const double *shift, double *planes)           \
    {                                                                                                                  \
        for (int c = 0; c < channels; c++)                                                                             \
            for (size_t k = 0; k < pixels; k++)                                                                        \
                planes[(size_t)c * BLOCK + k] = (double)p[k * channels + c] - shift[c];                                \
    }
DEFINE_UNWEAVE(unweave_f32, float)
DEFINE_UNWEAVE(unweave_f64, double)

static void unweave(const void *data, int itemsize, size_t pixels, int channels, const double *shift, double *planes)
{
    if (itemsize == 4) unweave_f32(data, pixels, channels, shift, planes);
    else unweave_f64(data, pixels, channels, shift, planes);
}

CLONED static double dot_block(const double *x, const double *y, size_t n)
{
    double lanes[FLOAT_LANES] = {0};
    size_t k = 0;
    for (; k + FLOAT_LANES <= n; k += FLOAT_LANES)
        for (int j = 0; j < FLOAT_LANES; j++) lanes[j] += x[k + j] * y[k + j];
    for (int j = 0; k + j < n; j++) lanes[j] += x[k + j] * y[k + j];
    return add_lanes(lanes, 1);
}

/* ---- which of them ------------------------------------------------------------------------------------------------- */

/* For one and three channels; returns whether it was done. */
static int sums_f32_simd(const float *p, size_t pixels, int channels, double *sums, double *lows, double *highs);

/* `planes` has room for BLOCK pixels. */
static void sums_float(const void *data, int itemsize, size_t pixels, int channels, double *planes, double *sums, double *lows,
                       double *highs)
{
    if (channels == 1 && itemsize == 4) {
        if (!sums_f32_simd(data, pixels, 1, sums, lows, highs)) sums_woven_f32_1(data, pixels, sums, lows, highs);
    }
    else if (channels == 1) sums_woven_f64_1(data, pixels, sums, lows, highs);
    else if (channels == 3 && itemsize == 4) {
        if (!sums_f32_simd(data, pixels, 3, sums, lows, highs)) sums_woven_f32_3(data, pixels, sums, lows, highs);
    }
    else if (channels == 3) sums_woven_f64_3(data, pixels, sums, lows, highs);
    else {
        static const double zero[MAX_CHANNELS] = {0};
        for (size_t start = 0; start < pixels; start += BLOCK) {
            size_t n = pixels - start < BLOCK ? pixels - start : BLOCK;
            unweave((const char *)data + start * channels * itemsize, itemsize, n, channels, zero, planes);
            for (int c = 0; c < channels; c++) sums_woven_f64_1(planes + (size_t)c * BLOCK, n, sums + c, lows + c, highs + c);
        }
    }
}

/* The whole upper triangle, or the squares alone. */
static void products_float(const void *data, int itemsize, size_t pixels, int channels, int diagonal, const double *centre,
                           double *planes, double *products)
{
    if (channels == 1 && itemsize == 4) squares_woven_f32_1(data, pixels, centre, products);
    else if (channels == 1) squares_woven_f64_1(data, pixels, centre, products);
    else if (channels == 3 && itemsize == 4)
        diagonal ? squares_woven_f32_3(data, pixels, centre, products) : products_woven_f32(data, pixels, centre, products);
    else if (channels == 3)
        diagonal ? squares_woven_f64_3(data, pixels, centre, products) : products_woven_f64(data, pixels, centre, products);
    else
        for (size_t start = 0; start < pixels; start += BLOCK) {
            size_t n = pixels - start < BLOCK ? pixels - start : BLOCK, pair = 0;
            unweave((const char *)data + start * channels * itemsize, itemsize, n, channels, centre, planes);
            for (int i = 0; i < channels; i++)
                for (int j = i; j < (diagonal ? i + 1 : channels); j++, pair++)
                    products[pair] += dot_block(planes + (size_t)i * BLOCK, planes + (size_t)j * BLOCK, n);
        }
}
