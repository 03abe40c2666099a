// Lost detail, patch by patch: the figures of detail.py in the library, where the definition is.

import { roundHalfEven } from "./exact.mjs";

/**
 * @typedef {object} DetailLoss
 * @property {number} rows of patches
 * @property {number} columns
 * @property {(number | null)[]} patches the share of its detail that each patch lost, row by row; null where there was none
 * @property {number} share of the patches with detail that lost more than half
 * @property {number} worst the largest share that a patch lost
 * @property {number[] | null} box left, top, right and bottom of that patch
 */

const PARTS = 16, LEAST = 8, GRID = 8, MOST = 256, FLOOR = 255 / 64, HALF = 0.5, WEAK = 0.5, ENOUGH = 16;

/**
 * @param {number} length
 * @param {number} side
 */
const countOf = (length, side) => Math.min(MOST, Math.max(1, Math.floor(length / side)));

/**
 * The pixels along one axis that stand for its patches.
 * @param {number} count
 * @param {number} length
 */
const placesOf = (count, length) =>
  Int32Array.from({ length: count * GRID }, (_, k) => Math.floor(((k + 0.5) * length) / (count * GRID)));

/** What a map would write into each channel of pixels without limits. @typedef {(pixels: Int32Array) => Float64Array[]} Expect */

/**
 * @param {{ content: Int32Array, output: Int32Array, mask: Uint8Array | null, width: number, expect: Expect | null }} change
 * @returns {DetailLoss}
 */
export function detailLoss({ content, output, mask, width, expect }) {
  const height = content.length / width, side = Math.max(LEAST, Math.min(height, width) / PARTS);
  const rows = countOf(height, side), columns = countOf(width, side);
  const numbers = sampledPixels(rows, columns, width, height);
  const before = numbers.map((i) => content[i]), after = numbers.map((i) => output[i]);
  const expected = expect ? expect(before) : null;
  /** @type {(number | null)[]} */
  const losses = [];
  for (let start = 0; start < numbers.length; start += GRID * GRID) {
    const places = Array.from({ length: GRID * GRID }, (_, k) => start + k).filter((k) => !mask || mask[numbers[k]]);
    losses.push(mask && places.length < ENOUGH ? null : patchLoss(places, before, after, expected));
  }
  return summarise(losses, rows, columns, width, height);
}

/**
 * The pixels that are compared, patch by patch.
 * @param {number} rows
 * @param {number} columns
 * @param {number} width
 * @param {number} height
 */
function sampledPixels(rows, columns, width, height) {
  const lines = placesOf(rows, height), places = placesOf(columns, width), numbers = new Int32Array(lines.length * places.length);
  let at = 0;
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      for (let y = 0; y < GRID; y++) {
        for (let x = 0; x < GRID; x++) numbers[at++] = lines[r * GRID + y] * width + places[c * GRID + x];
      }
    }
  }
  return numbers;
}

/**
 * The loss of the worst channel that has detail in a patch; null if none has.
 * @param {number[]} places
 * @param {Int32Array} source
 * @param {Int32Array} written
 * @param {Float64Array[] | null} expected
 */
function patchLoss(places, source, written, expected) {
  const levels = (/** @type {Int32Array} */ pixels, /** @type {number} */ c) => places.map((k) => (pixels[k] >>> (8 * c)) & 255);
  const channels = [0, 1, 2].map((c) => levels(source, c));
  const variances = channels.map((before) => covariance(before, before));
  const least = Math.max(FLOOR * FLOOR, WEAK * WEAK * Math.max(...variances));
  let worst = null;
  for (let c = 0; c < 3; c++) {
    if (variances[c] < least) continue;
    const after = levels(written, c), aim = expected ? places.map((k) => expected[c][k]) : channels[c];
    const goal = covariance(aim, aim), variance = covariance(after, after);
    const spread = Math.sqrt(goal * (expected ? Math.max(goal, variance) : variance));
    const kept = spread > 0 ? Math.abs(covariance(aim, after)) / spread : 0;
    worst = Math.max(worst ?? 0, Math.min(1, Math.max(0, 1 - kept)));
  }
  return worst;
}

/**
 * @param {number[]} first
 * @param {number[]} second
 */
function covariance(first, second) {
  let product = 0, a = 0, b = 0;
  for (let i = 0; i < first.length; i++) {
    product += first[i] * second[i];
    a += first[i];
    b += second[i];
  }
  const count = first.length, mean = product / count, value = mean - (a / count) * (b / count);
  return Math.abs(value) > 1e-12 * Math.abs(mean) ? value : 0;
}

/**
 * @param {(number | null)[]} losses
 * @param {number} rows
 * @param {number} columns
 * @param {number} width
 * @param {number} height
 * @returns {DetailLoss}
 */
function summarise(losses, rows, columns, width, height) {
  let place = -1, lost = 0, detailed = 0;
  losses.forEach((loss, i) => {
    if (loss === null) return;
    detailed++;
    if (loss > HALF) lost++;
    if (place < 0 || loss > /** @type {number} */ (losses[place])) place = i;
  });
  const patches = losses.map((loss) => (loss === null ? null : Math.round(1000 * loss) / 1000));
  return {
    rows, columns, patches,
    share: lost / Math.max(1, detailed),
    worst: place < 0 ? 0 : /** @type {number} */ (patches[place]),
    box: place < 0 ? null : boxOf(place, rows, columns, width, height),
  };
}

/**
 * Left, top, right and bottom of a patch; halves are rounded to even, as Python does.
 * @param {number} place
 * @param {number} rows
 * @param {number} columns
 * @param {number} width
 * @param {number} height
 */
export function boxOf(place, rows, columns, width, height) {
  const row = Math.floor(place / columns), column = place % columns;
  const [left, right] = [0, 1].map((k) => roundHalfEven(((column + k) * width) / columns));
  const [top, bottom] = [0, 1].map((k) => roundHalfEven(((row + k) * height) / rows));
  return [left, top, right, bottom];
}
