/* The colour spaces that are not linear in RGB. A conversion has two steps: what concerns one channel alone (gamma, or the logarithm
 * of a stain), for which 8-bit images have tables, and what mixes the channels. Nothing here needs Python or a library: only
 * sqrt and floor, which processors have. fallback_spaces.py holds the same steps. */
#include "_kernels_math.h"
#include "_kernels_single.h"

#define CHUNK 512 /* pixels converted at a time: their planes stay in the first cache; also part of the definition of a mean */

/* ---- one channel alone -------------------------------------------------------------------------------------------- */

/* sRGB to linear light, and back. */
static inline double to_light(double v)
{
    double y = v > 0.04045 ? (v + 0.055) * 0.9478672985781991 : 1.0, t = y * inverse_fifth_root(y);
    return v > 0.04045 ? (t * t) * t : v * 0.07739938080495357;
}

static inline double from_light(double v)
{
    double s = sqrt(v > 0.0031308 ? v : 1.0), r = inverse_cube_root(s);
    return v > 0.0031308 ? 1.055 * (sqrt(s) * ((s * r) * r)) - 0.055 : v * 12.92;
}

/* Optical density, 1 at the smallest transmission that differs from none. */
static inline double to_density(double v) { return natural_log(v > 1e-6 ? v : 1e-6) * -0.07238241365054197; }

static inline double from_density(double v)
{
    double w = v * -13.815510557964274;
    w = w > -700.0 ? w : -700.0;
    return power_of_e(w < 700.0 ? w : 700.0);
}

#define JOIN_NAMES(a, b) a##_##b
#define WITH_BITS(a, b) JOIN_NAMES(a, b)
#define NAMED(name) WITH_BITS(name, BITS)

#define cube_root_64 cube_root
#define natural_log_64 natural_log
#define power_of_e_64 power_of_e
#define angle_of_64 angle_of
#define cosine_and_sine_64 cosine_and_sine
#define to_angle_64 to_angle
#define from_angle_64 from_angle
#define square_root_64 sqrt
#define square_root_32 sqrtf
#define whole_part_64 floor
#define whole_part_32 floorf

#define REAL double
#define BITS 64
#define K(number) (number)
#define LEAST_CONE -300.0
#include "_kernels_formulas.h"
#undef REAL
#undef BITS
#undef K
#undef LEAST_CONE

#define REAL float
#define BITS 32
#define K(number) ((float)(number))
#define LEAST_CONE -37.0
#include "_kernels_formulas.h"

/* ---- which of them ------------------------------------------------------------------------------------------------ */

enum { UNIT, LIGHT, DENSITY }; /* what a conversion starts from, channel by channel */

typedef struct {
    const char *name;
    int start;
    float steps[3]; /* 8-bit images: a channel is rounded to whole multiples of 1 / steps before it is summed, exactly */
    void (*forward)(Planes_64, size_t), (*inverse)(Planes_64, size_t);
    void (*forward_32)(Planes_32, size_t), (*inverse_32)(Planes_32, size_t);
} Space;

#define TWO(n) ((float)(1 << (n)))
#define WAYS(name) to_##name##_64, from_##name##_64, to_##name##_32, from_##name##_32
static const Space spaces[] = {
    {"lab", LIGHT, {TWO(15), TWO(15), TWO(15)}, WAYS(lab)},
    {"luv", LIGHT, {TWO(15), TWO(14), TWO(14)}, WAYS(luv)},
    {"lch", LIGHT, {TWO(15), TWO(14), TWO(19)}, WAYS(lch)},
    {"hsv", UNIT, {TWO(21), TWO(21), TWO(21)}, WAYS(hsv)},
    {"hsi", UNIT, {TWO(21), TWO(21), TWO(21)}, WAYS(hsi)},
    {"hed", DENSITY, {TWO(21), TWO(21), TWO(21)}, WAYS(hed)},
    {"lalphabeta", UNIT, {TWO(18), TWO(21), TWO(21)}, WAYS(lalphabeta)},
};
