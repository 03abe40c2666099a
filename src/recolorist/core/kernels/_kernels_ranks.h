/* Ranking pixels: sorting by whole numbers or floats. The order is unique (by key, then by position), so how it is found cannot
 * change a result. fallback_ranks.py finds the same. */

/* Pixels are sorted as single numbers: as much of a key as there is room for, above the place of the pixel. */
enum { FEW = 24, MANY = 1024, DIGIT = 11, MOST_DIGITS = 3, STRETCH = 1024, SPREAD = 50, FEW_TIES = 8 };

/* Whole numbers and floats as unsigned keys in the same order; a negative zero equals zero. */
static inline uint64_t key_of_whole(int64_t v) { return (uint64_t)v ^ (uint64_t)1 << 63; }

static inline uint64_t key_of_float(double v)
{
    uint64_t bits = bits_of(v + 0.0);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline int64_t whole_of_key(uint64_t key) { return (int64_t)(key ^ (uint64_t)1 << 63); }

static inline double float_of_key(uint64_t key) { return from_bits(key >> 63 ? key ^ (uint64_t)1 << 63 : ~key); }

static inline int bit_length(uint64_t v)
{
    int bits = 0;
    while (bits < 64 && v >> bits) bits++;
    return bits;
}

/* Sorts a few numbers by insertion, more by merging. */
static void sort_few(uint64_t *a, uint64_t *spare, size_t n)
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
    sort_few(a, spare, half), sort_few(a + half, spare, n - half);
    if (a[half - 1] <= a[half]) return;
    memcpy(spare, a, half * sizeof *a);
    size_t i = 0, j = half, k = 0;
    while (i < half && j < n) a[k++] = a[j] < spare[i] ? a[j++] : spare[i++];
    memcpy(a + k, spare + i, (half - i) * sizeof *a);
}

/* Puts numbers in order of one digit; those that agree in it keep their order. `next` holds where the first of each digit goes. */
CLONED static void sort_digit(const uint64_t *restrict from, uint64_t *restrict to, size_t n, int shift, uint64_t mask, uint32_t *restrict next)
{
    for (size_t k = 0; k < n; k++) to[next[from[k] >> shift & mask]++] = from[k];
}

/* Counts how often each value of each digit occurs. */
#define COUNT_DIGITS(NUMBER, STATEMENTS)                                                                               \
    for (size_t k = 0; k < n; k++) {                                                                                   \
        const uint64_t NUMBER = a[k] >> shift;                                                                         \
        STATEMENTS                                                                                                     \
    }
CLONED static void count_digits(const uint64_t *restrict a, size_t n, int shift, int digits, int width, uint32_t (*restrict counts)[1 << DIGIT])
{
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    uint32_t *restrict low = counts[0], *restrict next = counts[1], *restrict high = counts[2];
    if (digits == 1) COUNT_DIGITS(v, low[v & mask]++;)
    else if (digits == 2) COUNT_DIGITS(v, low[v & mask]++; next[v >> width & mask]++;)
    else COUNT_DIGITS(v, low[v & mask]++; next[v >> width & mask]++; high[v >> 2 * width & mask]++;)
}

/* Puts numbers in order of `bits` of their bits, at most MOST_DIGITS digits, from `shift` on; those that agree in them keep their order. */
static void sort_digits(uint64_t *a, uint64_t *spare, size_t n, int shift, int bits)
{
    const int digits = (bits + DIGIT - 1) / DIGIT, width = (bits + digits - 1) / digits;
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    uint32_t counts[MOST_DIGITS][1 << DIGIT];
    for (int i = 0; i < digits; i++) memset(counts[i], 0, (size_t)(mask + 1) * sizeof *counts[i]);
    count_digits(a, n, shift, digits, width, counts);
    uint64_t *from = a, *to = spare;
    for (int i = 0; i < digits; i++) {
        const int at = shift + i * width;
        if (counts[i][a[0] >> at & mask] == n) continue; /* all have the same digit */
        for (uint32_t value = 0, total = 0; value <= mask; value++) {
            const uint32_t count = counts[i][value];
            counts[i][value] = total;
            total += count;
        }
        sort_digit(from, to, n, at, mask, counts[i]);
        uint64_t *other = from;
        from = to, to = other;
    }
    if (from != a) memcpy(a, from, n * sizeof *a);
}

/* Lists the numbers from `start` to `end` that are smaller than the one before them; returns how many there are. */
CLONED static size_t list_falls(const uint64_t *restrict a, size_t start, size_t end, uint16_t *restrict list)
{
    size_t found = 0;
    for (size_t k = start; k < end; k++) list[found] = (uint16_t)(k - start), found += a[k - 1] > a[k];
    return found;
}

