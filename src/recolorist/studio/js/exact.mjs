// Arithmetic that is exact in Python and has no built-in form in JavaScript: division of large integers, rounding, writing floats, and
// the library's own logarithm and exponential.

/** Adding and taking away 1.5 · 2⁵² rounds to a whole number, half to even, for any |v| < 2⁵¹: the trick of the library's C loops. */
const ROUNDER = 6755399441055744.0;

/**
 * Round half to even, as NumPy's rint.
 * @param {number} value
 * @returns {number}
 */
export function roundHalfEven(value) {
  return Math.abs(value) < 2251799813685248 ? value + ROUNDER - ROUNDER : value;
}

const LOG = [
  2, 0.6666666666655285, 0.40000000061773056, 0.2857141601597565, 0.22223434921408206, 0.18121922003893642, 0.16837813568898644,
];
const EXP = [
  1, 1, 0.5000000000000001, 0.16666666666615237, 0.041666666666623824, 0.008333333367516108, 0.0013888888917367081,
  0.00019841190330031338, 2.4801521057868204e-05, 2.7632791582662333e-06, 2.7620201591031547e-07,
];
const float = new Float64Array(1), halves = new Int32Array(float.buffer); // the second half is the upper one on every browser's machine

/**
 * c₀ + v (c₁ + v (c₂ + …)), from the inside out.
 * @param {number} v
 * @param {number[]} coefficients
 */
const polynomial = (v, coefficients) => coefficients.reduceRight((total, coefficient) => coefficient + v * total);

/**
 * ln v for v > 0, with the operations of _kernels_math.h in their order: browsers differ in the last bit of theirs.
 * @param {number} v
 * @returns {number}
 */
export function naturalLog(v) {
  float[0] = v;
  const power = (halves[1] - 0x3fe6a09e) >> 20;
  halves[1] -= power << 20;
  const m = float[0], s = (m - 1) / (m + 1);
  return power * 0.6931471805599453 + s * polynomial(s * s, LOG);
}

/**
 * e to the power of v for v from -700 to 700, likewise.
 * @param {number} v
 * @returns {number}
 */
export function powerOfE(v) {
  const k = v * 1.4426950408889634 + ROUNDER - ROUNDER, r = v - k * 0.6931471803691238 - k * 1.9082149292705877e-10;
  halves[0] = 0;
  halves[1] = (k + 1023) << 20;
  return polynomial(r, EXP) * float[0];
}

/** @param {bigint} value a positive number */
function bitLength(value) {
  const hex = value.toString(16);
  return 4 * hex.length - Math.clz32(Number.parseInt(hex[0], 16)) + 28;
}

/**
 * The double nearest to numerator / denominator, ties to even: what `int / int` gives in Python for integers of any size.
 * @param {bigint} numerator
 * @param {bigint} denominator positive
 * @returns {number}
 */
export function divideExactly(numerator, denominator) {
  if (numerator === 0n) return 0;
  if (numerator < 0n) return -divideExactly(-numerator, denominator);
  // 56 bits of the quotient, and one that says whether anything was left over: enough to round to 53 once and correctly
  const shift = 56 - (bitLength(numerator) - bitLength(denominator));
  const [top, bottom] = shift >= 0 ? [numerator << BigInt(shift), denominator] : [numerator, denominator << BigInt(-shift)];
  const quotient = top / bottom;
  const sticky = quotient * bottom === top ? 0n : 1n;
  return Number((quotient << 1n) | sticky) * 2 ** -(shift + 1);
}

/**
 * The sum as NumPy rounds it: halves down to 128 terms, which go into eight running sums.
 * @param {Float64Array} terms
 * @returns {number}
 */
export function sumPairwise(terms) {
  const count = terms.length;
  if (count < 8) return terms.reduce((sum, term) => sum + term, 0);
  if (count > 128) {
    const half = (count >> 1) - ((count >> 1) % 8);
    return sumPairwise(terms.subarray(0, half)) + sumPairwise(terms.subarray(half));
  }
  const whole = count - (count % 8), r = Array.from(terms.subarray(0, 8));
  for (let i = 8; i < whole; i++) r[i % 8] += terms[i];
  const sum = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  return terms.subarray(whole).reduce((total, term) => total + term, sum);
}

/**
 * A float as Python's repr writes it. Both languages choose the shortest digits that read back to the same number; they differ in
 * when they switch to an exponent, and Python always shows that it is a float.
 * @param {number} value
 * @returns {string}
 */
export function pythonFloat(value) {
  if (value === Infinity) return '"inf"'; // JSON has no infinity; Plan.from_json reads this one
  if (Object.is(value, -0)) return "-0.0";
  const [digits, exponent] = value.toExponential().split("e");
  const power = Number(exponent);
  if (value !== 0 && (power < -4 || power >= 16)) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const text = plainDigits(digits, power);
  return text.includes(".") ? text : `${text}.0`;
}

/**
 * Digits with the point moved, without an exponent.
 * @param {string} digits such as -1.25
 * @param {number} power
 */
function plainDigits(digits, power) {
  const sign = digits.startsWith("-") ? "-" : "";
  const all = digits.replace("-", "").replace(".", "");
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${all}`;
  const whole = all.slice(0, power + 1).padEnd(power + 1, "0");
  const rest = all.slice(power + 1);
  return sign + (rest ? `${whole}.${rest}` : whole);
}
