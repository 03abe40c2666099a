/* The colour spaces that are not linear in RGB. A conversion has two steps: what concerns one channel alone (gamma, or the logarithm
 * of a stain), for which 8-bit images have tables, and what mixes the channels. fallback_spaces.py holds the same steps. */
#include "_kernels_math.h"

#define CHUNK 512 /* pixels converted at a time: their planes stay in the first cache; also part of the definition of a mean */

typedef double Planes[3][CHUNK];

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

/* Optical density, 1 at the smallest transmission that is told from none. */
static inline double to_density(double v) { return natural_log(v > 1e-6 ? v : 1e-6) * -0.07238241365054197; }

static inline double from_density(double v)
{
    double w = v * -13.815510557964274;
    w = w > -700.0 ? w : -700.0;
    return power_of_e(w < 700.0 ? w : 700.0);
}

/* CIELAB: f is the cube root, and a line near black. */
static inline double to_root(double v)
{
    double root = cube_root(v > 0.008856 ? v : 1.0);
    return v > 0.008856 ? root : v * 7.787 + 0.13793103448275862;
}

static inline double from_root(double f)
{
    return f > 0.2068966 ? (f * f) * f : (f - 0.13793103448275862) * 0.1284191601386927;
}

/* Decimal logarithms of cone responses, which are lifted to 2^-18 first. */
static inline double to_cone(double v) { return natural_log(v > 3.814697265625e-06 ? v : 3.814697265625e-06) * 0.4342944819032518; }

static inline double from_cone(double v)
{
    v = v > -300.0 ? v : -300.0;
    return power_of_e((v < 3.0 ? v : 3.0) * 2.302585092994046);
}

/* HSI: between a corner of the colour hexagon and the next half corner the angle is 30 degrees + atan(u / sqrt 3), u from -1 to 1;
 * HSV has a line there. Both ways, as shares of 60 degrees. */
static inline double to_angle(double share)
{
    double u = 2.0 * share - 1.0, t = u * u;
    double p = 4.2640852843572784e-06 + t * (-8.782764855507976e-07 + t * 9.909660760875363e-08);
    p = -0.00020617292237474352 + t * (5.79163645400366e-05 + t * (-1.6292021375910857e-05 + t * p));
    p = 0.012251753092960073 + t * (-0.002917081914265611 + t * (0.0007562632278756543 + t * p));
    double angle = 0.5 + u * (0.5513288954217779 + t * (-0.06125876615453284 + t * p));
    return angle > 0.0 ? angle : 0.0;
}

static inline double from_angle(double angle)
{
    double u = 2.0 * angle - 1.0, t = u * u;
    double p = 7.043996369593237e-07 + t * (6.477236888609178e-08 + t * 1.4393859379485293e-08);
    p = 0.0005042650797484723 + t * (5.602449790798775e-05 + t * (6.216809556084562e-06 + t * p));
    return 0.5 + u * (0.45344984105856667 + t * (0.04143861617380965 + t * (0.004544252814532186 + t * p)));
}

/* One function per loop: short bodies leave the processor room to work on several pixels at once. */
#define DEFINE_CHANNEL(NAME)                                                                                           \
    CLONED static void all_##NAME(double *v, size_t n)                                                                 \
    {                                                                                                                  \
        for (size_t k = 0; k < n; k++) v[k] = NAME(v[k]);                                                              \
    }
DEFINE_CHANNEL(to_light)
DEFINE_CHANNEL(from_light)
DEFINE_CHANNEL(to_density)
DEFINE_CHANNEL(from_density)
DEFINE_CHANNEL(to_root)
DEFINE_CHANNEL(to_cone)
DEFINE_CHANNEL(from_cone)

#define EACH(STEP) (all_##STEP(x[0], n), all_##STEP(x[1], n), all_##STEP(x[2], n))

/* ---- all three ---------------------------------------------------------------------------------------------------- */

typedef struct {
    double x, y, z;
} Colour;

static inline double mix(Colour v, double a, double b, double c) { return (a * v.x + b * v.y) + c * v.z; }

