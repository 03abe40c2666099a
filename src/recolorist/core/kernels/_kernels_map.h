/* An affine map, and how its outputs are clipped and rounded. */

typedef struct {
    double low, high; /* outputs are clipped to this interval */
    int channels;
    const double *gain, *offset; /* gain: `channels` values (diagonal) or `channels` squared (full matrix) */
} Map;

/* Round half to even for any |v| < 2^51; integers are clipped first, so this always holds. Unlike rint() it vectorises
 * on every processor. NaN cannot come here: plans are finite. */
#define HALF_EVEN(v) (((v) + 6755399441055744.0) - 6755399441055744.0)

/* Two plain selections, not one nested: that is the form compilers turn into min and max instructions. */
static inline double clip(double v, double low, double high)
{
    v = v < low ? low : v;
    return v > high ? high : v;
}

#define TO_INTEGER(v) (int32_t) HALF_EVEN(v)
#define AS_IT_IS(v) (v)
