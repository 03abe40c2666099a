// The distinct colours of an image, often far fewer than its pixels: what depends on the colour alone is computed once for each.
// Histogram matching in a mixed linear space works on them, ranked as whole numbers, in the order of operations of histograms.py.

import { ABOVE, BELOW } from "./pixels.mjs";

/** @typedef {import("./histograms.mjs").Channel & { values: Float64Array }} Channel its values in the order of the list, and sorted */
/** @typedef {import("./plan.mjs").Space} Space */

/**
 * @typedef {object} Colours
 * @property {Int32Array} list each colour once, without alpha, in the order in which they were met
 * @property {Int32Array} index for each pixel the place of its colour in the list
 */

/**
 * By a hash table with open addressing, at most half full.
 * @param {Int32Array} pixels
 * @returns {Colours}
 */
export function distinctColours(pixels) {
  const most = Math.min(pixels.length, 1 << 24);
  const bits = 33 - Math.clz32((most - 1) | 255);
  const slots = new Int32Array(1 << bits), last = slots.length - 1; // 0 is empty, n the n-th colour
  const list = new Int32Array(most), index = new Int32Array(pixels.length);
  let count = 0;
  for (let i = 0; i < pixels.length; i++) {
    const colour = pixels[i] & 0xffffff;
    let slot = Math.imul(colour, 0x9e3779b1) >>> (32 - bits);
    while (slots[slot] !== 0 && list[slots[slot] - 1] !== colour) slot = (slot + 1) & last;
    if (slots[slot] === 0) {
      list[count] = colour;
      slots[slot] = ++count;
    }
    index[i] = slots[slot] - 1;
  }
  return { list: list.slice(0, count), index };
}

/**
 * How many pixels have each colour, over all pixels or those inside the mask.
 * @param {Colours} colours
 * @param {Uint8Array | null} mask
 */
export function weigh({ list, index }, mask) {
  const weights = new Uint32Array(list.length);
  for (let i = 0; i < index.length; i++) weights[index[i]] += mask === null ? 1 : mask[i];
  return weights;
}

/**
 * The colours in the channels of a space, as whole numbers: equal in algebra is equal here.
 * @param {Int32Array} list
 * @param {Space} space
 * @returns {Channel[]}
 */
export function channelsOf(list, { whole }) {
  return whole.map(([first, second, third]) => {
    const values = new Float64Array(list.length);
    for (let i = 0; i < list.length; i++) {
      const p = list[i];
      values[i] = first * (p & 255) + second * ((p >>> 8) & 255) + third * (p >>> 16);
    }
    return { values, ...inOrder(values) };
  });
}

/**
 * Values in ascending order. They are dealt into as many buckets as there are values, in equal steps from the least to the greatest;
 * since colours are distinct, few can share a bucket, and sorting those by insertion is quick.
 * @param {Float64Array} values
 * @returns {{ order: Uint32Array, sorted: Float64Array }}
 */
function inOrder(values) {
  const count = values.length, { bucket, start } = deal(values);
  const order = new Uint32Array(count), sorted = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const place = start[bucket[i]]++;
    order[place] = i;
    sorted[place] = values[i];
  }
  sortNearly(order, sorted);
  return { order, sorted };
}

/**
 * The bucket of each value, and where each bucket starts.
 * @param {Float64Array} values
 */
function deal(values) {
  const count = values.length, bucket = new Uint32Array(count), start = new Uint32Array(count + 1);
  let least = Infinity, greatest = -Infinity;
  for (let i = 0; i < count; i++) {
    if (values[i] < least) least = values[i];
    if (values[i] > greatest) greatest = values[i];
  }
  const range = greatest - least || 1; // or all are equal
  for (let i = 0; i < count; i++) {
    bucket[i] = ((values[i] - least) / range) * (count - 1); // rounding and cutting never change the order
    start[bucket[i] + 1]++;
  }
  for (let k = 0; k < count; k++) start[k + 1] += start[k];
  return { bucket, start };
}

/**
 * Insertion sort, for what is almost in order.
 * @param {Uint32Array} order changed
 * @param {Float64Array} sorted changed
 */
function sortNearly(order, sorted) {
  for (let k = 1; k < sorted.length; k++) {
    const value = sorted[k], moving = order[k];
    let place = k;
    for (; place > 0 && sorted[place - 1] > value; place--) {
      sorted[place] = sorted[place - 1];
      order[place] = order[place - 1];
    }
    sorted[place] = value;
    order[place] = moving;
  }
}

/**
 * What each colour becomes on its way to its goal, with notes on clipping.
 * @param {Channel[]} channels of the space
 * @param {Float64Array[]} goals per channel
 * @param {Space} space
 * @param {number} strength
 */
export function recolour(channels, goals, space, strength) {
  const unit = space.denominator * 255;
  const moved = channels.map(({ values }, c) => {
    const goal = goals[c], result = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++) {
      result[i] = (strength < 1 ? values[i] + strength * (goal[i] - values[i]) : goal[i]) / unit;
    }
    return result;
  });
  return inRgb(moved, space);
}

/**
 * Back to bytes.
 * @param {Float64Array[]} moved per channel of the basis of the space
 * @param {Space} space
 */
function inRgb([x, y, z], { basisInverse }) {
  const outputs = new Int32Array(x.length), notes = new Uint8Array(x.length);
  const rounder = 6755399441055744.0; // see roundHalfEven
  basisInverse.forEach(([first, second, third], c) => {
    const below = BELOW | (BELOW << (2 + 2 * c)), above = ABOVE | (ABOVE << (2 + 2 * c));
    for (let i = 0; i < x.length; i++) {
      const value = (first * x[i] + second * y[i] + third * z[i]) * 255 + rounder - rounder;
      notes[i] |= value < 0 ? below : value > 255 ? above : 0;
      outputs[i] |= (value < 0 ? 0 : value > 255 ? 255 : value) << (8 * c);
    }
  });
  return { outputs, notes };
}

/**
 * Give every pixel its colour's output; alpha goes along untouched.
 * @param {Int32Array} pixels
 * @param {Int32Array} index
 * @param {{ outputs: Int32Array, notes: Uint8Array }} decided for each colour
 * @param {Int32Array} target written
 * @param {Uint8Array} notes written
 */
export function applyColours(pixels, index, decided, target, notes) {
  for (let i = 0; i < pixels.length; i++) {
    const place = index[i];
    target[i] = (pixels[i] & 0xff000000) | decided.outputs[place];
    notes[i] = decided.notes[place];
  }
}
