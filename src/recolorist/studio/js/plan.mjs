// Planning, as in plan.py: from the moments of two images to one affine map. Same rules, same order of operations.

import { pythonFloat } from "./exact.mjs";
import { compose, eigenSymmetric, entrywise, IDENTITY, multiply, multiplyVector, scaleColumns, transpose } from "./matrices.mjs";
import { deviations } from "./moments.mjs";

/** @typedef {import("./matrices.mjs").Matrix} Matrix */
/** @typedef {import("./moments.mjs").Moments} Moments */

/**
 * A colour space, its numbers taken from the library when the page is made.
 * @typedef {object} Space
 * @property {string} name
 * @property {string[]} channels
 * @property {Linear | null} linear null where pixels have to be converted
 */

/**
 * @typedef {object} Linear
 * @property {Matrix} basis rows up to scale: all that mean–std matching sees
 * @property {Matrix} basisInverse
 * @property {Matrix} rows the conversion without its offset
 * @property {Matrix} inverse
 * @property {Matrix} whole the basis as whole numbers, for ranking
 * @property {number} denominator what the basis was multiplied by
 */

/**
 * @typedef {object} Plan
 * @property {Matrix} matrix
 * @property {number[]} offset
 * @property {number[]} gain per channel of the space
 * @property {string[][]} flags per channel of the space
 * @property {"mean_std" | "covariance"} method
 * @property {string} space
 * @property {number} strength
 * @property {number} maxGain
 * @property {number} dataRange 255, or 1 where the numbers are in the units of a space that is not linear
 * @property {number[]} contentMean
 * @property {number[]} contentStd
 * @property {number[]} styleMean
 * @property {number[]} styleStd
 */

/** A mixed channel with this small a share of its terms' variance is flat but for rounding. */
const NOISE = 1e-13;

/**
 * @param {Moments} content
 * @param {Moments} style
 * @param {{ method: "mean_std" | "covariance", strength: number, maxGain: number }} options
 * @param {Space} space
 * @returns {Plan}
 */
export function decide(content, style, options, space) {
  const { method, strength, maxGain } = options;
  const linear = space.name === "rgb" ? null : space.linear;
  let decided;
  if (method === "covariance") decided = byCovariance(content, style, linear, strength, maxGain);
  else if (linear) decided = byMixedDeviation(content, style, linear, strength, maxGain);
  else decided = byDeviation(content, style, strength, maxGain);
  if ((method === "covariance" || linear) && alike(content.cov, style.cov) && alike([content.mean], [style.mean])) {
    // an image matched to itself stays as it is, also where a flat channel has no gain to be 1
    decided = { matrix: IDENTITY, offset: [0, 0, 0], gain: [1, 1, 1], flags: decided.flags };
  }
  return {
    ...decided,
    method, space: space.name, strength, maxGain, dataRange: space.linear ? 255 : 1,
    contentMean: content.mean, contentStd: deviations(content), styleMean: style.mean, styleStd: deviations(style),
  };
}

/**
 * The factor for one channel and its flags; the rule every route shares.
 * @param {number} contentVariance
 * @param {number} styleVariance
 * @param {number} maxGain
 * @returns {[number, string[]]}
 */
export function gainOf(contentVariance, styleVariance, maxGain) {
  if (contentVariance === 0) return [0, ["flat"]];
  if (styleVariance === 0) return [0, ["collapsed"]];
  const deviation = Math.sqrt(contentVariance);
  if (Math.sqrt(styleVariance) > maxGain * deviation) return [maxGain, ["gain_capped"]];
  return [Math.sqrt(styleVariance) / deviation, []];
}

/**
 * Whether two matrices hold the same numbers.
 * @param {Matrix} a
 * @param {Matrix} b
 */
function alike(a, b) {
  return a.every((row, i) => row.every((value, j) => value === b[i][j]));
}

/**
 * Mean and standard deviation, each channel by itself: three lines.
 * @param {Moments} content
 * @param {Moments} style
 * @param {number} strength
 * @param {number} maxGain
 */
function byDeviation(content, style, strength, maxGain) {
  /** @type {number[]} */
  const gain = [];
  const offset = [], flags = [];
  const same = content.mean.every((mean, c) => mean === style.mean[c] && content.cov[c][c] === style.cov[c][c]);
  for (let c = 0; c < 3; c++) {
    let [factor, flag] = gainOf(content.cov[c][c], style.cov[c][c], maxGain);
    let shift = style.mean[c] - factor * content.mean[c];
    if (same) [factor, shift] = [1, 0]; // matched to itself it stays as it is, also where it is flat
    if (strength < 1) { // full strength is left untouched by the rounding of this blend
      factor = 1 + strength * (factor - 1);
      shift = strength * shift;
    }
    gain.push(factor);
    offset.push(shift);
    flags.push(flag);
  }
  const matrix = IDENTITY.map((row, i) => row.map((_, j) => (i === j ? gain[i] : 0)));
  return { matrix, offset, gain, flags };
}

/**
 * Mean–std matching in a linear space: M⁻¹ D M, with the gains D of that space. Every product and sum is in the library's order.
 * @param {Moments} content
 * @param {Moments} style
 * @param {Linear} space
 * @param {number} strength
 * @param {number} maxGain
 */
function byMixedDeviation(content, style, space, strength, maxGain) {
  const styleVariances = variances(style.cov, space.basis);
  const decided = variances(content.cov, space.basis).map((variance, i) => gainOf(variance, styleVariances[i], maxGain));
  const change = decided.map(([gain]) => strength * (gain - 1));
  // identity plus a change, so that equal deviations give exactly the identity
  const matrix = entrywise(IDENTITY, multiply(scaleColumns(space.basisInverse, change), space.basis), (x, y) => x + y);
  const offset = offsetOf(matrix, content, style, strength);
  return { matrix, offset, gain: change.map((value) => 1 + value), flags: decided.map(([, flag]) => flag) };
}