/* Each pixel is replaced by what ONE makes of it. */
#define DEFINE_COLOURS(ONE)                                                                                            \
    CLONED static void all_##ONE(double *restrict x, double *restrict y, double *restrict z, size_t n)                 \
    {                                                                                                                  \
        for (size_t k = 0; k < n; k++) {                                                                               \
            Colour v = ONE((Colour){x[k], y[k], z[k]});                                                                \
            x[k] = v.x, y[k] = v.y, z[k] = v.z;                                                                        \
        }                                                                                                              \
    }

/* CIELAB */
static inline Colour white_of_light(Colour v)
{
    return (Colour){mix(v, 0.4339463633781182, 0.3762138731364483, 0.1898250339305817), mix(v, 0.212671, 0.71516, 0.072169),
                    mix(v, 0.017756674595666908, 0.10946887943939826, 0.8727046462716861)};
}

static inline Colour lab_of_roots(Colour v) { return (Colour){116.0 * v.y - 16.0, 500.0 * (v.x - v.y), 200.0 * (v.y - v.z)}; }

static inline Colour light_of_lab(Colour v)
{
    double fy = (v.x + 16.0) * 0.008620689655172414, fx = v.y * 0.002 + fy, fz = fy - v.z * 0.005;
    Colour w = {from_root(fx), from_root(fy), from_root(fz > 0.0 ? fz : 0.0)};
    return (Colour){mix(w, 3.0799803022718044, -1.5371515162713185, -0.5428213080224702),
                    mix(w, -0.9212477523232383, 1.8759900014898907, 0.04524733951446598),
                    mix(w, 0.05289046109881183, -0.20404133836651125, 1.1512320119619404)};
}

/* The same in cylinder form: lightness, chroma, hue as an angle. A chroma below zero is no colour and becomes grey. */
static inline Colour polar_of_lab(Colour v) { return (Colour){v.x, sqrt(v.y * v.y + v.z * v.z), angle_of(v.z, v.y)}; }

static inline Colour lab_of_polar(Colour v)
{
    double chroma = v.y > 0.0 ? v.y : 0.0, cosine, sine;
    cosine_and_sine(v.z, &cosine, &sine);
    return (Colour){v.x, chroma * cosine, chroma * sine};
}

/* CIELUV. A lightness of zero or less is black. */
static inline Colour luv_of_light(Colour v)
{
    double x = mix(v, 0.412453, 0.35758, 0.180423), y = mix(v, 0.212671, 0.71516, 0.072169), z = mix(v, 0.019334, 0.119193, 0.950227);
    double root = cube_root(y > 0.008856 ? y : 1.0), light = y > 0.008856 ? 116.0 * root - 16.0 : 903.3 * y;
    double scale = 13.0 * light, share = 1.0 / (((x + 15.0 * y) + 3.0 * z) + 2.220446049250313e-16);
    return (Colour){light, scale * ((4.0 * x) * share - 0.19783982482140774), scale * ((9.0 * y) * share - 0.4683363029324097)};
}

static inline Colour light_of_luv(Colour v)
{
    double light = v.x > 0.0 ? v.x : 0.0, root = (light + 16.0) * 0.008620689655172414;
    double y = light > 7.999625 ? (root * root) * root : light * 0.0011070519207350825;
    double scale = 1.0 / (13.0 * light + 2.220446049250313e-16);
    double a = 0.19783982482140774 + v.y * scale, b = 0.4683363029324097 + v.z * scale;
    double share = y / (4.0 * (b == 0.0 ? 2.220446049250313e-16 : b));
    Colour w = {(9.0 * a) * share, y, ((12.0 - 3.0 * a) - 20.0 * b) * share};
    return (Colour){mix(w, 3.2404813432005266, -1.5371515162713185, -0.49853632616888793),
                    mix(w, -0.9692549499965684, 1.8759900014898907, 0.04155592655829283),
                    mix(w, 0.05564663913517716, -0.20404133836651125, 1.0573110696453445)};
}

/* Hue: the nearest corner of the colour hexagon (0 red, 2 green, 4 blue), and how far beside it, from -1 to 1. */
typedef struct {
    double high, low, span, corner, beside;
} Hexagon;

