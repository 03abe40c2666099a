// The loops over pixels: masks, and the two ways of applying a map. No decisions are made here.
// A pixel is one 32-bit word, red in the lowest byte; alpha goes along untouched.

import { roundHalfEven } from "./exact.mjs";

/**
 * Bits of a pixel's note on clipping: any channel below 0, any above 255. The same two bits follow for R, then G, then B, so that one
 * histogram of notes tells every count.
 */
export const BELOW = 1;
export const ABOVE = 2;

/**
 * 1 where the luminance is on the wanted side of the threshold. Weighted in thousandths, so it is exact in integers.
 * @param {Int32Array} pixels
 * @param {"darker" | "brighter"} side
 * @param {number} threshold 0 to 255
 * @returns {{ mask: Uint8Array, count: number }}
 */
export function luminanceMask(pixels, side, threshold) {
  const limit = 1000 * threshold, darker = side === "darker";
  const mask = new Uint8Array(pixels.length);
  let count = 0;
  for (let i = 0; i < pixels.length; i++) {
    const p = pixels[i];
    const luminance = 299 * (p & 255) + 587 * ((p >>> 8) & 255) + 114 * ((p >>> 16) & 255);
    const inside = (darker ? luminance < limit : luminance > limit) ? 1 : 0; // a number and no branch: edges cannot be predicted
    mask[i] = inside;
    count += inside;
  }
  return { mask, count };
}

/**
 * The 256 outputs of `gain · level + offset`, and which of them clipping changed.
 * @param {number} gain
 * @param {number} offset
 * @returns {{ table: Int32Array, clipped: Uint8Array }}
 */
export function affineTable(gain, offset) {
  const table = new Int32Array(256), clipped = new Uint8Array(256);
  for (let level = 0; level < 256; level++) {
    const value = roundHalfEven(gain * level + offset);
    clipped[level] = value < 0 ? BELOW : value > 255 ? ABOVE : 0;
    table[level] = value < 0 ? 0 : value > 255 ? 255 : value;
  }
  return { table, clipped };
}

/**
 * Channel by channel through tables.
 * @param {Int32Array} pixels
 * @param {{ table: Int32Array, clipped: Uint8Array }[]} channels
 * @param {Int32Array} target written
 * @param {Uint8Array} notes written
 */
export function applyTables(pixels, channels, target, notes) {
  const [red, green, blue] = channels.map(({ table }) => table);
  const [noteRed, noteGreen, noteBlue] = channels.map(({ clipped }, c) => clipped.map((bits) => bits | (bits << (2 + 2 * c))));
  for (let i = 0; i < pixels.length; i++) {
    const p = pixels[i];
    const r = p & 255, g = (p >>> 8) & 255, b = (p >>> 16) & 255;
    target[i] = (p & 0xff000000) | red[r] | (green[g] << 8) | (blue[b] << 16);
    notes[i] = noteRed[r] | noteGreen[g] | noteBlue[b];
  }
}

/**
 * A full 3 x 3 map: sum in channel order, offset last, as in the library's loops.
 * @param {Int32Array} pixels
 * @param {number[][]} m
 * @param {number[]} offset
 * @param {Int32Array} target written
 * @param {Uint8Array} notes written
 */
export function applyMatrix(pixels, m, offset, target, notes) {
  const [[m00, m01, m02], [m10, m11, m12], [m20, m21, m22]] = m;
  const [b0, b1, b2] = offset;
  const rounder = 6755399441055744.0; // see roundHalfEven; values stay far below 2⁵¹ here
  for (let i = 0; i < pixels.length; i++) {
    const p = pixels[i];
    const r = p & 255, g = (p >>> 8) & 255, b = (p >>> 16) & 255;
    let x = m00 * r + m01 * g + m02 * b + b0 + rounder - rounder;
    let y = m10 * r + m11 * g + m12 * b + b1 + rounder - rounder;
    let z = m20 * r + m21 * g + m22 * b + b2 + rounder - rounder;
    let note = 0;
    if (x < 0) { x = 0; note = 5; } else if (x > 255) { x = 255; note = 10; }
    if (y < 0) { y = 0; note |= 17; } else if (y > 255) { y = 255; note |= 34; }
    if (z < 0) { z = 0; note |= 65; } else if (z > 255) { z = 255; note |= 130; }
    target[i] = (p & 0xff000000) | x | (y << 8) | (z << 16);
    notes[i] = note;
  }
}

/**
 * Put back what lies outside the mask.
 * @param {Int32Array} pixels
 * @param {Uint8Array} mask
 * @param {Int32Array} target changed
 * @param {Uint8Array} notes changed
 */
export function keepOutside(pixels, mask, target, notes) {
  for (let i = 0; i < pixels.length; i++) {
    const inside = -mask[i]; // all bits, or none
    target[i] = (target[i] & inside) | (pixels[i] & ~inside);
    notes[i] &= inside;
  }
}

/**
 * Note which values a limit changed: in a space that is not linear not only the ends of the range are limits.
 * @param {Int32Array} written
 * @param {Float64Array[]} unlimited what would have been written without limits, per channel
 * @param {Uint8Array} notes written
 */
export function noteLimits(written, unlimited, notes) {
  notes.fill(0);
  unlimited.forEach((plane, c) => {
    const below = BELOW | (BELOW << (2 + 2 * c)), above = ABOVE | (ABOVE << (2 + 2 * c));
    for (let i = 0; i < written.length; i++) {
      const value = plane[i], level = (written[i] >>> (8 * c)) & 255;
      if (value < 0 || value < level - 1) notes[i] |= below;
      else if (!(value <= 255 && value <= level + 1)) notes[i] |= above; // what no number stands for is high
    }
  });
}
