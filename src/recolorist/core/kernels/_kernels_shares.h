/* Matching by cumulative share: each value of the content becomes the style's value of the same share, between two by a straight
 * line. Work is done once for each level, that is each distinct value. fallback_ranks.py finds the same. */

typedef struct {
    const void *values;
    int kind; /* 'd' float64, 'q' int64 */
    size_t count;
} Values;

/* Writes the keys of values. */
CLONED static void fill_keys(const Values *v, uint64_t *keys)
{
    const double *floats = v->values;
    const int64_t *whole = v->values;
    if (v->kind == 'd')
        for (size_t k = 0; k < v->count; k++) keys[k] = key_of_float(floats[k]);
    else
        for (size_t k = 0; k < v->count; k++) keys[k] = key_of_whole(whole[k]);
}

/* ---- the curve of the style ------------------------------------------------------------------------------------------ */

/* The levels of the style in order. */
typedef struct {
    size_t values, levels;
    double *level, *share, *slope; /* a level, the share of values up to it, and the slope of the line that ends there; one slope more */
    uint32_t *end, *passed;        /* the number of values up to a level; the number of levels that lie wholly among the first t values */
} Curve;

/* Takes memory for a curve of so many values and at most so many levels; returns 0 if there is too little. */
static int open_curve(Curve *c, size_t values, size_t levels)
{
    const size_t room = levels + 1;
    c->values = values, c->levels = 0;
    c->level = malloc(room * (3 * sizeof(double) + sizeof(uint32_t)) + (values + 1) * sizeof(uint32_t));
    if (!c->level) return 0;
    c->share = c->level + room, c->slope = c->share + room;
    c->end = (uint32_t *)(c->slope + room), c->passed = c->end + room;
    return 1;
}

static void close_curve(Curve *c) { free(c->level); }

CLONED static void fill_lines(size_t levels, double all, const uint32_t *restrict end, const double *restrict level, double *restrict share,
                              double *restrict slope)
{
    for (size_t j = 0; j < levels; j++) share[j] = (double)end[j] / all;
    for (size_t j = 1; j < levels; j++) slope[j] = (level[j] - level[j - 1]) / (share[j] - share[j - 1]);
    slope[0] = slope[levels] = 0.0;
}

/* Subtracts the smallest key from all, so that numbers that are near to each other agree in their upper bits; returns it. */
CLONED static uint64_t subtract_least(uint64_t *keys, size_t n)
{
    uint64_t least = UINT64_MAX;
    for (size_t k = 0; k < n; k++) least = keys[k] < least ? keys[k] : least;
    for (size_t k = 0; k < n; k++) keys[k] -= least;
    return least;
}

CLONED static size_t count_levels(const uint64_t *sorted, size_t n)
{
    size_t levels = 1;
    for (size_t k = 0; k + 1 < n; k++) levels += sorted[k] != sorted[k + 1];
    return levels;
}

/* Without branches, which would be predicted wrongly. Like others here it is cloned so that it stays a function of its own: inlined into a
 * long function its variables do not stay in registers. */
CLONED static void list_levels(const uint64_t *restrict sorted, size_t n, uint64_t *restrict key, uint32_t *restrict end,
                               uint32_t *restrict passed)
{
    size_t j = 0;
    passed[0] = 0;
    for (size_t k = 0; k + 1 < n; k++) {
        key[j] = sorted[k], end[j] = (uint32_t)k + 1;
        j += sorted[k] != sorted[k + 1];
        passed[k + 1] = (uint32_t)j;
    }
    key[j] = sorted[n - 1], end[j] = (uint32_t)n, passed[n] = (uint32_t)j + 1;
}

