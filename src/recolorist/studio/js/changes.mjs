// The sampler own_style: a change of the content's own style, drawn and applied as the library does, with the same bits.

import { naturalLog, powerOfE } from "./exact.mjs";
import { compose, eigenSymmetric, multiply, multiplyVector, symmetrised } from "./matrices.mjs";
import { drawNormal } from "./normals.mjs";

/** @typedef {import("./matrices.mjs").Matrix} Matrix */
/** @typedef {import("./moments.mjs").Moments} Moments */

/**
 * @typedef {object} Change
 * @property {number[]} step added to the means, in a range from 0 to 1
 * @property {number[]} gains factors on the deviations, for methods that do not mix channels
 * @property {Matrix} matrix symmetric, for the method covariance
 */

/** How large changes are: what turns normal numbers into a step, and the deviations of the logarithms of gains. @typedef {{ root: Matrix, deviations: number[] }} Sizes */

const LEAST = 0.1, MIX = 0.1; // the library's defaults; its `scale` of 1 changes nothing
const FLAT = 1e-6, MOST_LOGARITHM = 3, LEAST_MEAN = 0.02, MOST_MEAN = 0.98;

/**
 * The sum of rows, in their order.
 * @param {number[][]} rows
 */
const sumRows = (rows) => rows.reduce((sum, row) => sum.map((value, c) => value + row[c]));

/** @param {number[][]} rows */
function deviationsOf(rows) {
  const mean = sumRows(rows).map((sum) => sum / rows.length);
  return rows.map((row) => row.map((value, c) => value - mean[c]));
}

/**
 * As large as the styles of a bank differ.
 * @param {{ moments: Moments }[]} styles
 * @returns {Sizes}
 */
export function changeSizes(styles) {
  const means = deviationsOf(styles.map(({ moments }) => moments.mean));
  const products = [0, 1, 2].map((i) => sumRows(means.map((row) => row.map((value) => row[i] * value))).map((sum) => sum / Math.max(1, styles.length - 1)));
  const { values, vectors } = eigenSymmetric(products);
  const logarithms = deviationsOf(styles.map(({ moments }) => moments.cov.map((row, c) => naturalLog(Math.max(Math.sqrt(row[c]), FLAT)))));
  const spread = sumRows(logarithms.map((row) => row.map((value) => value * value))).map((sum) => Math.sqrt(sum / styles.length));
  return {
    root: compose(vectors, values.map((value) => Math.max(Math.sqrt(Math.max(value, 0)), LEAST))),
    deviations: spread.map((value) => Math.max(value, LEAST)),
  };
}

/**
 * @param {Sizes} sizes
 * @param {import("./draws.mjs").Stream} stream
 * @returns {Change}
 */
export function drawChange({ root, deviations }, stream) {
  const numbers = Array.from({ length: 9 }, () => drawNormal(stream));
  const [red, green, blue] = deviations.map((deviation, c) => deviation * numbers[3 + c]);
  const [first, second, third] = numbers.slice(6).map((number) => MIX * number);
  return {
    step: multiplyVector(root, numbers.slice(0, 3)),
    gains: exponential([[red, 0, 0], [0, green, 0], [0, 0, blue]]).map((row, c) => row[c]),
    matrix: exponential([[red, first, second], [first, green, third], [second, third, blue]]),
  };
}

/**
 * e to the power of a symmetric matrix, whose eigenvalues are limited.
 * @param {Matrix} matrix
 * @returns {Matrix}
 */
function exponential(matrix) {
  const { values, vectors } = eigenSymmetric(matrix);
  return symmetrised(compose(vectors, values.map((value) => powerOfE(Math.min(Math.max(value, -MOST_LOGARITHM), MOST_LOGARITHM)))));
}

/**
 * The style of a content after a change, reduced to what an image can have.
 * @param {Moments} content in levels of 0 to 255
 * @param {Change} change
 * @param {string} method
 * @returns {Moments} in levels
 */
export function changedStyle({ count, mean: own, cov }, { step, gains, matrix }, method) {
  const mean = own.map((value, c) => Math.min(Math.max(value + step[c] * 255, Math.min(LEAST_MEAN * 255, value)), Math.max(MOST_MEAN * 255, value)));
  const changed = method === "covariance"
    ? symmetrised(multiply(multiply(matrix, cov), matrix))
    : cov.map((row, i) => row.map((value, j) => value * (gains[i] * gains[j])));
  const share = mean.reduce((least, value, c) => {
    const most = Math.max(0, value * (255 - value));
    return changed[c][c] > most ? Math.min(least, most / changed[c][c]) : least;
  }, 1);
  return { count, mean, cov: changed.map((row) => row.map((value) => value * share)) };
}
