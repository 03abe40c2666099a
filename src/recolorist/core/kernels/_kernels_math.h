/* Roots, logarithms, powers and angles for the colour spaces that are not linear. Nothing is left to the machine's library: only
 * + - * / and sqrt in the order written here, and the two halves of a float64, so that C, NumPy and JavaScript give the same bits.
 * fallback_math.py holds the same functions; docs/method.md describes them. All are free of branches, so that loops vectorise.
 * Relative errors are below 1e-13. */

#define TWO_52 4503599627370496.0   /* a float64 from here on has no binary places */
#define THREE_51 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to a whole number, also a negative one */

static inline uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* First guess of v^(-1/k) for v > 0: the upper half of the number, taken as a whole number, is close to a logarithm. */
static inline double guess_root(double v, double start, double share)
{
    double upper = from_bits(bits_of(v) >> 32 | 0x4330000000000000u) - TWO_52;
    return from_bits(bits_of((start - upper * share) + TWO_52) << 32);
}

/* v^(-1/3): with h = 1 - v r^3, the series of (1 - h)^(-1/3), four terms and then three. */
static inline double inverse_cube_root(double v)
{
    double r = guess_root(v, 1430186346.0, 0.3333333333333333);
    double h = 1.0 - (r * r) * (v * r);
    r = r + (r * h) * ((0.3333333333333333 + h * 0.2222222222222222) + (h * h) * 0.1728395061728395);
    h = 1.0 - (r * r) * (v * r);
    return r + (r * h) * (0.3333333333333333 + h * 0.2222222222222222);
}

static inline double cube_root(double v)
{
    double r = inverse_cube_root(v);
    return (v * r) * r;
}

/* v^(-1/5), likewise, four terms twice. */
static inline double inverse_fifth_root(double v)
{
    double r = guess_root(v, 1287167063.0, 0.2);
    double q = r * r, h = 1.0 - (q * q) * (v * r);
    r = r + (r * h) * ((0.2 + h * 0.12) + (h * h) * 0.088);
    q = r * r, h = 1.0 - (q * q) * (v * r);
    return r + (r * h) * ((0.2 + h * 0.12) + (h * h) * 0.088);
}

/* ln v for v > 0: v = 2^e m with m from 0.7071 to 1.4142; ln m = 2 artanh s with s = (m - 1) / (m + 1). */
static inline double natural_log(double v)
{
    uint64_t bits = bits_of(v);
    uint64_t power = (bits + 0x00195F6200000000u) >> 52;
    double e = from_bits(power | 0x4330000000000000u) - (TWO_52 + 1024.0);
    double m = from_bits(bits - (power << 52) + 0x4000000000000000u);
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 0.18121922003893642 + z * 0.16837813568898644;
    p = 0.2857141601597565 + z * (0.22223434921408206 + z * p);
    p = 2.0 + z * (0.6666666666655285 + z * (0.40000000061773056 + z * p));
    return e * 0.6931471805599453 + s * p;
}

/* e^v for v from -700 to 700: v = k ln 2 + r, and e^r = 1 + r q(r). */
static inline double power_of_e(double v)
{
    double t = v * 1.4426950408889634 + THREE_51, k = t - THREE_51;
    double r = (v - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
    double q = 2.4801521057868204e-05 + r * (2.7632791582662333e-06 + r * 2.7620201591031547e-07);
    q = 0.008333333367516108 + r * (0.0013888888917367081 + r * (0.00019841190330031338 + r * q));
    q = 0.5000000000000001 + r * (0.16666666666615237 + r * (0.041666666666623824 + r * q));
    return (1.0 + r * (1.0 + r * q)) * from_bits((bits_of(t) + 1023) << 52);
}

/* The angle of the point (x, y), from 0 to 2 pi; 0 at the origin. The smaller coordinate over the larger is a tangent below 1,
 * and turned back by pi / 8 it lies within 0.4142. */
static inline double angle_of(double y, double x)
{
    double ax = x < 0.0 ? -x : x, ay = y < 0.0 ? -y : y;
    double high = ax > ay ? ax : ay, low = ax > ay ? ay : ax;
    double below = high + 0.41421356237309503 * low;
    double t = (low - 0.41421356237309503 * high) / (below > 0.0 ? below : 1.0), z = t * t;
    double p = -0.08992528079362637 + z * (0.06974084047595203 + z * -0.03765307369056794);
    p = 0.19999993049762435 + z * (-0.1428538640718612 + z * (0.11103454236491274 + z * p));
    p = 1.0 + z * (-0.3333333327688608 + z * p);
    double a = 0.39269908169872414 + t * p;
    a = a > 0.0 ? a : 0.0;
    a = ay > ax ? 1.5707963267948966 - a : a;
    a = x < 0.0 ? 3.141592653589793 - a : a;
    a = y < 0.0 ? 6.283185307179586 - a : a;
    return high > 0.0 ? a : 0.0;
}

/* Cosine and sine of an angle: a multiple n of pi / 2, whose last bits say which way, and a rest within pi / 4. */
static inline void cosine_and_sine(double angle, double *cosine, double *sine)
{
    double t = angle * 0.6366197723675814 + THREE_51, n = t - THREE_51;
    double r = (angle - n * 1.5707963267341256) - n * 6.077100506506192e-11, z = r * r;
    double c = -0.0013888880342838477 + z * (2.479891815008481e-05 + z * -2.7172666562783097e-07);
    c = 1.0 + z * (-0.4999999999934461 + z * (0.04166666654292815 + z * c));
    double s = -0.00019841263259141957 + z * (2.755526372174464e-06 + z * -2.4755970636461245e-08);
    s = r * (1.0 + z * (-0.16666666666616184 + z * (0.008333333323802407 + z * s)));
    uint64_t quarter = bits_of(t);
    double first = quarter & 1 ? s : c, second = quarter & 1 ? c : s;
    *cosine = from_bits(bits_of(first) ^ ((quarter + 1) & 2) << 62); /* the sign */
    *sine = from_bits(bits_of(second) ^ (quarter & 2) << 62);
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