/* Makes the curve of a style, which is sorted for it; returns 0 if memory ran out. */
static int fill_curve(const Values *style, Curve *c)
{
    const size_t n = style->count;
    uint64_t *keys = malloc(2 * n * sizeof *keys);
    if (!keys) return 0;
    fill_keys(style, keys);
    const uint64_t least = subtract_least(keys, n);
    sort_numbers(keys, keys + n, n, 0, bits_apart(n, 0));
    const size_t levels = count_levels(keys, n);
    const int opened = open_curve(c, n, levels);
    if (opened) {
        uint64_t *key = keys + n; /* of every level */
        list_levels(keys, n, key, c->end, c->passed);
        c->levels = levels;
        if (style->kind == 'd')
            for (size_t j = 0; j < levels; j++) c->level[j] = float_of_key(key[j] + least);
        else
            for (size_t j = 0; j < levels; j++) c->level[j] = (double)whole_of_key(key[j] + least);
        fill_lines(levels, (double)n, c->end, c->level, c->share, c->slope);
    }
    free(keys);
    return opened;
}

/* Where the shares of the first ends[k] of n values lie on a curve: on the line from the last level that is wholly passed to the next. */
CLONED static void read_curve(const uint32_t *restrict ends, size_t levels, size_t n, const Curve *c, double *restrict out)
{
    const double all = (double)n, goals = (double)c->values;
    const double *restrict level = c->level, *restrict shares = c->share, *restrict slope = c->slope;
    const uint32_t *restrict passed = c->passed;
    for (size_t k = 0; k < levels; k++) {
        const double share = (double)ends[k] / all;
        uint32_t t = (uint32_t)(share * goals + 0.0009765625); /* the largest number of goals of no greater share, or one more */
        t -= (double)t / goals > share;
        const uint32_t next = passed[t], before = next - (next > 0);
        const double low = level[before], step = share - shares[before], moved = slope[next] * step + low;
        const uint64_t taken = (uint64_t)0 - (uint64_t)((next > 0) & (step > 0.0)); /* a mask: branches would be predicted wrongly */
        out[k] = from_bits((bits_of(moved) & taken) | (bits_of(low) & ~taken));
    }
}

/* ---- the levels of the content, by sorting --------------------------------------------------------------------------- */

/* Writes 1 where the next of the sorted pixels has another key, as far as keys were written, else 0. */
CLONED static void mark_ends(const uint64_t *restrict a, size_t n, int place_bits, uint8_t *restrict marks)
{
    for (size_t k = 0; k + 1 < n; k++) marks[k] = a[k] >> place_bits != a[k + 1] >> place_bits;
    marks[n - 1] = 1;
}

/* Finds the neighbours whose keys agree as far as they were written, and of these the ones that differ in the rest. Returns how many. */
CLONED static size_t list_unsettled(const uint64_t *restrict a, size_t n, const uint64_t *restrict key, uint64_t places,
                                    const uint8_t *restrict marks, uint32_t *restrict list)
{
    size_t alike = 0, found = 0;
    for (size_t k = 0; k + 1 < n; k++) list[alike] = (uint32_t)k, alike += 1 - (size_t)marks[k];
    for (size_t i = 0; i < alike; i++) {
        const uint32_t k = list[i];
        list[found] = k, found += key[a[k] & places] != key[a[k + 1] & places];
    }
    return found;
}

/* Puts sorted pixels whose keys agree as far as they were written in order of their keys, and marks the last of each key; `key` holds the key
 * of every place, and `spare` is twice as long as `a`. Most often two or three keys differ in their last bits: the smallest is taken out again
 * and again. */
