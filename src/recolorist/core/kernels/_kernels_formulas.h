/* The formulas of the colour spaces that are not linear in RGB, from linear light, optical density or RGB itself. Included twice by
 * _kernels_spaces.h: in float64, and in float32 for 8-bit images. REAL is the type, K(x) a number of that type, NAMED(f) the name
 * of f with the bits of the type behind it. fallback_spaces.py holds the same formulas for both. */

typedef REAL NAMED(Planes)[3][CHUNK];
typedef struct {
    REAL x, y, z;
} NAMED(Colour);
#define Planes NAMED(Planes)
#define Colour NAMED(Colour)

/* One function per loop: of a short body the processor works on several pixels at once. */
#define DEFINE_CHANNEL(ONE)                                                                                            \
    CLONED static void NAMED(all_##ONE)(REAL *v, size_t n)                                                             \
    {                                                                                                                  \
        for (size_t k = 0; k < n; k++) v[k] = NAMED(ONE)(v[k]);                                                        \
    }

/* Each pixel is replaced by what ONE makes of it. */
#define DEFINE_COLOURS(ONE)                                                                                            \
    CLONED static void NAMED(all_##ONE)(REAL *restrict x, REAL *restrict y, REAL *restrict z, size_t n)                \
    {                                                                                                                  \
        for (size_t k = 0; k < n; k++) {                                                                               \
            Colour v = NAMED(ONE)((Colour){x[k], y[k], z[k]});                                                         \
            x[k] = v.x, y[k] = v.y, z[k] = v.z;                                                                        \
        }                                                                                                              \
    }
#define EACH(STEP) (NAMED(all_##STEP)(x[0], n), NAMED(all_##STEP)(x[1], n), NAMED(all_##STEP)(x[2], n))
#define ALL(STEP) NAMED(all_##STEP)(x[0], x[1], x[2], n)

/* CIELAB: f is the cube root, and a line near black. */
static inline REAL NAMED(to_root)(REAL v)
{
    REAL root = NAMED(cube_root)(v > K(0.008856) ? v : K(1.0));
    return v > K(0.008856) ? root : v * K(7.787) + K(0.13793103448275862);
}

static inline REAL NAMED(from_root)(REAL f)
{
    return f > K(0.2068966) ? (f * f) * f : (f - K(0.13793103448275862)) * K(0.1284191601386927);
}

/* Decimal logarithms of cone responses, which are lifted to 2^-18 first. */
static inline REAL NAMED(to_cone)(REAL v)
{
    return NAMED(natural_log)(v > K(3.814697265625e-06) ? v : K(3.814697265625e-06)) * K(0.4342944819032518);
}

static inline REAL NAMED(from_cone)(REAL v)
{
    v = v > K(LEAST_CONE) ? v : K(LEAST_CONE);
    return NAMED(power_of_e)((v < K(3.0) ? v : K(3.0)) * K(2.302585092994046));
}

/* ---- all three ---------------------------------------------------------------------------------------------------- */

static inline REAL NAMED(mix)(Colour v, REAL a, REAL b, REAL c) { return (a * v.x + b * v.y) + c * v.z; }

/* CIELAB */
static inline Colour NAMED(white_of_light)(Colour v)
{
    return (Colour){NAMED(mix)(v, K(0.4339463633781182), K(0.3762138731364483), K(0.1898250339305817)),
                    NAMED(mix)(v, K(0.212671), K(0.71516), K(0.072169)),
                    NAMED(mix)(v, K(0.017756674595666908), K(0.10946887943939826), K(0.8727046462716861))};
}

static inline Colour NAMED(lab_of_roots)(Colour v)
{
    return (Colour){K(116.0) * v.y - K(16.0), K(500.0) * (v.x - v.y), K(200.0) * (v.y - v.z)};
}

static inline Colour NAMED(light_of_lab)(Colour v)
{
    REAL fy = (v.x + K(16.0)) * K(0.008620689655172414), fx = v.y * K(0.002) + fy, fz = fy - v.z * K(0.005);
    Colour w = {NAMED(from_root)(fx), NAMED(from_root)(fy), NAMED(from_root)(fz > K(0.0) ? fz : K(0.0))};
    return (Colour){NAMED(mix)(w, K(3.0799803022718044), K(-1.5371515162713185), K(-0.5428213080224702)),
                    NAMED(mix)(w, K(-0.9212477523232383), K(1.8759900014898907), K(0.04524733951446598)),
                    NAMED(mix)(w, K(0.05289046109881183), K(-0.20404133836651125), K(1.1512320119619404))};
}

/* The same in cylinder form: lightness, chroma, hue as an angle. A grey has a hue too, since the rows of the matrix do not quite add
 * up to 1; so that it is not lost in rounding, u^(1/3) - v^(1/3) is taken from u - v, and that from differences of the channels. */
static inline REAL NAMED(root_gap)(REAL u, REAL v, REAL fu, REAL fv, REAL gap, const int bright)
{
    const REAL curved = gap / ((fu * fu + fu * fv) + fv * fv), straight = K(7.787) * gap, mixed = fu - fv;
    const REAL above = v > K(0.008856) ? curved : mixed, below = v > K(0.008856) ? mixed : straight;
    return bright ? curved : u > K(0.008856) ? above : below;
}

/* Lightness, a and b of light `v`, of its white-balanced form `w` and of the roots `f` of that. */
static inline Colour NAMED(close_lab)(Colour v, Colour w, Colour f, const int bright)
{
    const REAL red = v.x - v.y, blue = v.z - v.y;
    const REAL xy = (K(0.2212753633781182) * red + K(0.1176560339305817) * blue) + K(-1.4729554851836135e-05) * v.y;
    const REAL yz = (K(0.1949143254043331) * red + K(-0.800535646271686) * blue) + K(6.979969324875587e-05) * v.y;
    const REAL a = K(500.0) * NAMED(root_gap)(w.x, w.y, f.x, f.y, xy, bright), b = K(200.0) * NAMED(root_gap)(w.y, w.z, f.y, f.z, yz, bright);
    return (Colour){K(116.0) * f.y - K(16.0), a, b};
}

/* Returns whether no value lies on the line near black; the steps that follow are shorter then, and give the same bits. */
CLONED static int NAMED(balance_white)(Planes x, Planes w, size_t n)
{
    int32_t dark = 0;
    for (size_t k = 0; k < n; k++) {
        const Colour c = NAMED(white_of_light)((Colour){x[0][k], x[1][k], x[2][k]});
        w[0][k] = c.x, w[1][k] = c.y, w[2][k] = c.z;
        dark |= !(c.x > K(0.008856)) | !(c.y > K(0.008856)) | !(c.z > K(0.008856));
    }
    return !dark;
}

CLONED static void NAMED(take_roots)(const REAL *restrict w, REAL *restrict f, size_t n, int bright)
{
    if (bright)
        for (size_t k = 0; k < n; k++) f[k] = NAMED(cube_root)(w[k]);
    else
        for (size_t k = 0; k < n; k++) f[k] = NAMED(to_root)(w[k]);
}

CLONED static void NAMED(join_close_lab)(REAL *restrict x, REAL *restrict y, REAL *restrict z, Planes w, Planes f, size_t n, int bright)
{
    if (bright)
        for (size_t k = 0; k < n; k++) {
            const Colour c = NAMED(close_lab)((Colour){x[k], y[k], z[k]}, (Colour){w[0][k], w[1][k], w[2][k]}, (Colour){f[0][k], f[1][k], f[2][k]}, 1);
            x[k] = c.x, y[k] = c.y, z[k] = c.z;
        }
    else
        for (size_t k = 0; k < n; k++) {
            const Colour c = NAMED(close_lab)((Colour){x[k], y[k], z[k]}, (Colour){w[0][k], w[1][k], w[2][k]}, (Colour){f[0][k], f[1][k], f[2][k]}, 0);
            x[k] = c.x, y[k] = c.y, z[k] = c.z;
        }
}

static void NAMED(to_close_lab)(Planes x, size_t n)
{
    Planes w, f;
    const int bright = NAMED(balance_white)(x, w, n);
    for (int c = 0; c < 3; c++) NAMED(take_roots)(w[c], f[c], n, bright);
    NAMED(join_close_lab)(x[0], x[1], x[2], w, f, n, bright);
}

static inline Colour NAMED(polar_of_lab)(Colour v)
{
    return (Colour){v.x, NAMED(square_root)(v.y * v.y + v.z * v.z), NAMED(angle_of)(v.z, v.y)};
}

/* A chroma below zero is no colour and becomes grey. */
static inline Colour NAMED(lab_of_polar)(Colour v)
{
    REAL chroma = v.y > K(0.0) ? v.y : K(0.0), cosine, sine;
    NAMED(cosine_and_sine)(v.z, &cosine, &sine);
    return (Colour){v.x, chroma * cosine, chroma * sine};
}

/* CIELUV. A lightness of zero or less is black. */
static inline Colour NAMED(luv_of_light)(Colour v)
{
    REAL x = NAMED(mix)(v, K(0.412453), K(0.35758), K(0.180423)), y = NAMED(mix)(v, K(0.212671), K(0.71516), K(0.072169));
    REAL z = NAMED(mix)(v, K(0.019334), K(0.119193), K(0.950227));
    REAL root = NAMED(cube_root)(y > K(0.008856) ? y : K(1.0)), light = y > K(0.008856) ? K(116.0) * root - K(16.0) : K(903.3) * y;
    REAL scale = K(13.0) * light, share = K(1.0) / (((x + K(15.0) * y) + K(3.0) * z) + K(2.220446049250313e-16));
    return (Colour){light, scale * ((K(4.0) * x) * share - K(0.19783982482140774)),
                    scale * ((K(9.0) * y) * share - K(0.4683363029324097))};
}

static inline Colour NAMED(light_of_luv)(Colour v)
{
    REAL light = v.x > K(0.0) ? v.x : K(0.0), root = (light + K(16.0)) * K(0.008620689655172414);
    REAL y = light > K(7.999625) ? (root * root) * root : light * K(0.0011070519207350825);
    REAL scale = K(1.0) / (K(13.0) * light + K(2.220446049250313e-16));
    REAL a = K(0.19783982482140774) + v.y * scale, b = K(0.4683363029324097) + v.z * scale;
    REAL share = y / (K(4.0) * (b == K(0.0) ? K(2.220446049250313e-16) : b));
    Colour w = {(K(9.0) * a) * share, y, ((K(12.0) - K(3.0) * a) - K(20.0) * b) * share};
    return (Colour){NAMED(mix)(w, K(3.2404813432005266), K(-1.5371515162713185), K(-0.49853632616888793)),
                    NAMED(mix)(w, K(-0.9692549499965684), K(1.8759900014898907), K(0.04155592655829283)),
                    NAMED(mix)(w, K(0.05564663913517716), K(-0.20404133836651125), K(1.0573110696453445))};
}

/* Hue: the nearest corner of the colour hexagon (0 red, 2 green, 4 blue), and how far beside it, from -1 to 1. */
typedef struct {
    REAL high, low, span, corner, beside;
} NAMED(Hexagon);
#define Hexagon NAMED(Hexagon)

static inline Hexagon NAMED(hexagon_of)(Colour v)
{
    REAL high = v.x > v.y ? v.x : v.y, low = v.x > v.y ? v.y : v.x;
    high = high > v.z ? high : v.z, low = low > v.z ? v.z : low;
    REAL span = high - low, corner = v.y == high ? K(2.0) : K(0.0), gap = v.y == high ? v.z - v.x : v.y - v.z;
    corner = v.z == high ? K(4.0) : corner, gap = v.z == high ? v.x - v.y : gap;
    return (Hexagon){high, low, span, corner, gap / (span > K(0.0) ? span : K(1.0))};
}

/* Sixths of a turn, from -1 to 5, as turns; 0 where grey. */
static inline REAL NAMED(turns_of)(REAL sixths, REAL span)
{
    REAL hue = sixths * K(0.16666666666666666);
    hue = hue < K(0.0) ? hue + K(1.0) : hue;
    return span > K(0.0) ? hue : K(0.0);
}

/* How far red, green and blue (5, 3, 1) lie below the largest, as a share of the span. */
static inline REAL NAMED(below_largest)(REAL sixths, REAL channel)
{
    REAL t = sixths + channel;
    t = t >= K(6.0) ? t - K(6.0) : t;
    REAL other = K(4.0) - t;
    t = t < other ? t : other;
    t = t < K(1.0) ? t : K(1.0);
    return t > K(0.0) ? t : K(0.0);
}

static inline REAL NAMED(held)(REAL v)
{
    v = v > K(0.0) ? v : K(0.0);
    return v < K(1.0) ? v : K(1.0);
}

static inline Colour NAMED(hsv_of_rgb)(Colour v)
{
    Hexagon at = NAMED(hexagon_of)(v);
    return (Colour){NAMED(turns_of)(at.corner + at.beside, at.span), at.span / (at.high == K(0.0) ? K(1.0) : at.high), at.high};
}

static inline Colour NAMED(rgb_of_hsv)(Colour v)
{
    REAL sixths = K(6.0) * (v.x - NAMED(whole_part)(v.x)), value = v.z, span = value * NAMED(held)(v.y);
    return (Colour){value - span * NAMED(below_largest)(sixths, K(5.0)), value - span * NAMED(below_largest)(sixths, K(3.0)),
                    value - span * NAMED(below_largest)(sixths, K(1.0))};
}

static inline Colour NAMED(hsi_of_rgb)(Colour v)
{
    Hexagon at = NAMED(hexagon_of)(v);
    REAL turned = NAMED(to_angle)(at.beside < K(0.0) ? -at.beside : at.beside), intensity = ((v.x + v.y) + v.z) / K(3.0);
    REAL saturation = NAMED(held)(K(1.0) - at.low / (intensity > K(0.0) ? intensity : K(1.0)));
    return (Colour){NAMED(turns_of)(at.corner + (at.beside < K(0.0) ? -turned : turned), at.span),
                    intensity > K(0.0) ? saturation : K(0.0), intensity};
}

static inline Colour NAMED(rgb_of_hsi)(Colour v)
{
    REAL sixths = K(6.0) * (v.x - NAMED(whole_part)(v.x)), corner = NAMED(whole_part)(sixths);
    REAL share = NAMED(from_angle)(sixths - corner), odd = corner - K(2.0) * NAMED(whole_part)(corner * K(0.5));
    REAL saturation = NAMED(held)(v.y), intensity = v.z, low = intensity * (K(1.0) - saturation);
    REAL span = (K(3.0) * (intensity * saturation)) / (K(1.0) + (odd > K(0.0) ? K(1.0) - share : share)), bent = corner + share;
    return (Colour){low + span * (K(1.0) - NAMED(below_largest)(bent, K(5.0))), low + span * (K(1.0) - NAMED(below_largest)(bent, K(3.0))),
                    low + span * (K(1.0) - NAMED(below_largest)(bent, K(1.0)))};
}

/* Haematoxylin, eosin and DAB, from optical densities. */
static inline Colour NAMED(hed_of_density)(Colour v)
{
    REAL h = NAMED(mix)(v, K(1.8779827368521356), K(-0.06590806222356332), K(-0.6019073634392892));
    REAL e = NAMED(mix)(v, K(-1.0076786862855645), K(1.1347303724996625), K(-0.48041418849705797));
    REAL d = NAMED(mix)(v, K(-0.5561158181996246), K(-0.13552179862837116), K(1.5735880719641926));
    return (Colour){h > K(0.0) ? h : K(0.0), e > K(0.0) ? e : K(0.0), d > K(0.0) ? d : K(0.0)};
}

static inline Colour NAMED(density_of_hed)(Colour v)
{
    return (Colour){NAMED(mix)(v, K(0.65), K(0.07), K(0.27)), NAMED(mix)(v, K(0.7), K(0.99), K(0.57)),
                    NAMED(mix)(v, K(0.29), K(0.11), K(0.78))};
}

/* Reinhard's l alpha beta, through the responses of the eye's cones. */
static inline Colour NAMED(cones_of_rgb)(Colour v)
{
    return (Colour){NAMED(mix)(v, K(0.3811), K(0.5783), K(0.0402)), NAMED(mix)(v, K(0.1967), K(0.7244), K(0.0782)),
                    NAMED(mix)(v, K(0.0241), K(0.1288), K(0.8444))};
}

static inline Colour NAMED(rgb_of_cones)(Colour v)
{
    return (Colour){NAMED(mix)(v, K(4.468669863496255), K(-3.5886759034721263), K(0.11960436657860116)),
                    NAMED(mix)(v, K(-1.2197166276177633), K(2.3830879129554567), K(-0.16263011175140057)),
                    NAMED(mix)(v, K(0.0585084769385459), K(-0.26107843902769373), K(1.205665908525623))};
}

static inline Colour NAMED(axes_of_cones)(Colour v)
{
    return (Colour){NAMED(mix)(v, K(0.5773502691896257), K(0.5773502691896257), K(0.5773502691896257)),
                    NAMED(mix)(v, K(0.408248290463863), K(0.408248290463863), K(-0.816496580927726)),
                    NAMED(mix)(v, K(0.7071067811865476), K(-0.7071067811865476), K(0.0))};
}

static inline Colour NAMED(cones_of_axes)(Colour v)
{
    return (Colour){NAMED(mix)(v, K(0.5773502691896257), K(0.408248290463863), K(0.7071067811865476)),
                    NAMED(mix)(v, K(0.5773502691896257), K(0.408248290463863), K(-0.7071067811865476)),
                    NAMED(mix)(v, K(0.5773502691896257), K(-0.816496580927726), K(0.0))};
}

DEFINE_CHANNEL(to_cone)
DEFINE_CHANNEL(from_cone)
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

static void NAMED(to_lab)(Planes x, size_t n)
{
    Planes w;
    const int bright = NAMED(balance_white)(x, w, n);
    for (int c = 0; c < 3; c++) NAMED(take_roots)(w[c], x[c], n, bright);
    ALL(lab_of_roots);
}
static void NAMED(from_lab)(Planes x, size_t n) { ALL(light_of_lab); }
static void NAMED(to_lch)(Planes x, size_t n) { NAMED(to_close_lab)(x, n), ALL(polar_of_lab); }
static void NAMED(from_lch)(Planes x, size_t n) { ALL(lab_of_polar), ALL(light_of_lab); }
static void NAMED(to_luv)(Planes x, size_t n) { ALL(luv_of_light); }
static void NAMED(from_luv)(Planes x, size_t n) { ALL(light_of_luv); }
static void NAMED(to_hsv)(Planes x, size_t n) { ALL(hsv_of_rgb); }
static void NAMED(from_hsv)(Planes x, size_t n) { ALL(rgb_of_hsv); }
static void NAMED(to_hsi)(Planes x, size_t n) { ALL(hsi_of_rgb); }
static void NAMED(from_hsi)(Planes x, size_t n) { ALL(rgb_of_hsi); }
static void NAMED(to_hed)(Planes x, size_t n) { ALL(hed_of_density); }
static void NAMED(from_hed)(Planes x, size_t n) { ALL(density_of_hed); }
static void NAMED(to_lalphabeta)(Planes x, size_t n) { ALL(cones_of_rgb), EACH(to_cone), ALL(axes_of_cones); }
static void NAMED(from_lalphabeta)(Planes x, size_t n) { ALL(cones_of_axes), EACH(from_cone), ALL(rgb_of_cones); }

#undef Planes
#undef Colour
#undef Hexagon
#undef DEFINE_CHANNEL
#undef DEFINE_COLOURS
#undef EACH
#undef ALL
