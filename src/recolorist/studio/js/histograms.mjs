// Histograms of 8-bit images, and matching by cumulative histogram as in histograms.py, with NumPy's interpolation.

import { roundHalfEven } from "./exact.mjs";

/**
 * Counts of the 256 levels of R, G and B, over all pixels or those inside the mask.
 * @param {Int32Array} pixels
 * @param {Uint8Array | null} mask
 * @returns {Uint32Array[]}
 */
export function countLevels(pixels, mask) {
  const red = new Uint32Array(256), green = new Uint32Array(256), blue = new Uint32Array(256);
  for (let i = 0; i < pixels.length; i++) {
    const p = pixels[i], inside = mask === null ? 1 : mask[i];
    red[p & 255] += inside;
    green[(p >>> 8) & 255] += inside;
    blue[(p >>> 16) & 255] += inside;
  }
  return [red, green, blue];
}

/**
 * Linear interpolation as numpy.interp does it: the same formula in the same order; beyond the ends, the end values.
 * @param {number} x
 * @param {number[]} xs ascending
 * @param {number[]} ys
 * @returns {number}
 */
export function interpolate(x, xs, ys) {
  const last = xs.length - 1;
  if (x < xs[0]) return ys[0];
  if (x >= xs[last]) return ys[last];
  let low = 0, high = last; // xs[low] <= x < xs[high]
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  if (xs[low] === x) return ys[low];
  const slope = (ys[low + 1] - ys[low]) / (xs[low + 1] - xs[low]);
  return slope * (x - xs[low]) + ys[low];
}

/**
 * @param {Uint32Array} counts
 * @returns {{ levels: number[], shares: number[], mean: number }} occupied levels, their cumulative shares, and the mean
 */
function cumulative(counts) {
  /** @type {number[]} */
  const levels = [];
  /** @type {number[]} */
  const running = [];
  let total = 0, weighted = 0;
  counts.forEach((count, level) => {
    if (!count) return;
    total += count;
    weighted += level * count;
    levels.push(level);
    running.push(total);
  });
  return { levels, shares: running.map((sum) => sum / total), mean: weighted / total };
}

/**
 * Where each of the 256 levels goes: to the style's level of the same cumulative share. A flat channel goes to the style's mean.
 * @param {Uint32Array} counts
 * @param {Uint32Array} styleCounts
 * @returns {number[]}
 */
export function levelTable(counts, styleCounts) {
  const content = cumulative(counts), style = cumulative(styleCounts);
  const flat = content.levels.length === 1;
  const curve = flat ? [style.mean] : content.shares.map((share) => interpolate(share, style.shares, style.levels));
  return Array.from(counts, (_, level) => interpolate(level, content.levels, curve));
}

/**
 * The table blended with leaving levels alone, rounded and held in 0 to 255.
 * @param {number[]} table
 * @param {number} strength
 * @returns {Int32Array}
 */
export function blendTable(table, strength) {
  return Int32Array.from(table, (goal, level) => {
    const blended = strength < 1 ? level + strength * (goal - level) : goal;
    return Math.min(Math.max(roundHalfEven(blended), 0), 255);
  });
}
