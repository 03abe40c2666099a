// Coloured layers over a picture: clipped pixels, lost detail, and what lies outside the mask.

import { boxOf } from "./detail.mjs";
import { newCanvas, paint } from "./files.mjs";
import { ABOVE, BELOW } from "./pixels.mjs";

/** Red, green, blue, alpha as one word, red in the lowest byte. Nearly everybody can distinguish blue from orange. */
const word = (/** @type {number} */ r, /** @type {number} */ g, /** @type {number} */ b, /** @type {number} */ a) =>
  (r | (g << 8) | (b << 16) | (a << 24)) >>> 0;
const CLIPPED_BELOW = word(0, 114, 255, 255);
const CLIPPED_ABOVE = word(255, 128, 0, 255);
const CLIPPED_BOTH = word(240, 220, 0, 255);
const LOST = "rgb(255 0 200)"; // as on the page of an audit: a colour that neither stains nor retinas have
const OUTSIDE_LIGHT = word(128, 128, 128, 215);
const OUTSIDE_DARK = word(96, 96, 96, 215);

/**
 * @param {Uint8Array} notes
 * @param {number} width
 * @param {number} height
 */
export function clippedOverlay(notes, width, height) {
  const colours = Uint32Array.of(0, CLIPPED_BELOW, CLIPPED_ABOVE, CLIPPED_BOTH);
  const words = new Uint32Array(width * height);
  for (let i = 0; i < words.length; i++) words[i] = colours[notes[i] & (BELOW | ABOVE)];
  return painted(words, width, height);
}

/**
 * The patches that lost more than half of their detail, outlined.
 * @param {import("./detail.mjs").DetailLoss} loss
 * @param {number} width
 * @param {number} height
 * @param {HTMLCanvasElement} canvas a new one, or another overlay of this size to draw on
 */
export function lossOverlay({ rows, columns, patches }, width, height, canvas = newCanvas(width, height)) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const line = Math.max(1, Math.round(Math.min(width, height) / 180));
  patches.forEach((loss, place) => {
    if (loss === null || loss <= 0.5) return;
    const [left, top, right, bottom] = boxOf(place, rows, columns, width, height);
    context.fillStyle = LOST;
    context.fillRect(left, top, right - left, line);
    context.fillRect(left, bottom - line, right - left, line);
    context.fillRect(left, top, line, bottom - top);
    context.fillRect(right - line, top, line, bottom - top);
  });
  return canvas;
}

/** @type {WeakMap<object, { key: string, canvas: HTMLCanvasElement }>} */
const drawn = new WeakMap();

/**
 * What a mask leaves out, hatched. Drawn again only when the mask is another one.
 * @param {import("./files.mjs").Picture} picture
 * @param {import("./engine.mjs").Seen} seen
 * @returns {HTMLCanvasElement | null}
 */
export function outsideOverlay(picture, { mask, key }) {
  if (!mask) return null;
  const known = drawn.get(picture);
  if (known?.key === key) return known.canvas;
  const { width, height } = picture;
  const shift = Math.max(1, Math.round(Math.log2(Math.max(width, height) / 64))); // stripes keep their look in any size
  const words = new Uint32Array(width * height);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) if (mask[i] === 0) words[i] = ((x + y) >> shift) & 1 ? OUTSIDE_DARK : OUTSIDE_LIGHT;
  }
  const canvas = painted(words, width, height, known?.canvas);
  drawn.set(picture, { key, canvas });
  return canvas;
}

/**
 * @param {Uint32Array} words
 * @param {number} width
 * @param {number} height
 * @param {HTMLCanvasElement} canvas a new one, or one of this size to paint over
 */
function painted(words, width, height, canvas = newCanvas(width, height)) {
  paint(canvas, new Uint8Array(words.buffer));
  return canvas;
}