static void settle_pixels(uint64_t *a, uint64_t *spare, size_t n, const uint64_t *key, int place_bits, uint8_t *marks)
{
    enum { MOST_KEYS = 6 };
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    uint64_t *keys = spare + n;
    size_t done = 0, left = n;
    memcpy(spare, a, n * sizeof *a);
    memset(marks, 0, n);
    for (size_t k = 0; k < n; k++) keys[k] = key[a[k] & places];
    for (int i = 0; i < MOST_KEYS && left; i++) {
        uint64_t least = UINT64_MAX;
        size_t rest = 0;
        for (size_t k = 0; k < left; k++) least = keys[k] < least ? keys[k] : least;
        for (size_t k = 0; k < left; k++) {
            const size_t other = keys[k] != least;
            a[done] = spare[rest] = spare[k], keys[rest] = keys[k];
            done += 1 - other, rest += other;
        }
        marks[done - 1] = 1;
        left = rest;
    }
    if (!left) return;
    a += done, marks += done;
    memcpy(a, spare, left * sizeof *a);
    const int lost = pack_keys(a, keys, left, place_bits);
    sort_numbers(a, spare, left, place_bits, bits_apart(left, 0));
    mark_ends(a, left, place_bits, marks);
    for (size_t start = 0, end = 1; lost && start < left; start = end++) {
        while (!marks[end - 1]) end++;
        if (end - start > 1) settle_pixels(a + start, spare, end - start, key, place_bits, marks + start); /* once: what was lost fits now */
    }
}

/* Marks the last of the sorted pixels of each key. Where keys were written in part and these parts agree, the pixels are put in order first.
 * `key` holds the key of every place; `spare` is twice as long as `a`, `list` as long. */
static void mark_levels(uint64_t *a, uint64_t *spare, uint32_t *list, size_t n, const uint64_t *key, int place_bits, int lost, uint8_t *marks)
{
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    mark_ends(a, n, place_bits, marks);
    const size_t unsettled = lost ? list_unsettled(a, n, key, places, marks, list) : 0;
    for (size_t i = 0, end = 0; i < unsettled; i++) {
        size_t start = list[i];
        if (start < end) continue; /* put in order with a pair before */
        end = start + 1;
        while (start && !marks[start - 1]) start--;
        while (!marks[end - 1]) end++;
        settle_pixels(a + start, spare, end - start, key, place_bits, marks + start);
    }
}

/* Lists the number of pixels up to each mark; returns how many marks there are. */
CLONED static size_t list_ends(const uint8_t *restrict marks, size_t n, uint32_t *restrict ends)
{
    size_t levels = 0;
    for (size_t k = 0; k < n; k++) ends[levels] = (uint32_t)k + 1, levels += marks[k];
    return levels;
}

/* Writes to the place of each of the sorted pixels what its level becomes. */
CLONED static void put_goals(const uint64_t *restrict a, size_t n, uint64_t places, const uint8_t *restrict marks,
                             const double *restrict goals, double *restrict target)
{
    for (size_t k = 0; k < n; k++) target[a[k] & places] = *goals, goals += marks[k];
}

/* Gives each value of the content the style's value of the same cumulative share; returns 0 if memory ran out. */
static int match_shares(const Values *content, const Values *style, double *target)
{
    const size_t n = content->count;
    const int place_bits = bit_length(n - 1);
    const uint64_t places = ((uint64_t)1 << place_bits) - 1;
    Curve curve;
    if (!fill_curve(style, &curve)) return 0;
    uint64_t *numbers = malloc(3 * n * sizeof *numbers + n * (sizeof(uint32_t) + 1)), *spare = numbers + n;
    if (numbers) {
        uint32_t *ends = (uint32_t *)(numbers + 3 * n);
        uint8_t *marks = (uint8_t *)(ends + n);
        uint64_t *keys = (uint64_t *)target; /* which is free until it is written */
        double *goals = (double *)spare;     /* needed when the spare numbers no longer are */
        fill_keys(content, keys);
        for (size_t k = 0; k < n; k++) numbers[k] = k;
        const int lost = pack_all_keys(numbers, keys, n, place_bits, content->kind == 'd');
        sort_numbers(numbers, spare, n, place_bits, bits_apart(n, content->kind == 'd'));
        mark_levels(numbers, spare, ends, n, keys, place_bits, lost, marks);
        const size_t levels = list_ends(marks, n, ends);
        read_curve(ends, levels, n, &curve, goals);
        put_goals(numbers, n, places, marks, goals, target);
        free(numbers);
    }
    close_curve(&curve);
    return numbers != NULL;
}