/* Returns the bits, above the lowest `ignored`, in which numbers differ. */
CLONED static uint64_t differing(const uint64_t *restrict a, size_t n, int ignored)
{
    uint64_t bits = 0;
    for (size_t k = 0; k < n; k++) bits |= a[k] ^ a[0];
    return bits >> ignored;
}

/* Bits by which numbers are sorted by digits. Keys of floats that were spread evenly differ in fewer than there are digits for, but for few. */
static inline int bits_apart(size_t n, int spread)
{
    const int most = DIGIT * MOST_DIGITS, bits = bit_length(n) + 5;
    return spread && bits < most ? bits : most;
}

/* Sorts numbers whose lowest `place_bits` stand in order already; `spare` is as long as `a`. Many are sorted by digits: first by the highest
 * `most` bits that differ, then the few that agree in these and are not in order by the others. */
static void sort_numbers(uint64_t *a, uint64_t *spare, size_t n, int place_bits, int most)
{
    if (n < MANY) {
        sort_few(a, spare, n);
        return;
    }
    const int bits = bit_length(differing(a, n, place_bits)), sorted = bits < most ? bits : most;
    const int rest = place_bits + bits - sorted;
    if (!bits) return;
    sort_digits(a, spare, n, rest, sorted);
    if (sorted == bits) return;
    for (size_t from = 1, done = 0; from < n; from += STRETCH) {
        uint16_t falls[STRETCH];
        const size_t found = list_falls(a, from, n - from < STRETCH ? n : from + STRETCH, falls);
        for (size_t i = 0; i < found; i++) {
            size_t start = from + falls[i], end = start;
            if (start < done) continue; /* put in order with one before */
            const uint64_t head = a[start] >> rest;
            while (start && a[start - 1] >> rest == head) start--;
            while (end < n && a[end] >> rest == head) end++;
            sort_numbers(a + start, spare, end - start, place_bits, most);
            done = end;
        }
    }
}

/* Keys of pixels: the first word of each is in a list, the second may be, others are asked for one by one: key(of, place, word). */
typedef struct {
    uint64_t (*key)(const void *of, size_t place, int word);
    const void *of;
    const uint64_t *first, *second;
    int words, place_bits;
} Keys;

static inline uint64_t word_at(const Keys *keys, size_t place, int word)
{
    return word == 0 ? keys->first[place] : word == 1 && keys->second ? keys->second[place] : keys->key(keys->of, place, word);
}

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

/* The same for many pixels. Floats are spread evenly where their span is a number: the distance from the least one, times a factor, as a whole
 * number, which keeps their order but lets some fall together. */
CLONED static int pack_all_keys(uint64_t *restrict a, const uint64_t *restrict keys, size_t n, int place_bits, int are_floats)
{
    if (!are_floats) return pack_keys(a, keys, n, place_bits);
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t k = 0; k < n; k++) least = keys[k] < least ? keys[k] : least, most = keys[k] > most ? keys[k] : most;
    const int room = 64 - place_bits < SPREAD ? 64 - place_bits : SPREAD;
    const double low = float_of_key(least), scale = ((double)((uint64_t)1 << room) - 2.0) / (float_of_key(most) - low);
    if (!(scale > 0.0 && scale < HUGE_VAL)) return pack_keys(a, keys, n, place_bits);
    for (size_t k = 0; k < n; k++) {
        const double spread = (float_of_key(keys[k]) - low) * scale + 4503599627370496.0; /* 2^52: the rest of the bits is a whole number */
        a[k] = (bits_of(spread) & (((uint64_t)1 << 52) - 1)) << place_bits | (a[k] & places);
    }
    return 1;
}

/* Packs one word of pixels that are asked for one by one; `spare` is as long as `a`. */
static int write_keys(uint64_t *a, uint64_t *spare, size_t n, const Keys *keys, int word)
{
    for (size_t k = 0; k < n; k++) spare[k] = word_at(keys, PLACE(a[k], keys), word);
    return pack_keys(a, spare, n, keys->place_bits);
}

/* Lists the numbers from `start` to `end` whose keys agree with those of the next; returns how many there are. */
CLONED static size_t list_alike(const uint64_t *restrict a, size_t start, size_t end, int place_bits, uint16_t *restrict list)
{
    size_t found = 0;
    for (size_t k = start; k < end; k++) list[found] = (uint16_t)(k - start), found += a[k] >> place_bits == a[k + 1] >> place_bits;
    return found;
}

