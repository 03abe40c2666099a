// Histograms of 8-bit images, and matching by cumulative histogram as in histograms.py, with NumPy's interpolation.

import { roundHalfEven, sumPairwise } from "./exact.mjs";

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
 * One value for each level, or for each distinct colour.
 * @typedef {object} Channel
 * @property {Uint32Array} order their indices, in ascending order of value
 * @property {Float64Array} sorted the values in that order
 */

/**
 * @param {Float64Array} values
 * @param {import("./kernels.mjs").Kernels} kernels
 * @returns {Channel}
 */
export function inOrder(values, kernels) {
  const order = kernels.orderValues(values), sorted = new Float64Array(values.length);
  for (let k = 0; k < sorted.length; k++) sorted[k] = values[order[k]];
  return { order, sorted };
}

/** @type {Channel} */
const LEVELS = { order: Uint32Array.from({ length: 256 }, (_, i) => i), sorted: Float64Array.from({ length: 256 }, (_, i) => i) };

/**
 * Linear interpolation as numpy.interp does it: the same formula in the same order; beyond the ends, the end values.
 * @param {Float64Array} queries ascending, so that one walk finds all their places
 * @param {Float64Array} xs ascending
 * @param {Float64Array} ys
 * @returns {Float64Array}
 */
export function interpolate(queries, xs, ys) {
  const last = xs.length - 1, result = new Float64Array(queries.length);
  for (let i = 0, low = 0; i < queries.length; i++) {
    const x = queries[i];
    while (low < last && xs[low + 1] <= x) low++;
    if (low === last || x <= xs[low]) result[i] = ys[low]; // an exact hit, or beyond an end
    else {
      const slope = (ys[low + 1] - ys[low]) / (xs[low + 1] - xs[low]);
      result[i] = slope * (x - xs[low]) + ys[low];
    }
  }
  return result;
}

/**
 * The values that occur, ascending, and how many pixels have at most that value.
 * @param {Channel} channel
 * @param {Uint32Array} weights number of pixels with each value
 */
function cumulative({ order, sorted }, weights) {
  const levels = new Float64Array(order.length), running = new Float64Array(order.length);
  let last = -1, total = 0;
  for (let k = 0; k < order.length; k++) {
    const weight = weights[order[k]];
    if (weight === 0) continue;
    if (last < 0 || sorted[k] !== levels[last]) levels[++last] = sorted[k];
    running[last] = total += weight;
  }
  return { levels: levels.subarray(0, last + 1), running: running.subarray(0, last + 1), total };
}

/** @param {ReturnType<typeof cumulative>} given */
function sharesOf({ running, total }) {
  const shares = new Float64Array(running.length);
  for (let k = 0; k < shares.length; k++) shares[k] = running[k] / total;
  return shares;
}

/**
 * The mean, rounded as numpy.average rounds it.
 * @param {ReturnType<typeof cumulative>} given
 */
function meanOf({ levels, running, total }) {
  return sumPairwise(levels.map((level, k) => level * (k ? running[k] - running[k - 1] : running[0]))) / total;
}

/**
 * Whether a channel has one value but for rounding: the chroma of a grey image must not be spread over the style's.
 * @param {number} low
 * @param {number} high
 * @param {number} unit the number that stands for 1
 */
function isFlat(low, high, unit) {
  return high - low <= 1e-7 * Math.max(unit, Math.abs(low), Math.abs(high));
}

/**
 * Where each value goes: to the style's value of the same cumulative share. A flat channel goes to the style's mean; values that no
 * weighed pixel has are interpolated.
 * @param {Channel} channel
 * @param {Uint32Array} weights
 * @param {Channel} styleChannel
 * @param {Uint32Array} styleWeights
 * @param {number} unit the number that stands for 1, to tell a flat channel
 * @returns {{ goals: Float64Array, flags: string[] }}
 */
export function matchValues(channel, weights, styleChannel, styleWeights, unit = 1) {
  const content = cumulative(channel, weights), style = cumulative(styleChannel, styleWeights);
  const flat = isFlat(content.levels[0], content.levels[content.levels.length - 1], unit);
  if (flat) content.levels = content.levels.subarray(0, 1);
  const curve = flat ? Float64Array.of(meanOf(style)) : interpolate(sharesOf(content), sharesOf(style), style.levels);
  const ascending = interpolate(channel.sorted, content.levels, curve);
  const goals = new Float64Array(ascending.length);
  for (let k = 0; k < goals.length; k++) goals[channel.order[k]] = ascending[k];
  return { goals, flags: flat ? ["flat"] : style.levels.length === 1 ? ["collapsed"] : [] };
}

/**
 * The same for the 256 levels of an 8-bit channel.
 * @param {Uint32Array} counts
 * @param {Uint32Array} styleCounts
 */
export function matchLevels(counts, styleCounts) {
  return matchValues(LEVELS, counts, LEVELS, styleCounts);
}

/**
 * The table blended with leaving levels alone, rounded and held in 0 to 255.
 * @param {Float64Array} table
 * @param {number} strength
 * @returns {Int32Array}
 */
export function blendTable(table, strength) {
  return Int32Array.from(table, (goal, level) => {
    const blended = strength < 1 ? level + strength * (goal - level) : goal;
    return Math.min(Math.max(roundHalfEven(blended), 0), 255);
  });
}

/**
 * Give pixels exactly the style's histogram: the pixel of each rank takes the style's value of the same relative rank.
 * @param {import("./colours.mjs").Plane} plane
 * @param {number} width
 * @param {Uint8Array | null} mask
 * @param {Float64Array} style the values of the style that are measured
 * @param {import("./kernels.mjs").Kernels} kernels
 * @returns {{ goals: Float64Array, flags: string[] }}
 */
export function matchExactly({ values, unit }, width, mask, style, kernels) {
  const goals = values.slice(), taken = mask ? values.filter((_, i) => mask[i]) : values;
  const ranked = style.slice().sort();
  if (isFlat(...extremes(taken), unit)) {
    const mean = sumPairwise(style) / style.length;
    return { goals: goals.map((value, i) => (mask === null || mask[i] ? mean : value)), flags: ["flat"] };
  }
  const order = kernels.orderPixels(values, width, mask), count = order.length;
  for (let k = 0; k < count; k++) goals[order[k]] = ranked[Math.floor(((2 * k + 1) * ranked.length) / (2 * count))];
  return { goals, flags: ranked[0] === ranked[ranked.length - 1] ? ["collapsed"] : [] };
}

/**
 * @param {Float64Array} values
 * @returns {[number, number]}
 */
function extremes(values) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return [low, high];
}