/* ---- the levels of both, by counting: for whole numbers of a small span ----------------------------------------------- */

static void count_whole(const int64_t *values, size_t n, int64_t low, uint32_t *counts)
{
    for (size_t k = 0; k < n; k++) counts[values[k] - low]++;
}

static void fill_curve_counted(const uint32_t *counts, size_t span, int64_t low, Curve *c)
{
    uint32_t total = 0;
    for (size_t i = 0; i < span; i++) {
        if (!counts[i]) continue;
        for (uint32_t k = 0; k < counts[i]; k++) c->passed[total + k] = (uint32_t)c->levels;
        total += counts[i];
        c->level[c->levels] = (double)(low + (int64_t)i), c->end[c->levels++] = total;
    }
    c->passed[total] = (uint32_t)c->levels;
    fill_lines(c->levels, (double)c->values, c->end, c->level, c->share, c->slope);
}

/* Returns the span of values, and the smallest of them. */
CLONED static uint64_t span_of(const int64_t *restrict values, size_t n, int64_t *low)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t k = 0; k < n; k++) least = values[k] < least ? values[k] : least, most = values[k] > most ? values[k] : most;
    *low = least;
    return (uint64_t)most - (uint64_t)least;
}

/* The same as match_shares, for a style in any order. Returns 1, or 0 if a span is as large as the number of values or larger, or -1 if
 * memory ran out. */
static int match_counts(const int64_t *values, size_t n, const int64_t *style, size_t m, double *target)
{
    int64_t low, style_low;
    const uint64_t span = span_of(values, n, &low), style_span = span_of(style, m, &style_low);
    if (span >= n || style_span >= m) return 0;
    const size_t levels = (size_t)span + 1, style_levels = (size_t)style_span + 1, most = levels > style_levels ? levels : style_levels;
    Curve curve;
    if (!open_curve(&curve, m, style_levels)) return -1;
    double *goals = malloc(levels * sizeof *goals + most * sizeof(uint32_t));
    if (goals) {
        uint32_t *counts = (uint32_t *)(goals + levels), total = 0;
        memset(counts, 0, style_levels * sizeof *counts);
        count_whole(style, m, style_low, counts);
        fill_curve_counted(counts, style_levels, style_low, &curve);
        memset(counts, 0, levels * sizeof *counts);
        count_whole(values, n, low, counts);
        for (size_t i = 0; i < levels; i++) counts[i] = total += counts[i];
        read_curve(counts, levels, n, &curve, goals);
        for (size_t k = 0; k < n; k++) target[k] = goals[values[k] - low];
        free(goals);
    }
    close_curve(&curve);
    return goals ? 1 : -1;
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

/* HSI's saturation, 1 - 3 min / (R + G + B), from one quotient of whole numbers, so that equal ratios give equal bits; black has 0. */
#define DEFINE_HSI_LEVELS(NAME, TYPE)                                                                                  \
    CLONED static void NAME(const TYPE *p, size_t n, int depth, double *restrict saturation, int64_t *restrict total)  \
    {                                                                                                                  \
        for (size_t k = 0; k < n; k++, p += depth) {                                                                   \
            const int32_t r = p[0], g = p[1], b = p[2], sum = r + g + b, least = r < g ? r : g;                        \
            const double share = (double)(3 * (least < b ? least : b)) / (double)(sum > 0 ? sum : 1);                  \
            saturation[k] = sum > 0 ? 1.0 - share : 0.0, total[k] = sum;                                               \
        }                                                                                                              \
    }
DEFINE_HSI_LEVELS(hsi_levels_u8, uint8_t)
DEFINE_HSI_LEVELS(hsi_levels_u16, uint16_t)