/* Keeps of such numbers those whose words differ from those of the next; returns how many are left. */
static size_t keep_differing(const uint64_t *a, size_t start, const Keys *keys, int word, uint16_t *list, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t k = start + list[i];
        list[found] = list[i], found += word_at(keys, PLACE(a[k], keys), word) != word_at(keys, PLACE(a[k + 1], keys), word);
    }
    return found;
}

/* Whether a pixel comes after another, which stands behind it in memory, by the words from `word` on. */
static int is_after(const Keys *keys, size_t place, size_t other, int word)
{
    for (; word < keys->words; word++) {
        const uint64_t key = word_at(keys, place, word), next = word_at(keys, other, word);
        if (key != next) return key > next;
    }
    return 0;
}

/* Puts a few pixels in order by the words from `word` on; their places stand in order already. */
static void settle_few(uint64_t *a, size_t n, const Keys *keys, int word)
{
    for (size_t k = 1; k < n; k++) {
        const uint64_t moving = a[k];
        size_t j = k;
        for (; j && is_after(keys, PLACE(a[j - 1], keys), PLACE(moving, keys), word); j--) a[j] = a[j - 1];
        a[j] = moving;
    }
}

/* Puts sorted pixels that are equal as far as they were compared in order: by the rest of the word, else by the next one. Places stand
 * in order already. */
static void settle_ties(uint64_t *a, uint64_t *spare, size_t n, const Keys *keys, int word, int lost)
{
    const int is_last = word + 1 == keys->words;
    if (!lost && is_last) return;
    for (size_t from = 0, done = 0; from + 1 < n; from += STRETCH) {
        uint16_t alike[STRETCH];
        size_t found = list_alike(a, from, n - 1 - from < STRETCH ? n - 1 : from + STRETCH, keys->place_bits, alike);
        if (is_last) found = keep_differing(a, from, keys, word, alike, found);
        for (size_t i = 0; i < found; i++) {
            size_t start = from + alike[i], end = start + 2;
            if (start < done) continue; /* put in order with one before, and now has other keys */
            const uint64_t head = a[start] >> keys->place_bits;
            while (start > done && a[start - 1] >> keys->place_bits == head) start--;
            while (end < n && a[end] >> keys->place_bits == head) end++;
            done = end;
            if (end - start <= FEW_TIES) {
                settle_few(a + start, end - start, keys, word + !lost);
                continue;
            }
            const uint64_t first = lost ? word_at(keys, PLACE(a[start], keys), word) : 0;
            uint64_t differs = 0;
            for (size_t k = start + 1; lost && k < end; k++) differs |= first ^ word_at(keys, PLACE(a[k], keys), word);
            const int next = differs ? word : word + 1;
            if (next < keys->words) {
                const int rest = write_keys(a + start, spare, end - start, keys, next);
                sort_numbers(a + start, spare, end - start, keys->place_bits, bits_apart(end - start, 0));
                settle_ties(a + start, spare, end - start, keys, next, rest);
            }
        }
    }
}

/* ---- Coltuc's order: by value, then by the sums over growing rings round the pixel --------------------------------- */

enum { RINGS = 5, KEYS = RINGS + 1, WIDEST = 8 };
static const int ring_sizes[KEYS] = {1, 4, 4, 4, 8, 4};
/* Rows and columns from the pixel. */
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
    ptrdiff_t steps[KEYS][WIDEST]; /* how far the pixels of each ring lie from the middle in memory */
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
    for (int i = 0; i < KEYS; i++)
        for (int k = 0; k < WIDEST; k++) c->steps[i][k] = ring_places[i][k][0] * c->width + ring_places[i][k][1];
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

/* The sum over a ring, or the pixel itself. The order of the additions is part of the definition where the values are floats. */
#define DEFINE_RING_SUM(NAME, TYPE, VALUES)                                                                            \
    static inline TYPE NAME(const Channel *c, ptrdiff_t y, ptrdiff_t x, int i, int inside)                             \
    {                                                                                                                  \
        const TYPE *middle = c->VALUES + y * c->width + x;                                                             \
        TYPE sum = 0;                                                                                                  \
        if (inside)                                                                                                    \
            for (int k = 0; k < ring_sizes[i]; k++) sum += middle[c->steps[i][k]];                                     \
        else                                                                                                           \
            for (int k = 0; k < ring_sizes[i]; k++)                                                                    \
                sum += c->VALUES[mirrored(y + ring_places[i][k][0], c->height) * c->width + mirrored(x + ring_places[i][k][1], c->width)]; \
        return sum;                                                                                                    \
    }
