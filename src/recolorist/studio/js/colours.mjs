// Pixels in the channels of a space and back, for the methods that rank, in the order of operations of histograms.py. What depends on
// the colour alone is computed once for each distinct colour of an image, of which there are often far fewer than pixels.

import { ABOVE, BELOW, noteLimits } from "./pixels.mjs";

/** @typedef {import("./plan.mjs").Space} Space */
/** @typedef {import("./kernels.mjs").Kernels} Kernels */
/** @typedef {{ values: Float64Array, unit: number }} Plane one channel, and the number that stands for 1 in it */

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
 * Pixels in the channels of a space; whole numbers wherever the algebra gives such, so that equal in algebra is equal here.
 * @param {Int32Array} pixels
 * @param {Space} space
 * @param {Kernels} kernels
 * @returns {Plane[]}
 */
export function planesOf(pixels, { name, linear }, kernels) {
  if (linear) return linear.whole.map((row) => ({ values: mixed(pixels, row), unit: linear.denominator * 255 }));
  const white = name === "hsv" || name === "hsi" ? 1 : 255;
  const planes = kernels.split(pixels, name, white).map((values) => ({ values, unit: 1 }));
  if (name === "hsv") planes[2] = { values: largest(pixels), unit: 255 };
  if (name === "hsi") {
    planes[2] = { values: mixed(pixels, [1, 1, 1]), unit: 3 * 255 };
    planes[1] = { values: saturations(pixels, planes[2].values), unit: 1 };
  }
  return planes;
}

/**
 * HSI's saturation from one quotient of whole numbers.
 * @param {Int32Array} pixels
 * @param {Float64Array} totals
 */
function saturations(pixels, totals) {
  return totals.map((total, i) => {
    const p = pixels[i], smallest = Math.min(p & 255, (p >>> 8) & 255, (p >>> 16) & 255);
    return total > 0 ? 1 - (3 * smallest) / total : 0;
  });
}

/**
 * @param {Int32Array} pixels
 * @param {number[]} row whole numbers
 */
function mixed(pixels, [first, second, third]) {
  const values = new Float64Array(pixels.length);
  for (let i = 0; i < pixels.length; i++) {
    const p = pixels[i];
    values[i] = first * (p & 255) + second * ((p >>> 8) & 255) + third * ((p >>> 16) & 255);
  }
  return values;
}

/** @param {Int32Array} pixels */
function largest(pixels) {
  return Float64Array.from(pixels, (p) => Math.max(p & 255, (p >>> 8) & 255, (p >>> 16) & 255));
}

/**
 * Channels on their way to their goals, back as pixels without alpha, with notes on clipping.
 * @param {Plane[]} planes
 * @param {Float64Array[]} goals
 * @param {Space} space
 * @param {number} strength
 * @param {Kernels} kernels
 * @returns {{ outputs: Int32Array, notes: Uint8Array }}
 */
export function recolour(planes, goals, space, strength, kernels) {
  const moved = planes.map(({ values, unit }, c) => {
    const goal = goals[c], result = new Float64Array(values.length), divisor = space.name === "rgb" ? 1 : unit;
    for (let i = 0; i < values.length; i++) {
      result[i] = (strength < 1 ? values[i] + strength * (goal[i] - values[i]) : goal[i]) / divisor;
    }
    return result;
  });
  if (space.linear) return inRgb(moved, space.linear.basisInverse, space.name === "rgb" ? 1 : 255);
  const { pixels, unlimited } = kernels.join(moved, space.name);
  const notes = new Uint8Array(pixels.length);
  noteLimits(pixels, unlimited, notes);
  return { outputs: pixels, notes };
}

/**
 * Back to bytes.
 * @param {Float64Array[]} moved per channel of the basis of the space
 * @param {number[][]} rows from that basis to RGB
 * @param {number} range what stands for white is multiplied by this
 */
function inRgb([x, y, z], rows, range) {
  const outputs = new Int32Array(x.length), notes = new Uint8Array(x.length);
  const rounder = 6755399441055744.0; // see roundHalfEven
  rows.forEach(([first, second, third], c) => {
    const below = BELOW | (BELOW << (2 + 2 * c)), above = ABOVE | (ABOVE << (2 + 2 * c));
    for (let i = 0; i < x.length; i++) {
      const value = (first * x[i] + second * y[i] + third * z[i]) * range + rounder - rounder;
      notes[i] |= value < 0 ? below : value > 255 ? above : 0;
      outputs[i] |= (value < 0 ? 0 : value > 255 ? 255 : value) << (8 * c);
    }
  });
  return { outputs, notes };
}

/**
 * Give every pixel its output; alpha goes along untouched.
 * @param {Int32Array} pixels
 * @param {Int32Array | null} index of each pixel's colour in what was decided; null if that is one for each pixel
 * @param {{ outputs: Int32Array, notes: Uint8Array }} decided
 * @param {Int32Array} target written
 * @param {Uint8Array} notes written
 */
export function applyColours(pixels, index, decided, target, notes) {
  for (let i = 0; i < pixels.length; i++) {
    const place = index === null ? i : index[i];
    target[i] = (pixels[i] & 0xff000000) | decided.outputs[place];
    notes[i] = decided.notes[place];
  }
}
