/* What the page runs as WebAssembly: the library's own loops for the colour spaces that are not linear and for ranking pixels, compiled
 * from the library's sources, so that the page gives the library's bits. tools/studio_wasm.py builds kernels.wasm of it. */
#include <stddef.h>
#include <stdint.h>

/* ---- what the sources expect of the language's library and of Python ------------------------------------------------ */

#define CLONED
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
#define floor __builtin_floor
#define floorf __builtin_floorf
#define fabs __builtin_fabs
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define EXPORT(NAME) __attribute__((export_name(#NAME)))

int memcmp(const void *first, const void *second, size_t n)
{
    const uint8_t *a = first, *b = second;
    for (; n; n--, a++, b++)
        if (*a != *b) return *a < *b ? -1 : 1;
    return 0;
}

static int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++) {}
    return *a - *b;
}

/* Memory is taken from the end of what was taken before, and all of it is given back at once. */
extern unsigned char __heap_base;
static size_t used;

EXPORT(release) void release(void) { used = 0; }

EXPORT(take) void *take(size_t bytes)
{
    const size_t page = 65536, start = (size_t)&__heap_base + used, end = start + ((bytes + 31) & ~(size_t)31);
    const size_t pages = __builtin_wasm_memory_size(0), needed = end / page + 1;
    if (end < start || (needed > pages && __builtin_wasm_memory_grow(0, needed - pages) == (size_t)-1)) return NULL;
    used = end - (size_t)&__heap_base;
    return (void *)start;
}

#define malloc take
#define free(memory) ((void)(memory))

#include "../core/kernels/_kernels_map.h"
#include "../core/kernels/_kernels_converted.h"
#include "../core/kernels/_kernels_ranks.h"

/* ---- what the page calls: pixels are RGBA, 8 bits, and spaces are known by their numbers in `spaces` ----------------- */

static Format format_of(int space) { return (Format){spaces + space, 'B', 4, 1, 255.0}; }

EXPORT(prepare) void prepare(void) { fill_tables(); }

/* The number of a space, or -1; its name is text that ends in a zero. */
EXPORT(find_space) int find_space(const char *name)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, name) == 0) return (int)i;
    return -1;
}

/* Channels are summed as whole multiples of 1 / steps. */
EXPORT(steps_of) float steps_of(int space, int channel) { return spaces[space].steps[channel]; }

EXPORT(measure) void measure(const uint8_t *pixels, size_t n, int space, LevelSums *sums)
{
    memset(sums, 0, sizeof *sums);
    sum_levels(pixels, n, 4, spaces + space, 3, sums);
}

/* Numbers: three gains or nine, then three offsets. Returns 1 if a value went further than numbers mean anything. */
EXPORT(map) int map(const char *source, char *target, size_t n, int space, int diagonal, const double *numbers)
{
    const Format f = format_of(space);
    const Map m = {0.0, 255.0, 3, numbers, numbers + (diagonal ? 3 : 9)};
    return map_converted(source, target, n, &f, diagonal, &m);
}

/* White is 255, or 1 where ratios are taken from the levels themselves. */
EXPORT(split) void split(const char *pixels, size_t n, int space, double white, double *planes)
{
    Format f = format_of(space);
    f.unit = white;
    split_pixels(pixels, planes, n, &f);
}

EXPORT(join) void join(const double *planes, char *target, size_t n, int space)
{
    const Format f = format_of(space);
    join_planes(planes, target, n, &f, 0.0, 255.0);
}

/* Coltuc's strict order of the pixels inside a mask, or of all; returns how many there are. */
EXPORT(order_pixels)
size_t order_pixels(const double *values, size_t height, size_t width, const uint8_t *mask, int by_position, uint64_t *places, uint64_t *spare,
                    uint64_t *words)
{
    Channel c = {.floats = values, .height = (ptrdiff_t)height, .width = (ptrdiff_t)width, .keys = by_position ? 1 : KEYS};
    join_keys(&c);
    const Keys keys = keys_of_channel(&c, words);
    size_t n = 0;
    for (size_t k = 0; k < height * width; k++)
        if (!mask || mask[k]) spare[n] = keys.first[k], places[n++] = k;
    const int lost = pack_all_keys(places, spare, n, keys.place_bits, 1);
    sort_numbers(places, spare, n, keys.place_bits, bits_apart(n, 1));
    settle_ties(places, spare, n, &keys, 0, lost);
    for (size_t k = 0; k < n; k++) places[k] = PLACE(places[k], &keys);
    return n;
}

/* ---- colours before they are limited: gamut.py once more -------------------------------------------------------------- */

static void invert_unlimited(Planes x, size_t n, const Space *space)
{
    const char *name = space->name;
    Planes kept;
    memcpy(kept, x, sizeof kept);
    if (name[0] == 'h' && name[1] == 's') { /* hsv, hsi: red, green and blue are straight lines in the saturation */
        for (size_t k = 0; k < n; k++) x[1][k] = 1.0;
        space->inverse(x, n);
        for (int c = 0; c < 3; c++)
            for (size_t k = 0; k < n; k++) x[c][k] = kept[2][k] + kept[1][k] * (x[c][k] - kept[2][k]);
        return;
    }
    const int mirrors = name[1] == 'u'; /* luv: below black, the mirror image of what lies above */
    for (size_t k = 0; k < n; k++) {
        const double sign = mirrors && kept[0][k] < 0.0 ? -1.0 : 1.0;
        x[0][k] *= sign, x[1][k] *= sign, x[2][k] *= sign;
        if (name[1] == 'c' && x[1][k] < 0.0) x[1][k] = -x[1][k], x[2][k] += 3.141592653589793; /* lch: the opposite hue */
    }
    space->inverse(x, n);
    if (space->start == LIGHT) EACH(from_light);
    else if (space->start == DENSITY) EACH(from_density);
    for (size_t k = 0; mirrors && k < n; k++)
        if (kept[0][k] < 0.0) x[0][k] = -x[0][k], x[1][k] = -x[1][k], x[2][k] = -x[2][k];
}

/* Planes of a space become levels of RGB, rounded and not held in any range. */
EXPORT(unlimit) void unlimit(double *planes, size_t n, int space)
{
    Planes x;
    for (size_t done = 0; done < n; done += CHUNK) {
        const size_t m = n - done < CHUNK ? n - done : CHUNK;
        for (int c = 0; c < 3; c++) memcpy(x[c], planes + (size_t)c * n + done, m * sizeof **x);
        invert_unlimited(x, m, spaces + space);
        for (int c = 0; c < 3; c++)
            for (size_t k = 0; k < m; k++) planes[(size_t)c * n + done + k] = HALF_EVEN(x[c][k] * 255.0);
    }
}

/* What a map would write if there were no limits. */
EXPORT(map_unlimited) void map_unlimited(const char *pixels, size_t n, int space, int diagonal, const double *numbers, double *planes)
{
    const Map m = {0.0, 255.0, 3, numbers, numbers + (diagonal ? 3 : 9)};
    split(pixels, n, space, 255.0, planes);
    map_planes(planes, planes + n, planes + 2 * n, n, diagonal, &m);
    unlimit(planes, n, space);
}
