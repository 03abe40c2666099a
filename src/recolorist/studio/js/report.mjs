// What a match did to an image, in numbers, as in audit.py. Everything is counted on pixels, in integers, and divided once.

import { sumsOfLevels } from "./moments.mjs";
import { ABOVE, BELOW } from "./pixels.mjs";

/**
 * @typedef {object} Report
 * @property {number} changed number of pixels that were changed; all shares are of these
 * @property {number[]} clipped share of the values of each channel
 * @property {number} clippedOverall share of all values: the `clipped_overall` of the library
 * @property {(number | null)[]} pearson per channel; null where one of the two images is flat
 * @property {number | null} pearsonPooled all channels as one vector
 */

/**
 * One region of an image before and after.
 * @typedef {object} Change
 * @property {Int32Array} content
 * @property {Int32Array} output
 * @property {Uint8Array} notes on clipping; none outside the mask
 * @property {Uint8Array | null} mask the pixels that were changed
 * @property {Uint32Array[]} counts histograms of the content over them
 * @property {Uint32Array[]} countsAfter histograms of the output over them
 */

const BLOCK = 32768; // 32768 · 255² fits a 32-bit integer

/**
 * @param {Change} change
 * @returns {Report}
 */
export function reportOn(change) {
  const changed = change.counts[0].reduce((sum, count) => sum + count, 0);
  const { products, notes } = passOver(change);
  return { changed, ...clipping(notes, changed), ...correlation(change, products, changed) };
}

/**
 * The one pass over pixels: sums of content times output per channel, and how often each note on clipping occurs.
 * @param {Change} change
 */
function passOver(change) {
  const products = [0, 0, 0];
  const notes = new Uint32Array(256);
  for (let start = 0; start < change.content.length; start += BLOCK) {
    addBlockOf(change, start, Math.min(start + BLOCK, change.content.length), products, notes);
  }
  return { products, notes };
}

/**
 * @param {Change} change
 * @param {number} start
 * @param {number} end
 * @param {number[]} products added to
 * @param {Uint32Array} tally added to
 */
function addBlockOf({ content, output, notes, mask }, start, end, products, tally) {
  let red = 0, green = 0, blue = 0;
  for (let i = start; i < end; i++) {
    const p = mask === null ? content[i] : content[i] & -mask[i], q = output[i]; // outside counts as black, which adds nothing
    red = (red + Math.imul(p & 255, q & 255)) | 0;
    green = (green + Math.imul((p >>> 8) & 255, (q >>> 8) & 255)) | 0;
    blue = (blue + Math.imul((p >>> 16) & 255, (q >>> 16) & 255)) | 0;
    tally[notes[i]]++;
  }
  [red, green, blue].forEach((sum, c) => (products[c] += sum));
}

/**
 * @param {Uint32Array} notes
 * @param {number} changed
 */
function clipping(notes, changed) {
  const withBits = (/** @type {number} */ bits) =>
    notes.reduce((sum, count, note) => (note & bits ? sum + count : sum), 0) / changed;
  const clipped = [2, 4, 6].map((shift) => withBits((BELOW | ABOVE) << shift));
  return { clipped, clippedOverall: (clipped[0] + clipped[1] + clipped[2]) / 3 };
}

/**
 * @param {Change} change
 * @param {number[]} products
 * @param {number} changed
 */
function correlation({ counts, countsAfter }, products, changed) {
  const channels = products.map((xy, c) => [...sumsOfLevels(counts[c]), ...sumsOfLevels(countsAfter[c]), xy]);
  const pooled = channels[0].map((_, k) => channels[0][k] + channels[1][k] + channels[2][k]);
  return {
    pearson: channels.map((sums) => pearsonOf(changed, sums)),
    pearsonPooled: pearsonOf(3 * changed, pooled),
  };
}

/**
 * @param {number} count
 * @param {number[]} sums of x, xx, y, yy, xy
 * @returns {number | null}
 */
function pearsonOf(count, sums) {
  const n = BigInt(count);
  const [x, xx, y, yy, xy] = sums.map(BigInt);
  const spread = n * xx - x * x, spreadAfter = n * yy - y * y;
  if (spread === 0n || spreadAfter === 0n) return null;
  const value = Number(n * xy - x * y) / (Math.sqrt(Number(spread)) * Math.sqrt(Number(spreadAfter)));
  return Math.min(1, Math.max(-1, value));
}
