/* The first number of one of NumPy's random streams (Philox 4x64 with ten rounds; Salmon and others 2011): enough to know whether an image
 * is changed at all, without setting up a generator. fallback_philox.py holds the same. */

static uint64_t high_product(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xFFFFFFFFu);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* first_random(seed, purpose, index, epoch) -> from 0 to below 1: the key is (seed, purpose), the counter (1, index, epoch, 0) */
static PyObject *py_first_random(PyObject *self, PyObject *args)
{
    static const uint64_t factors[2] = {0xD2E7470EE14C6C93u, 0xCA5A826395121157u}, steps[2] = {0x9E3779B97F4A7C15u, 0xBB67AE8584CAA73Bu};
    unsigned long long key[2], index, epoch;
    if (!PyArg_ParseTuple(args, "KKKK", key, key + 1, &index, &epoch)) return NULL;
    uint64_t a = 1, b = index, c = epoch, d = 0;
    for (int round = 0; round < 10; round++) {
        const uint64_t first = high_product(factors[0], a), second = high_product(factors[1], c);
        const uint64_t low_a = factors[0] * a, low_c = factors[1] * c;
        a = second ^ b ^ key[0], b = low_c, c = first ^ d ^ key[1], d = low_a;
        key[0] += steps[0], key[1] += steps[1];
    }
    return PyFloat_FromDouble((double)(a >> 11) * (1.0 / 9007199254740992.0));
}
