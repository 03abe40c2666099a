/* Ranking pixels: sorting by whole numbers or floats, and matching by rank. The order is unique (by key, then by position), so how it
 * is found cannot change a result. fallback_ranks.py finds the same. */

/* Pixels are sorted as single numbers: as much of a key as there is room for, above the place of the pixel. */
enum { FEW = 24 };

/* Whole numbers and floats as unsigned keys in the same order; a negative zero equals zero. */
static inline uint64_t key_of_whole(int64_t v) { return (uint64_t)v ^ (uint64_t)1 << 63; }

static inline uint64_t key_of_float(double v)
{
    uint64_t bits = bits_of(v + 0.0);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline double float_of_key(uint64_t key) { return from_bits(key >> 63 ? key ^ (uint64_t)1 << 63 : ~key); }

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

/* Writes as much of a word as there is room for above the places of pixels; returns how many of its bits were left out. */
static int write_keys(uint64_t *a, uint64_t *spare, size_t n, const Keys *keys, int word)
{
    uint64_t low = UINT64_MAX, high = 0;
    const int room = 64 - keys->place_bits;
    for (size_t k = 0; k < n; k++) {
        const uint64_t key = keys->key(keys->of, PLACE(a[k], keys), word);
        low = key < low ? key : low, high = key > high ? key : high;
        spare[k] = key;
    }
    const int bits = bit_length(high - low), lost = bits > room ? bits - room : 0;
    for (size_t k = 0; k < n; k++) a[k] = ((spare[k] - low) >> lost) << keys->place_bits | PLACE(a[k], keys);
    return lost;
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

/* ---- matching by cumulative share ------------------------------------------------------------------------------------ */

typedef struct {
    const void *values;
    int is_float; /* float64, else int64 */
    size_t count;
} Values;

static uint64_t key_of_value(const void *of, size_t place, int word)
{
    const Values *v = of;
    (void)word;
    return v->is_float ? key_of_float(((const double *)v->values)[place]) : key_of_whole(((const int64_t *)v->values)[place]);
}

static inline double value_at(const Values *v, size_t place)
{
    return v->is_float ? ((const double *)v->values)[place] : (double)((const int64_t *)v->values)[place];
}

/* The distinct ones among sorted values and the share of values up to each; returns how many there are. `level_of`, unless NULL, receives
 * the number of each value's level. Free of branches: whether neighbours agree cannot be foreseen. */
static size_t count_levels(const double *sorted, size_t n, double *levels, double *shares, uint32_t *level_of)
{
    size_t last = 0;
    for (size_t k = 0; k < n; k++) {
        const double value = sorted[k];
        last += k && sorted[k - 1] != value;
        levels[last] = value, shares[last] = (double)(k + 1);
        if (level_of) level_of[k] = (uint32_t)last;
    }
    for (size_t k = 0; k <= last; k++) shares[k] /= (double)n;
    return last + 1;
}

static void gather_values(const uint64_t *numbers, const Keys *keys, double *sorted)
{
    const Values *v = keys->of;
    for (size_t k = 0; k < v->count; k++) sorted[k] = value_at(v, PLACE(numbers[k], keys));
}

/* Gives each value of the content the style's value of the same cumulative share, between two by a straight line. The places of the
 * content stand in order of the upper bits of their values, the values of the style in order. Returns 0 if memory ran out. */
static int match_shares(uint64_t *numbers, const Keys *keys, int lost, const Values *style, double *target)
{
    const size_t n = ((const Values *)keys->of)->count, m = style->count, most = n > m ? n : m;
    double *shares = malloc((n + 2 * m + most) * sizeof *shares + n * sizeof(uint32_t));
    if (!shares) return 0;
    double *goals = shares + n, *goal_shares = goals + m, *sorted = goal_shares + m;
    uint32_t *level_of = (uint32_t *)(sorted + most);
    for (size_t k = 0; k < m; k++) sorted[k] = value_at(style, k);
    const size_t last = count_levels(sorted, m, goals, goal_shares, NULL) - 1;
    gather_values(numbers, keys, sorted);
    int unsorted = 0;
    for (size_t k = 1; k < n; k++) unsorted |= sorted[k] < sorted[k - 1];
    if (lost && unsorted) settle_ties(numbers, (uint64_t *)target, n, keys, 0, lost), gather_values(numbers, keys, sorted);
    const size_t levels = count_levels(sorted, n, target, shares, level_of); /* the levels themselves are not needed */
    for (size_t k = 0, at = 0; k < levels; k++) {
        const double share = shares[k];
        while (at < last && goal_shares[at + 1] <= share) at++;
        const double low = goals[at], step = share - goal_shares[at];
        shares[k] = at == last || step <= 0.0 ? low : (goals[at + 1] - low) / (goal_shares[at + 1] - goal_shares[at]) * step + low;
    }
    for (size_t k = 0; k < n; k++) target[PLACE(numbers[k], keys)] = shares[level_of[k]];
    free(shares);
    return 1;
}

/* ---- the channels of a linear space as whole numbers --------------------------------------------------------------- */

#define DEFINE_MIX_WHOLE(NAME, TYPE)                                                                                   \
    CLONED static void NAME(const TYPE *p, size_t n, int depth, const int64_t *row, int64_t *restrict o)               \
    {                                                                                                                  \
        const int64_t a = row[0], b = row[1], c = row[2];                                                              \
        for (size_t k = 0; k < n; k++, p += depth) o[k] = a * (int64_t)p[0] + b * (int64_t)p[1] + c * (int64_t)p[2];   \
    }
DEFINE_MIX_WHOLE(mix_whole_u8, uint8_t)
DEFINE_MIX_WHOLE(mix_whole_u16, uint16_t)
