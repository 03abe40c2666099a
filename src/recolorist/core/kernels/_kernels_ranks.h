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

/* ---- matching by cumulative share ------------------------------------------------------------------------------------ */

typedef struct {
    const void *values;
    int is_float; /* float64, else int64 */
    size_t count;
} Values;

static inline double value_at(const Values *v, size_t place)
{
    return v->is_float ? ((const double *)v->values)[place] : (double)((const int64_t *)v->values)[place];
}

CLONED static void fill_keys(const Values *v, uint64_t *restrict keys)
{
    const double *floats = v->values;
    const int64_t *whole = v->values;
    if (v->is_float)
        for (size_t k = 0; k < v->count; k++) keys[k] = key_of_float(floats[k]);
    else
        for (size_t k = 0; k < v->count; k++) keys[k] = key_of_whole(whole[k]);
}

/* Runs of equal neighbours, without branches: whether neighbours agree cannot be foreseen. First it is written for many places at once
 * whether a run begins or ends there, then the largest number so far, or the smallest from the end, is carried along. */
CLONED static void mark_ends_above(const uint64_t *restrict a, size_t n, int place_bits, uint32_t *restrict ends)
{
    for (size_t k = 0; k + 1 < n; k++) ends[k] = a[k] >> place_bits != a[k + 1] >> place_bits ? (uint32_t)k + 1 : UINT32_MAX;
    ends[n - 1] = (uint32_t)n;
}

CLONED static void mark_runs(const double *restrict sorted, size_t n, uint32_t *restrict starts, uint32_t *restrict ends)
{
    starts[0] = 0;
    for (size_t k = 1; k < n; k++) starts[k] = sorted[k] != sorted[k - 1] ? (uint32_t)k : 0;
    for (size_t k = 0; k + 1 < n; k++) ends[k] = sorted[k] != sorted[k + 1] ? (uint32_t)k + 1 : UINT32_MAX;
    ends[n - 1] = starts[n] = ends[n] = (uint32_t)n;
}

static void carry_smallest(uint32_t *numbers, size_t n)
{
    uint32_t least = UINT32_MAX;
    for (size_t k = n; k-- > 0;) least = numbers[k] < least ? numbers[k] : least, numbers[k] = least;
}

/* Both at once, so that neither waits for the other. */
static void carry_runs(uint32_t *restrict starts, uint32_t *restrict ends, size_t n)
{
    uint32_t most = 0, least = UINT32_MAX;
    for (size_t k = 0, j = n - 1; k < n; k++, j--) {
        most = starts[k] > most ? starts[k] : most, starts[k] = most;
        least = ends[j] < least ? ends[j] : least, ends[j] = least;
    }
}

/* Finds the neighbours whose keys agree as far as they were written, and of these the ones that differ in the rest. Returns how many. */
static size_t list_unsettled(const uint64_t *a, size_t n, const uint64_t *key, uint64_t places, const uint32_t *ends, uint32_t *list)
{
    size_t alike = 0, found = 0;
    for (size_t k = 0; k + 1 < n; k++) list[alike] = (uint32_t)k, alike += ends[k] == UINT32_MAX;
    for (size_t i = 0; i < alike; i++) {
        const uint32_t k = list[i];
        list[found] = k, found += key[a[k] & places] != key[a[k + 1] & places];
    }
    return found;
}

/* Puts pixels that stand in order of their places in order of their keys, and counts them as below; `before` is the number of pixels
 * before these, `spare` is as long as `a`. Most often two or three keys differ in their last bits: the smallest is taken out again and again. */
static void settle_pixels(uint64_t *a, uint64_t *key, uint64_t *spare, size_t n, int place_bits, size_t before, uint32_t *counts)
{
    enum { MOST_KEYS = 6 };
    size_t done = 0, left = n;
    memcpy(spare, a, n * sizeof *a);
    for (int i = 0; i < MOST_KEYS && left; i++) {
        uint64_t least = UINT64_MAX;
        size_t rest = 0, from = done;
        for (size_t k = 0; k < left; k++) least = key[k] < least ? key[k] : least;
        for (size_t k = 0; k < left; k++) {
            const size_t other = key[k] != least;
            a[done] = spare[rest] = spare[k], key[rest] = key[k];
            done += 1 - other, rest += other;
        }
        for (size_t k = from; k < done; k++) counts[k] = (uint32_t)(before + done);
        left = rest;
    }
    if (!left) return;
    memcpy(a + done, spare, left * sizeof *a);
    pack_keys(a + done, key, left, place_bits); /* no more bits differ than were left out before: all of them fit */
    sort_numbers(a + done, spare, left);
    counts[n - 1] = (uint32_t)(before + n);
    for (size_t k = n - 1; k-- > done;)
        counts[k] = a[k] >> place_bits == a[k + 1] >> place_bits ? counts[k + 1] : (uint32_t)(before + k + 1);
}

