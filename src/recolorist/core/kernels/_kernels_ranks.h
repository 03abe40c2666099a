/* Ranking pixels: sorting by whole numbers or floats. The order is unique (by key, then by position), so how it is found cannot
 * change a result. fallback_ranks.py finds the same. */

/* Pixels are sorted as single numbers: as much of a key as there is room for, above the place of the pixel. */
enum { FEW = 24 };

/* Whole numbers and floats as unsigned keys in the same order; a negative zero equals zero. */
static inline uint64_t key_of_whole(int64_t v) { return (uint64_t)v ^ (uint64_t)1 << 63; }

static inline uint64_t key_of_float(double v)
{
    uint64_t bits = bits_of(v + 0.0);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline int bit_length(uint64_t v)
{
    int bits = 0;
    while (bits < 64 && v >> bits) bits++;
    return bits;
}

/* Sorts a few numbers by insertion, more by merging. */
static void sort_numbers(uint64_t *a, uint64_t *spare, size_t n)
{
    if (n <= FEW) {
        for (size_t k = 1; k < n; k++) {
            const uint64_t moving = a[k];
            size_t j = k;
            for (; j && a[j - 1] > moving; j--) a[j] = a[j - 1];
            a[j] = moving;
        }
        return;
    }
    const size_t half = n / 2;
    sort_numbers(a, spare, half), sort_numbers(a + half, spare, n - half);
    if (a[half - 1] <= a[half]) return;
    memcpy(spare, a, half * sizeof *a);
    size_t i = 0, j = half, k = 0;
    while (i < half && j < n) a[k++] = a[j] < spare[i] ? a[j++] : spare[i++];
    memcpy(a + k, spare + i, (half - i) * sizeof *a);
}

/* Keys of pixels in groups, asked for one by one: key(of, place, word). */
typedef struct {
    uint64_t (*key)(const void *of, size_t place, int word);
    const void *of;
    int words, place_bits;
} Keys;

#define PLACE(number, keys) ((size_t)((number) & (((uint64_t)1 << (keys)->place_bits) - 1)))

/* Writes as much of each key as there is room for above the place of its pixel; returns how many bits were left out. */
static inline int pack_keys(uint64_t *restrict a, const uint64_t *restrict keys, size_t n, int place_bits)
{
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t k = 0; k < n; k++) low = keys[k] < low ? keys[k] : low, high = keys[k] > high ? keys[k] : high;
    const int room = 64 - place_bits, bits = bit_length(high - low), lost = bits > room ? bits - room : 0;
    for (size_t k = 0; k < n; k++) a[k] = ((keys[k] - low) >> lost) << place_bits | (a[k] & places);
    return lost;
}

/* The same for many pixels. */
CLONED static int pack_all_keys(uint64_t *restrict a, const uint64_t *restrict keys, size_t n, int place_bits)
{
    return pack_keys(a, keys, n, place_bits);
}

/* Packs one word of pixels that are asked for one by one; `spare` is as long as `a`. */
static int write_keys(uint64_t *a, uint64_t *spare, size_t n, const Keys *keys, int word)
{
    for (size_t k = 0; k < n; k++) spare[k] = keys->key(keys->of, PLACE(a[k], keys), word);
    return pack_keys(a, spare, n, keys->place_bits);
}

/* Puts sorted pixels that are equal as far as they were compared in order: by the rest of the word, else by the next one. Places stand
 * in order already. */
static void settle_ties(uint64_t *a, uint64_t *spare, size_t n, const Keys *keys, int word, int lost)
{
    if (!lost && word + 1 == keys->words) return;
    for (size_t start = 0, k = 1; k <= n; k++) {
        if (k < n && a[k] >> keys->place_bits == a[start] >> keys->place_bits) continue;
        if (k - start > 1) {
            uint64_t first = lost ? keys->key(keys->of, PLACE(a[start], keys), word) : 0, differs = 0;
            for (size_t i = start + 1; lost && i < k; i++) differs |= first ^ keys->key(keys->of, PLACE(a[i], keys), word);
            const int next = differs ? word : word + 1;
            if (next < keys->words) {
                const int rest = write_keys(a + start, spare, k - start, keys, next);
                sort_numbers(a + start, spare, k - start);
                settle_ties(a + start, spare, k - start, keys, next, rest);
            }
        }
        start = k;
    }
}

/* ---- Coltuc's order: by value, then by the sums over growing rings round the pixel --------------------------------- */

enum { RINGS = 5, KEYS = RINGS + 1, WIDEST = 8 };
static const int ring_sizes[KEYS] = {1, 4, 4, 4, 8, 4};
/* Rows and columns from the pixel. The order of the additions is part of the definition where the values are floats. */
static const int8_t ring_places[KEYS][WIDEST][2] = {
    {{0, 0}},
    {{0, 1}, {0, -1}, {1, 0}, {-1, 0}},
    {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}},
    {{0, 2}, {0, -2}, {2, 0}, {-2, 0}},
    {{1, 2}, {1, -2}, {-1, 2}, {-1, -2}, {2, 1}, {2, -1}, {-2, 1}, {-2, -1}},
    {{2, 2}, {2, -2}, {-2, 2}, {-2, -2}},
};

