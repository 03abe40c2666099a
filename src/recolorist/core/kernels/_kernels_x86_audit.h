/* What an audit sums, for x86 with AVX-512 VNNI; see _kernels_x86_vnni.h for the products of bytes. */

enum { PAIRED = 128 }; /* steps of 64 pixels whose sums fit into 32 bits, and whose bytes into the first cache */

/* The levels that a map with a gain of 0 or more keeps: span + 1 of them from `first` on, none if span is negative. */
VNNI static void kept_span(double gain, double offset, int *first, int *span)
{
    int below = 0, above = 0;
    for (int x = 0; x < 256; x++) { /* -0.5 is rounded to 0 and 255.5 to 256 */
        const double v = gain * (double)x + offset;
        below += v < -0.5, above += v >= 255.5;
    }
    *first = below, *span = 255 - above - below;
}

/* Adds the levels x of channel c of `channels` (1 or 3), their squares behind them, and the same of the entries y of its table. */
VNNI static inline __attribute__((always_inline)) void sum_pairs(const uint8_t *p, size_t steps, const int channels, int c, const uint8_t *table,
                                                                 int first, int span, MapSums *sums)
{
    const __m512i middle = _mm512_set1_epi8(-128), ones = _mm512_set1_epi8(1), take = _mm512_loadu_si512(take_order[c]);
    const __m512i lowest = _mm512_set1_epi8((char)first), widest = _mm512_set1_epi8((char)span);
    const __mmask64 later = _mm512_movepi8_mask(take);
    __m512i t[4], s[5];
    uint64_t outside = 0;
    for (int i = 0; i < 4; i++) t[i] = _mm512_loadu_si512(table + 64 * i);
    for (int i = 0; i < 5; i++) s[i] = _mm512_setzero_si512();
    for (size_t k = 0; k < steps; k++, p += 64 * channels) {
        __m512i x = _mm512_loadu_si512(p);
        if (channels == 3) {
            x = _mm512_permutex2var_epi8(x, take, _mm512_loadu_si512(p + 64));
            x = _mm512_mask_permutexvar_epi8(x, later, take, _mm512_loadu_si512(p + 128));
        }
        const __m512i low = _mm512_permutex2var_epi8(t[0], x, t[1]), high = _mm512_permutex2var_epi8(t[2], x, t[3]);
        const __m512i y = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high), centred = _mm512_xor_si512(y, middle);
        outside += (uint64_t)__builtin_popcountll(_mm512_cmpgt_epu8_mask(_mm512_sub_epi8(x, lowest), widest));
        s[0] = _mm512_dpbusd_epi32(s[0], x, ones), s[1] = _mm512_dpbusd_epi32(s[1], y, ones);
        s[2] = _mm512_dpbusd_epi32(s[2], x, _mm512_xor_si512(x, middle));
        s[3] = _mm512_dpbusd_epi32(s[3], y, centred), s[4] = _mm512_dpbusd_epi32(s[4], x, centred);
    }
    const int64_t x = _mm512_reduce_add_epi32(s[0]), y = _mm512_reduce_add_epi32(s[1]);
    sums->x[c] += (uint64_t)x, sums->xx[c] += (uint64_t)(_mm512_reduce_add_epi32(s[2]) + 128 * x);
    sums->y[c] += (uint64_t)y, sums->yy[c] += (uint64_t)(_mm512_reduce_add_epi32(s[3]) + 128 * y);
    sums->xy[c] += (uint64_t)(_mm512_reduce_add_epi32(s[4]) + 128 * x);
    sums->clipped[c] += span < 0 ? 64 * steps : outside;
}

VNNI static void sum_pairs_1(const uint8_t *p, size_t steps, int c, const uint8_t *table, int first, int span, MapSums *sums)
{
    sum_pairs(p, steps, 1, c, table, first, span, sums);
}
VNNI static void sum_pairs_3(const uint8_t *p, size_t steps, int c, const uint8_t *table, int first, int span, MapSums *sums)
{
    sum_pairs(p, steps, 3, c, table, first, span, sums);
}