static inline Hexagon hexagon_of(Colour v)
{
    double high = v.x > v.y ? v.x : v.y, low = v.x > v.y ? v.y : v.x;
    high = high > v.z ? high : v.z, low = low > v.z ? v.z : low;
    double span = high - low, corner = v.y == high ? 2.0 : 0.0, gap = v.y == high ? v.z - v.x : v.y - v.z;
    corner = v.z == high ? 4.0 : corner, gap = v.z == high ? v.x - v.y : gap;
    return (Hexagon){high, low, span, corner, gap / (span > 0.0 ? span : 1.0)};
}

/* Sixths of a turn, from -1 to 5, as turns; 0 where grey. */
static inline double turns_of(double sixths, double span)
{
    double hue = sixths * 0.16666666666666666;
    hue = hue < 0.0 ? hue + 1.0 : hue;
    return span > 0.0 ? hue : 0.0;
}

/* How far red, green and blue (5, 3, 1) lie below the largest, as a share of the span. */
static inline double below_largest(double sixths, double channel)
{
    double t = sixths + channel;
    t = t >= 6.0 ? t - 6.0 : t;
    double other = 4.0 - t;
    t = t < other ? t : other;
    t = t < 1.0 ? t : 1.0;
    return t > 0.0 ? t : 0.0;
}

static inline double held(double v)
{
    v = v > 0.0 ? v : 0.0;
    return v < 1.0 ? v : 1.0;
}

static inline Colour hsv_of_rgb(Colour v)
{
    Hexagon at = hexagon_of(v);
    return (Colour){turns_of(at.corner + at.beside, at.span), at.span / (at.high == 0.0 ? 1.0 : at.high), at.high};
}

static inline Colour rgb_of_hsv(Colour v)
{
    double sixths = 6.0 * (v.x - floor(v.x)), value = v.z, span = value * held(v.y);
    return (Colour){value - span * below_largest(sixths, 5.0), value - span * below_largest(sixths, 3.0),
                    value - span * below_largest(sixths, 1.0)};
}

static inline Colour hsi_of_rgb(Colour v)
{
    Hexagon at = hexagon_of(v);
    double turned = to_angle(at.beside < 0.0 ? -at.beside : at.beside), intensity = ((v.x + v.y) + v.z) / 3.0;
    double saturation = held(1.0 - at.low / (intensity > 0.0 ? intensity : 1.0));
    return (Colour){turns_of(at.corner + (at.beside < 0.0 ? -turned : turned), at.span), intensity > 0.0 ? saturation : 0.0, intensity};
}

static inline Colour rgb_of_hsi(Colour v)
{
    double sixths = 6.0 * (v.x - floor(v.x)), corner = floor(sixths), share = from_angle(sixths - corner);
    double odd = corner - 2.0 * floor(corner * 0.5), saturation = held(v.y), intensity = v.z, low = intensity * (1.0 - saturation);
    double span = (3.0 * (intensity * saturation)) / (1.0 + (odd > 0.0 ? 1.0 - share : share)), bent = corner + share;
    return (Colour){low + span * (1.0 - below_largest(bent, 5.0)), low + span * (1.0 - below_largest(bent, 3.0)),
                    low + span * (1.0 - below_largest(bent, 1.0))};
}

/* Haematoxylin, eosin and DAB, from optical densities. */
static inline Colour hed_of_density(Colour v)
{
    double h = mix(v, 1.8779827368521356, -0.06590806222356332, -0.6019073634392892);
    double e = mix(v, -1.0076786862855645, 1.1347303724996625, -0.48041418849705797);
    double d = mix(v, -0.5561158181996246, -0.13552179862837116, 1.5735880719641926);
    return (Colour){h > 0.0 ? h : 0.0, e > 0.0 ? e : 0.0, d > 0.0 ? d : 0.0};
}

static inline Colour density_of_hed(Colour v)
{
    return (Colour){mix(v, 0.65, 0.07, 0.27), mix(v, 0.7, 0.99, 0.57), mix(v, 0.29, 0.11, 0.78)};
}

/* Reinhard's l alpha beta, through the responses of the eye's cones. */
static inline Colour cones_of_rgb(Colour v)
{
    return (Colour){mix(v, 0.3811, 0.5783, 0.0402), mix(v, 0.1967, 0.7244, 0.0782), mix(v, 0.0241, 0.1288, 0.8444)};
}