/**
 * The Monge–Kantorovich map: of all linear maps that give the style's covariance, the one that moves least.
 * @param {Moments} content
 * @param {Moments} style
 * @param {Linear | null} space null for RGB, and where the moments are those of the space
 * @param {number} strength
 * @param {number} maxGain
 */
function byCovariance(content, style, space, strength, maxGain) {
  const rows = space ? space.rows : IDENTITY;
  const styleVariances = variances(style.cov, space && rows);
  let flags = variances(content.cov, space && rows).map((variance, i) => gainOf(variance, styleVariances[i], Infinity)[1]);
  const inSpace = (/** @type {Matrix} */ cov) => (space ? multiply(multiply(rows, cov), transpose(rows)) : cov);
  const { move, capped } = alike(content.cov, style.cov)
    ? { move: IDENTITY, capped: false }
    : optimalTransport(inSpace(content.cov), inSpace(style.cov), maxGain);
  if (capped) flags = flags.map((channel) => [...channel, "gain_capped"]);
  const change = entrywise(move, IDENTITY, (x, y) => strength * (x - y));
  const inRgb = space ? multiply(multiply(space.inverse, change), rows) : change;
  const matrix = entrywise(IDENTITY, inRgb, (x, y) => x + y);
  const offset = offsetOf(matrix, content, style, strength);
  return { matrix, offset, gain: change.map((row, i) => 1 + row[i]), flags };
}

/**
 * What carries the content's mean to its goal: the style's, or at part strength a point on the way there.
 * @param {Matrix} matrix
 * @param {Moments} content
 * @param {Moments} style
 * @param {number} strength
 */
function offsetOf(matrix, content, style, strength) {
  const moved = multiplyVector(matrix, content.mean);
  return content.mean.map((mean, i) => (strength === 1 ? style.mean[i] : mean + strength * (style.mean[i] - mean)) - moved[i]);
}

/**
 * Σc^-½ (Σc^½ Σs Σc^½)^½ Σc^-½ on the directions in which the content varies, zero on the others.
 * @param {Matrix} content
 * @param {Matrix} style
 * @param {number} maxGain
 * @returns {{ move: Matrix, capped: boolean }}
 */
function optimalTransport(content, style, maxGain) {
  const { values: spread, vectors: axes } = eigenSymmetric(content);
  const root = rootsOf(spread);
  const half = compose(axes, root), unhalf = compose(axes, root.map((value) => (value > 0 ? 1 / value : 0)));
  const middle = eigenSymmetric(multiply(multiply(half, style), half));
  const middleRoot = compose(middle.vectors, rootsOf(middle.values));
  const { values: factors, vectors } = eigenSymmetric(multiply(multiply(unhalf, middleRoot), unhalf));
  const held = factors.map((value) => (value < 0 ? 0 : Math.min(value, maxGain)));
  return { move: compose(vectors, held), capped: factors.some((value) => value > maxGain) };
}

/**
 * Square roots of eigenvalues; what is rounding noise beside the largest becomes exactly zero.
 * @param {number[]} spread
 */
function rootsOf(spread) {
  const least = Math.max(...spread) * NOISE;
  return spread.map((value) => (value > least ? Math.sqrt(value) : 0));
}

/**
 * Variance of each channel of the space, nine terms from left to right as the library adds them; rounding noise becomes exactly zero.
 * @param {Matrix} cov
 * @param {Matrix | null} rows
 * @returns {number[]}
 */
function variances(cov, rows) {
  if (rows === null) return cov.map((row, i) => row[i]);
  return rows.map((row) => {
    let variance = 0, scale = 0;
    for (let j = 0; j < 3; j++) {
      for (let k = 0; k < 3; k++) variance += row[j] * cov[j][k] * row[k];
      scale += Math.abs(row[j]) * Math.sqrt(cov[j][j]);
    }
    return variance > NOISE * scale * scale ? variance : 0;
  });
}

/**
 * Whether each output channel depends on its own input channel alone.
 * @param {Plan} plan
 */
export function isDiagonal(plan) {
  return plan.matrix.every((row, i) => row.every((value, j) => i === j || value === 0));
}

/**
 * Whether it leaves every image as it is.
 * @param {Plan} plan
 */
export function isIdentity(plan) {
  return alike(plan.matrix, IDENTITY) && plan.offset.every((value) => value === 0);
}

/**
 * The plan as Plan.to_json writes it, character for character.
 * @param {Plan} plan
 * @returns {string}
 */
export function planJson(plan) {
  const vector = (/** @type {number[]} */ values) => `[${values.map(pythonFloat).join(", ")}]`;
  const entries = {
    format: '"recolorist.plan/1"',
    matrix: `[${plan.matrix.map(vector).join(", ")}]`,
    offset: vector(plan.offset),
    gain: vector(plan.gain),
    flags: `[${plan.flags.map((channel) => `[${channel.map((flag) => `"${flag}"`).join(", ")}]`).join(", ")}]`,
    method: `"${plan.method}"`,
    space: `"${plan.space}"`,
    strength: pythonFloat(plan.strength),
    max_gain: pythonFloat(plan.maxGain),
    eps_mode: '"exact"',
    data_range: pythonFloat(plan.dataRange),
    content_mean: vector(plan.contentMean),
    content_std: vector(plan.contentStd),
    style_mean: vector(plan.styleMean),
    style_std: vector(plan.styleStd),
  };
  return `{${Object.entries(entries).map(([name, value]) => `"${name}": ${value}`).join(", ")}}`;
}
