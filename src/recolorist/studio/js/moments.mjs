// Count, mean and covariance of an image, exact: integer sums first, one division at the end.

import { divideExactly } from "./exact.mjs";

/**
 * @typedef {object} Moments
 * @property {number} count
 * @property {number[]} mean levels 0 to 255
 * @property {number[][]} cov population covariance, 3 x 3
 */

/**
 * @typedef {object} Sums
 * @property {number} count
 * @property {number[]} linear sums of R, G, B
 * @property {number[]} products sums of RR, RG, RB, GG, GB, BB
 */

/** Pixels per block: 32768 · 255² is the largest sum of products that a 32-bit integer holds. */
const BLOCK = 32768;

/**
 * Exact sums over the pixels, or over those inside the mask. A double holds integers up to 2⁵³ exactly; 138 000 megapixels fit.
 * @param {Int32Array} pixels RGBA, red in the lowest byte; signed, because engines keep such words in registers
 * @param {Uint8Array | null} mask 1 inside
 * @param {Uint32Array[]} counts their histograms, which already tell all but the products of two channels
 * @returns {Sums}
 */
export function sumPixels(pixels, mask, counts) {
  const [[sr, rr], [sg, gg], [sb, bb]] = counts.map(sumsOfLevels);
  const cross = [0, 0, 0];
  for (let start = 0; start < pixels.length; start += BLOCK) {
    addCrossProducts(pixels, mask, start, Math.min(start + BLOCK, pixels.length), cross);
  }
  const [rg, rb, gb] = cross;
  return { count: counts[0].reduce((sum, count) => sum + count, 0), linear: [sr, sg, sb], products: [rr, rg, rb, gg, gb, bb] };
}

/**
 * @param {Int32Array} pixels
 * @param {Uint8Array | null} mask
 * @param {number} start
 * @param {number} end
 * @param {number[]} cross sums of RG, RB, GB, added to
 */
function addCrossProducts(pixels, mask, start, end, cross) {
  let rg = 0, rb = 0, gb = 0;
  for (let i = start; i < end; i++) {
    const p = mask === null ? pixels[i] : pixels[i] & -mask[i]; // outside counts as black, which adds nothing
    const r = p & 255, g = (p >>> 8) & 255, b = (p >>> 16) & 255;
    rg = (rg + Math.imul(r, g)) | 0;
    rb = (rb + Math.imul(r, b)) | 0;
    gb = (gb + Math.imul(g, b)) | 0;
  }
  [rg, rb, gb].forEach((sum, k) => (cross[k] += sum));
}

/**
 * Sum of the levels of one channel and of their squares.
 * @param {Uint32Array} counts
 * @returns {[number, number]}
 */
export function sumsOfLevels(counts) {
  let sum = 0, squares = 0;
  counts.forEach((count, level) => {
    sum += count * level;
    squares += count * level * level;
  });
  return [sum, squares];
}

/**
 * Integers to the nearest doubles, once.
 * @param {Sums} sums
 * @returns {Moments}
 */
export function momentsOf(sums) {
  const n = BigInt(sums.count);
  const linear = sums.linear.map(BigInt);
  const entry = (/** @type {number} */ i, /** @type {number} */ j, /** @type {number} */ k) =>
    divideExactly(n * BigInt(sums.products[k]) - linear[i] * linear[j], n * n);
  const upper = [entry(0, 0, 0), entry(0, 1, 1), entry(0, 2, 2), entry(1, 1, 3), entry(1, 2, 4), entry(2, 2, 5)];
  return { count: sums.count, mean: sums.linear.map((sum) => sum / sums.count), cov: fromUpperTriangle(upper) };
}

/**
 * Six numbers, row by row, to a symmetric matrix.
 * @param {number[]} u
 * @returns {number[][]}
 */
export function fromUpperTriangle(u) {
  return [[u[0], u[1], u[2]], [u[1], u[3], u[4]], [u[2], u[4], u[5]]];
}

/**
 * Moments in the unit range, as a bank stores them, in levels of 0 to 255; the same two products as Moments.rescaled.
 * @param {Moments} unit
 * @returns {Moments}
 */
export function inLevels(unit) {
  return {
    count: unit.count,
    mean: unit.mean.map((value) => value * 255),
    cov: unit.cov.map((row) => row.map((value) => value * (255 * 255))),
  };
}

/**
 * Moments in levels of 0 to 255 in the unit range; to show, since the way there and back may change the last bit.
 * @param {Moments} levels
 * @returns {Moments}
 */
export function inUnits({ count, mean, cov }) {
  return { count, mean: mean.map((value) => value / 255), cov: cov.map((row) => row.map((value) => value / 255 ** 2)) };
}

/**
 * Standard deviation per channel.
 * @param {Moments} moments
 * @returns {number[]}
 */
export function deviations(moments) {
  return moments.cov.map((row, i) => Math.sqrt(row[i]));
}
