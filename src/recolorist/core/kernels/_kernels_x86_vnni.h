/* Exact sums of 8-bit pixels for x86 with AVX-512 VNNI: one instruction multiplies four pairs of bytes and adds the products to a 32-bit
 * word. Bytes are put in order first, so that a word holds four pixels of one channel. The second factor must be signed, and
 * x * (x - 128) = x * x - 128 * x. */
#define VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi,avx512vnni")))

static int has_vnni(void)
{
    return simd_level() >= 2 && __builtin_cpu_supports("avx512vnni");
}

/* The order of bytes: by words, the channels of four pixels and then those of the next four. Three channels leave every fourth word free. */
#define FOUR_BYTES(n, k, c) (n) * (k) + (c), (n) * ((k) + 1) + (c), (n) * ((k) + 2) + (c), (n) * ((k) + 3) + (c)
#define GREY_WORDS(k) FOUR_BYTES(1, k, 0), FOUR_BYTES(1, (k) + 4, 0), FOUR_BYTES(1, (k) + 8, 0), FOUR_BYTES(1, (k) + 12, 0)
#define RGB_WORDS(k) FOUR_BYTES(3, k, 0), FOUR_BYTES(3, k, 1), FOUR_BYTES(3, k, 2), 0, 0, 0, 0
#define RGBA_WORDS(k) FOUR_BYTES(4, k, 0), FOUR_BYTES(4, k, 1), FOUR_BYTES(4, k, 2), FOUR_BYTES(4, k, 3)
static const uint8_t grey_words[64] = {GREY_WORDS(0), GREY_WORDS(16), GREY_WORDS(32), GREY_WORDS(48)};
static const uint8_t rgb_words[64] = {RGB_WORDS(0), RGB_WORDS(4), RGB_WORDS(8), RGB_WORDS(12)};
static const uint8_t rgba_words[64] = {RGBA_WORDS(0), RGBA_WORDS(4), RGBA_WORDS(8), RGBA_WORDS(12)};

enum { STREAMS = 4, ROUNDS = 4096 }; /* 4 * 4096 steps and those of an end, of at most 4 * 255 * 128, fit into 32 bits */

typedef struct {
    int64_t values[16], squares[16], crossed[16]; /* by word; the last two still less 128 times the values */
} WordSums;

static inline void add_words(const int32_t *words, int64_t *sums)
{
    for (int j = 0; j < 16; j++) sums[j] += words[j];
}

#define ADD_STEP(i, bytes)                                                                                             \
    {                                                                                                                  \
        const __m512i x = _mm512_permutexvar_epi8(order, bytes), y = _mm512_xor_si512(x, middle);                      \
        s[i] = _mm512_dpbusd_epi32(s[i], x, ones), q[i] = _mm512_dpbusd_epi32(q[i], x, y);                             \
        if (is_crossed) r[i] = _mm512_dpbusd_epi32(r[i], x, _mm512_shuffle_epi32(y, _MM_PERM_DACB));                   \
    }

/* Adds steps of 48 or 64 bytes. Four streams, because a sum waits for the one before. `is_crossed`: also each of the first three channels
 * times the next, the third times the first. What a masked load leaves out is zero and adds nothing. */
VNNI static inline __attribute__((always_inline)) void sum_words(const uint8_t *p, size_t left, const size_t step, const uint8_t *words,
                                                                 const int is_crossed, WordSums *sums)
{
    const __m512i order = _mm512_loadu_si512(words), middle = _mm512_set1_epi8(-128), ones = _mm512_set1_epi8(1);
    while (left) {
        __m512i s[STREAMS], q[STREAMS], r[STREAMS];
        for (int i = 0; i < STREAMS; i++) s[i] = q[i] = r[i] = _mm512_setzero_si512();
        for (int k = 0; k < ROUNDS && left >= (STREAMS - 1) * step + 64; k++, left -= STREAMS * step, p += STREAMS * step)
            for (int i = 0; i < STREAMS; i++) ADD_STEP(i, _mm512_loadu_si512(p + i * step))
        for (size_t few; left && left < (STREAMS - 1) * step + 64; left -= few, p += few) {
            few = left < step ? left : step;
            ADD_STEP(0, _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (64 - few), p))
        }
        for (int i = 1; i < STREAMS; i++)
            s[0] = _mm512_add_epi32(s[0], s[i]), q[0] = _mm512_add_epi32(q[0], q[i]), r[0] = _mm512_add_epi32(r[0], r[i]);
        int32_t found[3][16];
        _mm512_storeu_si512(found[0], s[0]), _mm512_storeu_si512(found[1], q[0]), _mm512_storeu_si512(found[2], r[0]);
        add_words(found[0], sums->values), add_words(found[1], sums->squares), add_words(found[2], sums->crossed);
    }
}

VNNI static void sum_grey(const uint8_t *p, size_t bytes, WordSums *sums) { sum_words(p, bytes, 64, grey_words, 0, sums); }
VNNI static void sum_rgb(const uint8_t *p, size_t bytes, WordSums *sums) { sum_words(p, bytes, 48, rgb_words, 0, sums); }
VNNI static void sum_rgb_crossed(const uint8_t *p, size_t bytes, WordSums *sums) { sum_words(p, bytes, 48, rgb_words, 1, sums); }
VNNI static void sum_rgba(const uint8_t *p, size_t bytes, WordSums *sums) { sum_words(p, bytes, 64, rgba_words, 0, sums); }
VNNI static void sum_rgba_crossed(const uint8_t *p, size_t bytes, WordSums *sums) { sum_words(p, bytes, 64, rgba_words, 1, sums); }

/* Adds the sums and products of the first `channels` of `depth` bytes; reach 3 is for three channels. */
static void moments_u8_vnni(const uint8_t *p, size_t pixels, int depth, int channels, int reach, uint64_t *sums, uint64_t *products)
{
    static const int place[3] = {3, 4, 6}; /* of rg, gb, br among the products */
    WordSums found = {{0}, {0}, {0}};
    const size_t bytes = pixels * (size_t)depth;
    if (depth == 1) sum_grey(p, bytes, &found);
    else if (depth == 3) reach == 1 ? sum_rgb(p, bytes, &found) : sum_rgb_crossed(p, bytes, &found);
    else reach == 1 ? sum_rgba(p, bytes, &found) : sum_rgba_crossed(p, bytes, &found);
    for (int j = 0; j < 16; j++) {
        const int c = depth == 1 ? 0 : j % 4;
        const int64_t shift = 128 * found.values[j];
        if (c >= channels) continue;
        sums[c] += (uint64_t)found.values[j], products[c] += (uint64_t)(found.squares[j] + shift);
        if (reach == 3) products[place[c]] += (uint64_t)(found.crossed[j] + shift);
    }
}