DEFINE_RING_SUM(ring_sum_f64, double, floats)
DEFINE_RING_SUM(ring_sum_i64, int64_t, whole)

/* One word of one pixel. */
static uint64_t word_of(const Channel *c, ptrdiff_t y, ptrdiff_t x, int word)
{
    const int inside = y >= 2 && y + 2 < c->height && x >= 2 && x + 2 < c->width;
    if (!c->whole) return key_of_float(ring_sum_f64(c, y, x, word, inside)); /* each float is a word of its own */
    uint64_t joined = 0;
    for (int i = 0; i < c->keys; i++)
        if (c->word[i] == word)
            joined = joined << (c->bits[i] & 63) | ((uint64_t)ring_sum_i64(c, y, x, i, inside) - (uint64_t)c->low * (uint64_t)ring_sizes[i]);
    return joined;
}

static uint64_t key_in_channel(const void *of, size_t place, int word)
{
    const Channel *c = of;
    return word_of(c, (ptrdiff_t)((uint32_t)place / (uint32_t)c->width), (ptrdiff_t)((uint32_t)place % (uint32_t)c->width), word);
}

/* One word of the pixels of a row that have all their neighbours, many at once: columns 2 to width - 3. */
CLONED static void words_of_row(const Channel *c, ptrdiff_t y, int word, uint64_t *restrict words)
{
    const ptrdiff_t end = c->width - 2;
    for (ptrdiff_t x = 2; x < end; x++) words[x] = 0;
    for (int i = 0; i < c->keys; i++) {
        if (c->word[i] != word) continue;
        const int bits = c->bits[i] & 63;
        const uint64_t low = (uint64_t)c->low * (uint64_t)ring_sizes[i];
        const ptrdiff_t *s = c->steps[i];
        const int64_t *v = c->whole ? c->whole + y * c->width : NULL;
        const double *f = c->whole ? NULL : c->floats + y * c->width;
        if (f && ring_sizes[i] == 1)
            for (ptrdiff_t x = 2; x < end; x++) words[x] = key_of_float(f[x]);
        else if (f) /* the second word: no other is filled beforehand */
            for (ptrdiff_t x = 2; x < end; x++) words[x] = key_of_float(((f[x + s[0]] + f[x + s[1]]) + f[x + s[2]]) + f[x + s[3]]);
        else if (ring_sizes[i] == 1)
            for (ptrdiff_t x = 2; x < end; x++) words[x] = (uint64_t)v[x] - low;
        else if (ring_sizes[i] == 4)
            for (ptrdiff_t x = 2; x < end; x++)
                words[x] = words[x] << bits | ((uint64_t)(v[x + s[0]] + v[x + s[1]] + v[x + s[2]] + v[x + s[3]]) - low);
        else
            for (ptrdiff_t x = 2; x < end; x++)
                words[x] = words[x] << bits | ((uint64_t)(v[x + s[0]] + v[x + s[1]] + v[x + s[2]] + v[x + s[3]] + v[x + s[4]] + v[x + s[5]] +
                                                          v[x + s[6]] + v[x + s[7]]) - low);
    }
}

static void fill_words(const Channel *c, int word, uint64_t *to)
{
    for (ptrdiff_t y = 0; y < c->height; y++) {
        uint64_t *words = to + y * c->width;
        const int inside = c->keys > 1 && y >= 2 && y + 2 < c->height && c->width >= 5;
        if (inside) words_of_row(c, y, word, words);
        for (ptrdiff_t x = 0; x < c->width; x++) {
            if (inside && x == 2) x = c->width - 2;
            if (c->keys > 1) words[x] = word_of(c, y, x, word);
            else if (c->whole) words[x] = (uint64_t)c->whole[y * c->width + x] - (uint64_t)c->low;
            else words[x] = key_of_float(c->floats[y * c->width + x]);
        }
    }
}

/* How many words of every pixel are filled beforehand. Where the first is the value alone many pixels agree in it, and the second parts most of
 * these; to ask for it one by one takes longer, as they lie far apart. */
static inline int filled_words(const Channel *c) { return c->words > 1 && c->word[1] == 1 ? 2 : 1; }

/* The keys of a channel; `words` has room for as many lists as are filled beforehand. */
static Keys keys_of_channel(const Channel *c, uint64_t *words)
{
    const size_t n = (size_t)(c->height * c->width);
    for (int i = 0; i < filled_words(c); i++) fill_words(c, i, words + (size_t)i * n);
    return (Keys){key_in_channel, c, words, filled_words(c) > 1 ? words + n : NULL, c->words, bit_length((uint64_t)n - 1)};
}
