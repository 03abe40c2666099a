/* The functions of _kernels_math.h in float32, for 8-bit images: a vector holds twice as many values. The same rules hold:
 * + - * / and square roots in the order written here, and whole numbers made of the bits. fallback_single.py holds the same
 * functions. Relative errors are below 3e-7. */

#define THREE_22 12582912.0f /* 1.5 * 2^23: adding it rounds to a whole number, also a negative one */

static inline int32_t bits_of_32(float v)
{
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float from_bits_32(int32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* v^(1/3) for v > 0: v r^2 for a guess r of v^(-1/3) that is improved twice. */
static inline float cube_root_32(float v)
{
    float r = from_bits_32(0x54A22800 - (int32_t)((float)bits_of_32(v) * 0.3333333432674408f));
    float h = 1.0f - (r * r) * (v * r);
    r = r + (r * h) * (0.3333333432674408f + h * 0.2222222238779068f);
    float c = (v * r) * r;
    h = 1.0f - c * r;
    return c + (c * h) * (0.6666666865348816f + h * 0.5555555820465088f);
}

static inline float natural_log_32(float v)
{
    int32_t bits = bits_of_32(v), power = (bits - 0x3F3504F3) >> 23;
    float m = from_bits_32((int32_t)((uint32_t)bits - ((uint32_t)power << 23)));
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float p = 2.0f + z * (0.666668176651001f + z * (0.3997473418712616f + z * 0.29927122592926025f));
    return (float)power * 0.6931471824645996f + s * p;
}

/* e^v for v from -87 to 88 */
static inline float power_of_e_32(float v)
{
    float k = (v * 1.4426950216293335f + THREE_22) - THREE_22;
    float r = (v - k * 0.693145751953125f) - k * 1.4286068202862268e-06f;
    float q = 0.04166637361049652f + r * (0.008363183587789536f + r * 0.001394112710841f);
    q = 0.5f + r * (0.16666576266288757f + r * q);
    return (1.0f + r * (1.0f + r * q)) * from_bits_32((int32_t)((uint32_t)((int32_t)k + 127) << 23));
}

static inline float angle_of_32(float y, float x)
{
    float ax = from_bits_32(bits_of_32(x) & 0x7FFFFFFF), ay = from_bits_32(bits_of_32(y) & 0x7FFFFFFF);
    float high = ax > ay ? ax : ay, low = ax > ay ? ay : ax;
    float below = high + 0.4142135679721832f * low;
    float t = (low - 0.4142135679721832f * high) / below, z = t * t;
    float p = 0.1997472494840622f + z * (-0.13854457437992096f + z * 0.0799364224076271f);
    float a = 0.39269909262657166f + t * (1.0f + z * (-0.3333280682563782f + z * p));
    a = a > 0.0f ? a : 0.0f;
    a = ay > ax ? 1.5707963705062866f - a : a;
    a = x < 0.0f ? 3.1415927410125732f - a : a;
    a = y < 0.0f ? 6.2831854820251465f - a : a;
    return high > 0.0f ? a : 0.0f;
}

static inline void cosine_and_sine_32(float angle, float *cosine, float *sine)
{
    float t = angle * 0.6366197466850281f + THREE_22, n = t - THREE_22;
    float r = ((angle - n * 1.5703125f) - n * 0.00048351287841796875f) - n * 3.138547639787314e-07f, z = r * r;
    float c = 1.0f + z * (-0.5f + z * (0.04166664928197861f + z * (-0.0013887601671740413f + z * 2.44649618252879e-05f)));
    float s = r * (1.0f + z * (-0.166666641831398f + z * (0.008332748897373676f + z * -0.00019588008581195027f)));
    uint32_t quarter = (uint32_t)bits_of_32(t);
    float first = quarter & 1 ? s : c, second = quarter & 1 ? c : s;
    *cosine = from_bits_32((int32_t)((uint32_t)bits_of_32(first) ^ ((quarter + 1) & 2) << 30)); /* the sign */
    *sine = from_bits_32((int32_t)((uint32_t)bits_of_32(second) ^ (quarter & 2) << 30));
}

/* HSI's angle, and back */
static inline float to_angle_32(float share)
{
    float u = 2.0f * share - 1.0f, t = u * u;
    float p = -0.0028688085731118917f + t * (0.0006538291927427053f + t * -9.714000043459237e-05f);
    p = 0.5513288974761963f + t * (-0.061257898807525635f + t * (0.012241121381521225f + t * p));
    float angle = 0.5f + u * p;
    return angle > 0.0f ? angle : 0.0f;
}

static inline float from_angle_32(float angle)
{
    float u = 2.0f * angle - 1.0f, t = u * u;
    float p = 0.00455082394182682f + t * (0.0004865191294811666f + t * 7.500789070036262e-05f);
    return 0.5f + u * (0.4534498453140259f + t * (0.041437774896621704f + t * p));
}
