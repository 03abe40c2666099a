// Small dense matrices. Sums run in index order, so every machine gets the same bits.

/** @typedef {number[][]} Matrix */

/** @type {Matrix} */
export const IDENTITY = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

/**
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {Matrix}
 */
export function multiply(a, b) {
  return a.map((row) => b[0].map((_, j) => row.reduce((sum, value, k) => (k ? sum + value * b[k][j] : value * b[0][j]), 0)));
}

/**
 * @param {Matrix} a
 * @param {number[]} x
 * @returns {number[]}
 */
export function multiplyVector(a, x) {
  return a.map((row) => row.reduce((sum, value, k) => (k ? sum + value * x[k] : value * x[0]), 0));
}

/**
 * @param {Matrix} a
 * @returns {Matrix}
 */
export function transpose(a) {
  return a[0].map((_, j) => a.map((row) => row[j]));
}

/**
 * Each column times its own factor: `a · diag(factors)`.
 * @param {Matrix} a
 * @param {number[]} factors
 * @returns {Matrix}
 */
export function scaleColumns(a, factors) {
  return a.map((row) => row.map((value, j) => value * factors[j]));
}

/**
 * The matrix of these eigenvectors, as columns, and eigenvalues.
 * @param {Matrix} vectors
 * @param {number[]} values
 * @returns {Matrix}
 */
export function compose(vectors, values) {
  return multiply(scaleColumns(vectors, values), transpose(vectors));
}

/**
 * The mean of a matrix and its transpose.
 * @param {Matrix} a
 * @returns {Matrix}
 */
export function symmetrised(a) {
  return entrywise(a, transpose(a), (x, y) => (x + y) / 2);
}

/**
 * Entry by entry.
 * @param {Matrix} a
 * @param {Matrix} b
 * @param {(x: number, y: number) => number} combine
 * @returns {Matrix}
 */
export function entrywise(a, b, combine) {
  return a.map((row, i) => row.map((value, j) => combine(value, b[i][j])));
}

/**
 * Eigenvalues and, as columns, eigenvectors of the mean of a matrix and its transpose, by Jacobi's rotations: the operations of
 * _kernels_transport.h in their order.
 * @param {Matrix} matrix
 * @returns {{ values: number[], vectors: Matrix }}
 */
export function eigenSymmetric(matrix) {
  const a = symmetrised(matrix);
  const vectors = IDENTITY.map((row) => [...row]);
  for (let sweep = 0; sweep < 60; sweep++) {
    if (a[0][1] === 0 && a[0][2] === 0 && a[1][2] === 0) break;
    rotate(a, vectors, 0, 1);
    rotate(a, vectors, 0, 2);
    rotate(a, vectors, 1, 2);
  }
  return { values: a.map((row, i) => row[i]), vectors };
}

/**
 * One rotation that makes a[p][q] zero.
 * @param {Matrix} a changed
 * @param {Matrix} vectors changed
 * @param {number} p
 * @param {number} q
 */
function rotate(a, vectors, p, q) {
  const off = a[p][q];
  if (Math.abs(off) <= 1e-30 * (Math.abs(a[p][p]) + Math.abs(a[q][q]))) {
    a[p][q] = a[q][p] = 0; // far below the last bit of either diagonal entry
    return;
  }
  const ratio = (a[q][q] - a[p][p]) / (2 * off);
  const tangent = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.sqrt(ratio * ratio + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1), sine = tangent * cosine, step = tangent * off;
  const r = 3 - p - q; // the third index
  const [rp, rq] = [a[r][p], a[r][q]];
  [a[p][p], a[q][q]] = [a[p][p] - step, a[q][q] + step];
  a[p][q] = a[q][p] = 0;
  a[r][p] = a[p][r] = cosine * rp - sine * rq;
  a[r][q] = a[q][r] = sine * rp + cosine * rq;
  for (const row of vectors) [row[p], row[q]] = [cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]];
}