/* For each of the sorted pixels the number of pixels up to the last that equals it. Where keys were written in part and these parts agree,
 * the pixels are put in order first. `key` holds the key of every place; `spare` is twice as long as `a`, `list` as long. */
static void count_equal(uint64_t *a, uint64_t *spare, uint32_t *list, size_t n, const uint64_t *key, int place_bits, int lost, uint32_t *counts)
{
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    mark_ends_above(a, n, place_bits, counts);
    const size_t unsettled = lost ? list_unsettled(a, n, key, places, counts, list) : 0;
    carry_smallest(counts, n);
    for (size_t i = 0, end = 0; i < unsettled; i++) {
        size_t start = list[i];
        if (start < end) continue; /* put in order with a pair before */
        end = counts[start];
        while (start && counts[start - 1] == end) start--;
        for (size_t k = start; k < end; k++) spare[k - start] = key[a[k] & places];
        settle_pixels(a + start, spare, spare + n, end - start, place_bits, start, counts + start);
    }
}

/* Where shares of n pixels lie among m sorted values: on the line from the last value that is wholly passed to the next. */
CLONED static void read_curve(const uint32_t *restrict counts, size_t pixels, size_t n, const double *restrict sorted, size_t m,
                              const uint32_t *restrict starts, const uint32_t *restrict ends, double *restrict out)
{
    const double all = (double)n, goals = (double)m;
    for (size_t k = 0; k < pixels; k++) {
        const double share = (double)counts[k] / all;
        uint32_t t = (uint32_t)(share * goals + 0.0009765625); /* the largest number of goals of no greater share, or one more */
        t -= (double)t / goals > share;
        const uint32_t start = starts[t], passed = start - (start > 0), next = t - (t == m);
        const double before = (double)start / goals, step = share - before, low = sorted[passed];
        const double moved = (sorted[next] - low) / ((double)ends[t] / goals - before) * step + low;
        const uint64_t taken = (uint64_t)0 - (uint64_t)((start > 0) & (step > 0.0)); /* a mask, since this cannot be foreseen either */
        out[k] = from_bits((bits_of(moved) & taken) | (bits_of(low) & ~taken));
    }
}

/* Gives each value of the content the style's value of the same cumulative share, between two by a straight line. The places of the
 * content stand in order of the upper bits of their keys, which `target` holds; the values of the style are sorted. Returns 0 if memory
 * ran out. */
static int match_shares(uint64_t *numbers, size_t n, int place_bits, int lost, const Values *style, double *target)
{
    enum { FEW_PIXELS = 512 };
    const size_t m = style->count;
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    double *sorted = malloc((2 * n + m) * sizeof *sorted + 2 * (n + m + 1) * sizeof(uint32_t)), some[FEW_PIXELS];
    if (!sorted) return 0;
    uint64_t *spare = (uint64_t *)(sorted + m);
    uint32_t *counts = (uint32_t *)(spare + 2 * n), *list = counts + n, *starts = list + n, *ends = starts + m + 1;
    count_equal(numbers, spare, list, n, (const uint64_t *)target, place_bits, lost, counts);
    for (size_t k = 0; k < m; k++) sorted[k] = value_at(style, k);
    mark_runs(sorted, m, starts, ends);
    carry_runs(starts, ends, m);
    for (size_t done = 0; done < n; done += FEW_PIXELS) {
        const size_t few = n - done < FEW_PIXELS ? n - done : FEW_PIXELS;
        read_curve(counts + done, few, n, sorted, m, starts, ends, some);
        for (size_t k = 0; k < few; k++) target[numbers[done + k] & places] = some[k];
    }
    free(sorted);
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
