/* Counting 8- and 16-bit levels: histograms, and how many values a map would clip. */

/* Whether four pixels of three or four bytes are the same, by two overlapping words of each neighbour. */
static inline int four_alike(const uint8_t *p, const int depth)
{
    uint64_t a, b, c, d;
    memcpy(&a, p, 8), memcpy(&b, p + depth, 8);
    memcpy(&c, p + 3 * depth - 8, 8), memcpy(&d, p + 4 * depth - 8, 8);
    return ((a ^ b) | (c ^ d)) == 0; /* one branch, not two */
}

/* Neighbouring pixels often share a level, and an increment waits for the last one of the same level to be stored: four tables take
 * turns. Where four pixels are equal, as on an empty background, they are counted at once.
 * `depth` is 3, or 4 where a byte that is not counted follows; it is a constant in each caller. */
static inline void histogram_rgb(const uint8_t *p, size_t pixels, const int depth, uint64_t *counts)
{
    while (pixels) {
        uint32_t t[4][3 * 256] = {{0}};
        size_t n = pixels < 0xffffffff ? pixels : 0xffffffff, k = 0;
        for (; k + 4 <= n; k += 4, p += 4 * depth)
            if (four_alike(p, depth)) t[0][p[0]] += 4, t[0][256 + p[1]] += 4, t[0][512 + p[2]] += 4;
            else
                for (int i = 0; i < 4; i++) {
                    const uint8_t *v = p + i * depth;
                    t[i][v[0]]++, t[i][256 + v[1]]++, t[i][512 + v[2]]++;
                }
        for (; k < n; k++, p += depth) t[0][p[0]]++, t[0][256 + p[1]]++, t[0][512 + p[2]]++;
        for (int i = 0; i < 3 * 256; i++) counts[i] += (uint64_t)t[0][i] + t[1][i] + t[2][i] + t[3][i];
        pixels -= n;
    }
}

/* Counts the first `channels` of `depth` values of every pixel. */
static void histogram(const void *data, int itemsize, size_t pixels, int depth, int channels, uint64_t *counts)
{
    const uint8_t *p = data;
    const uint16_t *w = data;
    if (itemsize == 1 && channels == 3 && depth == 3) histogram_rgb(p, pixels, 3, counts);
    else if (itemsize == 1 && channels == 3 && depth == 4) histogram_rgb(p, pixels, 4, counts);
    else if (itemsize == 1)
        for (const uint8_t *end = p + pixels * depth; p < end; p += depth)
            for (int c = 0; c < channels; c++) counts[256 * c + p[c]]++;
    else
        for (const uint16_t *end = w + pixels * depth; w < end; w += depth)
            for (int c = 0; c < channels; c++) counts[65536 * (size_t)c + w[c]]++;
}

/* How many values a map of 8-bit pixels drives beyond 0 or 255. A gain has one sign, so the levels that stay inside are
 * neighbours, and one subtraction and one comparison tell whether a value is among them: x - first > last - first, unsigned. */
enum { ROW = 192 }; /* values per step; a multiple of 1, 2, 3, 4 and 6 channels */

static void kept_levels(const Map *m, int channel, int *first, int *last)
{
    *first = 256, *last = -1;
    for (int x = 0; x < 256; x++) {
        double v = rint(m->gain[channel] * (double)x + m->offset[channel]);
        if (v < 0.0 || v > 255.0) continue;
        if (*first > x) *first = x;
        *last = x;
    }
}

CLONED static void count_outside(const uint8_t *p, size_t steps, const uint8_t *first, const uint8_t *span, uint64_t *counts)
{
    while (steps) {
        size_t few = steps < 255 ? steps : 255;
        uint8_t c[ROW] = {0};
        steps -= few;
        for (; few; few--, p += ROW)
            for (int j = 0; j < ROW; j++) c[j] = (uint8_t)(c[j] + ((uint8_t)(p[j] - first[j]) > span[j]));
        for (int j = 0; j < ROW; j++) counts[j] += c[j];
    }
}

/* Adds to `counts`, one per channel. */
static void clipped(const uint8_t *p, size_t pixels, const Map *m, uint64_t *counts)
{
    const int n = m->channels;
    uint8_t first[ROW], span[ROW];
    uint64_t row[ROW] = {0};
    size_t values = pixels * (size_t)n, k = ROW % n == 0 ? values / ROW * ROW : 0;
    int lowest[MAX_CHANNELS], highest[MAX_CHANNELS], any = 0;
    for (int c = 0; c < n; c++) {
        kept_levels(m, c, lowest + c, highest + c);
        any |= lowest[c] > 0 || highest[c] < 255;
    }
    if (!any) return;
    if (k) {
        for (int j = 0; j < ROW; j++) first[j] = (uint8_t)lowest[j % n], span[j] = (uint8_t)(highest[j % n] - lowest[j % n]);
        count_outside(p, k / ROW, first, span, row);
        for (int j = 0; j < ROW; j++) counts[j % n] += row[j];
    }
    for (; k < values; k++) counts[k % n] += p[k] < lowest[k % n] || p[k] > highest[k % n];
    for (int c = 0; c < n; c++)
        if (highest[c] < 0) counts[c] = pixels; /* no level stays inside, which the comparison above cannot express */
}