static inline Colour rgb_of_cones(Colour v)
{
    return (Colour){mix(v, 4.468669863496255, -3.5886759034721263, 0.11960436657860116),
                    mix(v, -1.2197166276177633, 2.3830879129554567, -0.16263011175140057),
                    mix(v, 0.0585084769385459, -0.26107843902769373, 1.205665908525623)};
}

static inline Colour axes_of_cones(Colour v)
{
    return (Colour){mix(v, 0.5773502691896257, 0.5773502691896257, 0.5773502691896257),
                    mix(v, 0.408248290463863, 0.408248290463863, -0.816496580927726),
                    mix(v, 0.7071067811865476, -0.7071067811865476, 0.0)};
}

static inline Colour cones_of_axes(Colour v)
{
    return (Colour){mix(v, 0.5773502691896257, 0.408248290463863, 0.7071067811865476),
                    mix(v, 0.5773502691896257, 0.408248290463863, -0.7071067811865476),
                    mix(v, 0.5773502691896257, -0.816496580927726, 0.0)};
}

DEFINE_COLOURS(white_of_light)
DEFINE_COLOURS(lab_of_roots)
DEFINE_COLOURS(light_of_lab)
DEFINE_COLOURS(polar_of_lab)
DEFINE_COLOURS(lab_of_polar)
DEFINE_COLOURS(luv_of_light)
DEFINE_COLOURS(light_of_luv)
DEFINE_COLOURS(hsv_of_rgb)
DEFINE_COLOURS(rgb_of_hsv)
DEFINE_COLOURS(hsi_of_rgb)
DEFINE_COLOURS(rgb_of_hsi)
DEFINE_COLOURS(hed_of_density)
DEFINE_COLOURS(density_of_hed)
DEFINE_COLOURS(cones_of_rgb)
DEFINE_COLOURS(rgb_of_cones)
DEFINE_COLOURS(axes_of_cones)
DEFINE_COLOURS(cones_of_axes)

/* ---- whole conversions --------------------------------------------------------------------------------------------- */

#define ALL(STEP) all_##STEP(x[0], x[1], x[2], n)
static void to_lab(Planes x, size_t n) { ALL(white_of_light), EACH(to_root), ALL(lab_of_roots); }
static void from_lab(Planes x, size_t n) { ALL(light_of_lab); }
static void to_lch(Planes x, size_t n) { to_lab(x, n), ALL(polar_of_lab); }
static void from_lch(Planes x, size_t n) { ALL(lab_of_polar), ALL(light_of_lab); }
static void to_luv(Planes x, size_t n) { ALL(luv_of_light); }
static void from_luv(Planes x, size_t n) { ALL(light_of_luv); }
static void to_hsv(Planes x, size_t n) { ALL(hsv_of_rgb); }
static void from_hsv(Planes x, size_t n) { ALL(rgb_of_hsv); }
static void to_hsi(Planes x, size_t n) { ALL(hsi_of_rgb); }
static void from_hsi(Planes x, size_t n) { ALL(rgb_of_hsi); }
static void to_hed(Planes x, size_t n) { ALL(hed_of_density); }
static void from_hed(Planes x, size_t n) { ALL(density_of_hed); }
static void to_lalphabeta(Planes x, size_t n) { ALL(cones_of_rgb), EACH(to_cone), ALL(axes_of_cones); }
static void from_lalphabeta(Planes x, size_t n) { ALL(cones_of_axes), EACH(from_cone), ALL(rgb_of_cones); }

/* ---- which of them ------------------------------------------------------------------------------------------------ */

enum { UNIT, LIGHT, DENSITY }; /* what a conversion starts from, channel by channel */

typedef struct {
    const char *name;
    int start;
    void (*forward)(Planes, size_t), (*inverse)(Planes, size_t);
} Space;

static const Space spaces[] = {
    {"lab", LIGHT, to_lab, from_lab},     {"luv", LIGHT, to_luv, from_luv},
    {"lch", LIGHT, to_lch, from_lch},     {"hsv", UNIT, to_hsv, from_hsv},
    {"hsi", UNIT, to_hsi, from_hsi},      {"hed", DENSITY, to_hed, from_hed},
    {"lalphabeta", UNIT, to_lalphabeta, from_lalphabeta},
};

static const Space *space_called(const char *name)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, name) == 0) return spaces + i;
    PyErr_Format(PyExc_ValueError, "no conversion is known for %s", name);
    return NULL;
}