/* Returns how many pixels were added. */
static size_t map_moments_simd(const uint8_t *p, size_t pixels, const Map *m, const uint8_t *tables, MapSums *sums)
{
    const int n = m->channels;
    int first[3], span[3];
    if (!has_vnni() || (n != 1 && n != 3)) return 0;
    for (int c = 0; c < n; c++) kept_span(m->gain[c], m->offset[c], first + c, span + c);
    for (size_t left = pixels / 64, few; left; left -= few, p += 64 * n * few) {
        few = left < PAIRED ? left : PAIRED;
        for (int c = 0; c < n; c++) (n == 1 ? sum_pairs_1 : sum_pairs_3)(p, few, c, tables + 256 * c, first[c], span[c], sums);
    }
    return pixels / 64 * 64;
}

/* ---- sums of columns ------------------------------------------------------------------------------------------- */

/* Turns four rows of 64 bytes into words of one column each: word 4 l + i of vector v is column 16 l + 4 v + i. */
VNNI static inline __attribute__((always_inline)) void weave_rows(const uint8_t *p, size_t left, size_t apart, __m512i *v)
{
    __m512i r[4];
    for (size_t i = 0; i < 4; i++) r[i] = i < left ? _mm512_loadu_si512(p + i * apart) : _mm512_setzero_si512();
    const __m512i a = _mm512_unpacklo_epi8(r[0], r[1]), b = _mm512_unpackhi_epi8(r[0], r[1]);
    const __m512i c = _mm512_unpacklo_epi8(r[2], r[3]), d = _mm512_unpackhi_epi8(r[2], r[3]);
    v[0] = _mm512_unpacklo_epi16(a, c), v[1] = _mm512_unpackhi_epi16(a, c);
    v[2] = _mm512_unpacklo_epi16(b, d), v[3] = _mm512_unpackhi_epi16(b, d);
}

VNNI static void sum_columns_vnni(const uint8_t *p, const uint8_t *q, size_t rows, size_t apart, ColumnSums *sums)
{
    const __m512i middle = _mm512_set1_epi8(-128), ones = _mm512_set1_epi8(1);
    uint32_t *const into[5] = {sums->x, sums->y, sums->xx, sums->yy, sums->xy};
    __m512i s[4][5];
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 5; i++) s[v][i] = _mm512_setzero_si512();
    for (size_t k = 0; k < rows; k += 4, p += 4 * apart, q += 4 * apart) {
        __m512i x[4], y[4];
        weave_rows(p, rows - k, apart, x), weave_rows(q, rows - k, apart, y);
        for (int v = 0; v < 4; v++) {
            const __m512i centred = _mm512_xor_si512(y[v], middle);
            s[v][0] = _mm512_dpbusd_epi32(s[v][0], x[v], ones), s[v][1] = _mm512_dpbusd_epi32(s[v][1], y[v], ones);
            s[v][2] = _mm512_dpbusd_epi32(s[v][2], x[v], _mm512_xor_si512(x[v], middle));
            s[v][3] = _mm512_dpbusd_epi32(s[v][3], y[v], centred), s[v][4] = _mm512_dpbusd_epi32(s[v][4], x[v], centred);
        }
    }
    for (int v = 0; v < 4; v++) {
        const __m512i x = _mm512_slli_epi32(s[v][0], 7), y = _mm512_slli_epi32(s[v][1], 7);
        s[v][2] = _mm512_add_epi32(s[v][2], x), s[v][3] = _mm512_add_epi32(s[v][3], y), s[v][4] = _mm512_add_epi32(s[v][4], x);
        for (int i = 0; i < 5; i++) {
            uint32_t words[16];
            _mm512_storeu_si512(words, s[v][i]);
            for (int l = 0; l < 4; l++) memcpy(into[i] + 16 * l + 4 * v, words + 4 * l, 16);
        }
    }
}

static int sum_columns_simd(const uint8_t *p, const uint8_t *q, size_t rows, size_t apart, ColumnSums *s)
{
    if (!has_vnni()) return 0;
    sum_columns_vnni(p, q, rows, apart, s);
    return 1;
}