/* A channel, and how its keys are joined to words: whole numbers follow each other as digits as long as they fit into 64 bits. */
typedef struct {
    const int64_t *whole; /* one of the two is NULL */
    const double *floats;
    ptrdiff_t height, width;
    int keys, words, word[KEYS], bits[KEYS];
    int64_t low;
    uint64_t *first; /* the first word of every pixel */
} Channel;

/* The place of a line beyond the edge of a mirrored image; pixels at the edge are repeated. */
static inline ptrdiff_t mirrored(ptrdiff_t at, ptrdiff_t size)
{
    if (at >= 0 && at < size) return at;
    at %= 2 * size;
    at = at < 0 ? at + 2 * size : at;
    return at < size ? at : 2 * size - 1 - at;
}

static void join_keys(Channel *c)
{
    int64_t high = INT64_MIN, low = INT64_MAX;
    const size_t n = c->whole ? (size_t)(c->height * c->width) : 0;
    for (size_t k = 0; k < n; k++) low = c->whole[k] < low ? c->whole[k] : low, high = c->whole[k] > high ? c->whole[k] : high;
    c->low = low, c->words = 0;
    for (int i = 0, used = 64; i < c->keys; i++) {
        c->bits[i] = c->whole ? bit_length(((uint64_t)high - (uint64_t)low) * (uint64_t)ring_sizes[i]) : 64;
        if (used + c->bits[i] > 64) c->words++, used = 0;
        used += c->bits[i];
        c->word[i] = c->words - 1;
    }
}

/* One word of one pixel. */
static uint64_t word_of(const Channel *c, ptrdiff_t y, ptrdiff_t x, int word)
{
    const int inside = y >= 2 && y + 2 < c->height && x >= 2 && x + 2 < c->width;
    uint64_t joined = 0;
    for (int i = 0; i < c->keys; i++) {
        if (c->word[i] != word) continue;
        int64_t total = 0;
        double sum = 0.0;
        for (int k = 0; k < ring_sizes[i]; k++) {
            ptrdiff_t row = y + ring_places[i][k][0], column = x + ring_places[i][k][1];
            if (!inside) row = mirrored(row, c->height), column = mirrored(column, c->width);
            if (c->whole) total += c->whole[row * c->width + column];
            else sum += c->floats[row * c->width + column];
        }
        if (!c->whole) return key_of_float(sum);
        joined = joined << (c->bits[i] & 63) | ((uint64_t)total - (uint64_t)c->low * (uint64_t)ring_sizes[i]);
    }
    return joined;
}

static uint64_t key_in_channel(const void *of, size_t place, int word)
{
    const Channel *c = of;
    if (word == 0) return c->first[place];
    return word_of(c, (ptrdiff_t)((uint32_t)place / (uint32_t)c->width), (ptrdiff_t)((uint32_t)place % (uint32_t)c->width), word);
}

/* The first words of a row of whole numbers, many pixels at once; returns the columns done, from the third on. */
CLONED static ptrdiff_t first_words(const Channel *c, ptrdiff_t y, uint64_t *restrict words)
{
    if (y < 2 || y + 2 >= c->height || c->width < 5) return 2;
    for (ptrdiff_t x = 2; x + 2 < c->width; x++) words[x] = 0;
    for (int i = 0; i < c->keys && c->word[i] == 0; i++) {
        const int64_t *at[WIDEST];
        const int bits = c->bits[i] & 63;
        const uint64_t low = (uint64_t)c->low * (uint64_t)ring_sizes[i];
        for (int k = 0; k < WIDEST; k++) at[k] = c->whole + (y + ring_places[i][k][0]) * c->width + ring_places[i][k][1];
        const int64_t *a = at[0], *b = at[1], *d = at[2], *e = at[3], *f = at[4], *g = at[5], *h = at[6], *j = at[7];
        if (ring_sizes[i] == 1)
            for (ptrdiff_t x = 2; x + 2 < c->width; x++) words[x] = (uint64_t)a[x] - low;
        else if (ring_sizes[i] == 4)
            for (ptrdiff_t x = 2; x + 2 < c->width; x++) words[x] = words[x] << bits | ((uint64_t)(a[x] + b[x] + d[x] + e[x]) - low);
        else
            for (ptrdiff_t x = 2; x + 2 < c->width; x++)
                words[x] = words[x] << bits | ((uint64_t)(a[x] + b[x] + d[x] + e[x] + f[x] + g[x] + h[x] + j[x]) - low);
    }
    return c->width - 2;
}

static void fill_first_words(const Channel *c)
{
    for (ptrdiff_t y = 0; y < c->height; y++) {
        uint64_t *words = c->first + y * c->width;
        const ptrdiff_t end = c->whole ? first_words(c, y, words) : 2;
        for (ptrdiff_t x = 0; x < c->width; x++)
            if (!c->whole) words[x] = key_of_float(c->floats[y * c->width + x]);
            else if (x < 2 || x >= end) words[x] = word_of(c, y, x, 0);
    }
}

static Keys keys_of_channel(Channel *c, uint64_t *first)
{
    join_keys(c);
    c->first = first;
    fill_first_words(c);
    return (Keys){key_in_channel, c, c->words, bit_length((uint64_t)(c->height * c->width) - 1)};
}
