// From a file to pixels. PNG is decoded here, byte for byte; the browser decodes the rest, asked to convert nothing.

import { decodePng, isPng, pngHeader } from "./png.mjs";

/**
 * @typedef {object} Picture
 * @property {string} name
 * @property {number} width
 * @property {number} height
 * @property {Uint8Array} rgba
 * @property {boolean} alpha whether the file has transparency, which is kept as it is
 * @property {string} note what a careful person would want to know
 * @property {string} reader how Python reads the same pixels: an expression with `path`
 * @property {HTMLCanvasElement} canvas for drawing
 */

const MOST_PIXELS = 64e6;

/**
 * @param {Blob} blob
 * @param {string} name
 * @returns {Promise<Picture>}
 */
export async function readPicture(blob, name) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  try {
    const png = isPng(bytes) ? pngHeader(bytes) : null;
    if (png) refuseHuge(png.width, png.height, name);
    return png && !png.interlaced ? await fromPng(bytes, name) : await fromBrowser(blob, name);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Error(`“${name}” could not be read as an image. PNG and JPEG are accepted; is the file whole?`);
  }
}

/**
 * @param {number} width
 * @param {number} height
 * @param {string} name
 */
function refuseHuge(width, height, name) {
  if (width * height <= MOST_PIXELS) return;
  const size = Math.round((width * height) / 1e6);
  throw new RangeError(`“${name}” has ${size} megapixels; the page takes up to ${MOST_PIXELS / 1e6}. Use the Python library.`);
}

/**
 * @param {Uint8Array} bytes
 * @param {string} name
 * @returns {Promise<Picture>}
 */
async function fromPng(bytes, name) {
  const { width, height, rgba, alpha, depth, grey } = await decodePng(bytes);
  const notes = [];
  if (depth === 16) notes.push("16-bit file: the upper 8 bits are used here; the Python library uses all 16");
  if (grey) notes.push("grey, shown as three equal channels");
  if (alpha) notes.push("transparency kept as it is");
  const mode = alpha ? "RGBA" : "RGB";
  const reader = grey && depth === 16
    ? 'Image.fromarray((np.asarray(Image.open(path)) >> 8).astype(np.uint8)).convert("RGB")'
    : `Image.open(path).convert("${mode}")`;
  return pictureOf({ name, width, height, rgba, alpha, note: notes.join("; "), reader });
}

/**
 * @param {Blob} blob
 * @param {string} name
 * @returns {Promise<Picture>}
 */
async function fromBrowser(blob, name) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  const { width, height } = bitmap;
  refuseHuge(width, height, name);
  const canvas = newCanvas(width, height);
  const context = contextOf(canvas);
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const rgba = new Uint8Array(context.getImageData(0, 0, width, height).data.buffer);
  const alpha = rgba.some((value, i) => i % 4 === 3 && value !== 255);
  const note = alpha ? "transparency decoded by the browser, which may round colours there" : "";
  const reader = `ImageOps.exif_transpose(Image.open(path)).convert("${alpha ? "RGBA" : "RGB"}")`;
  return { name, width, height, rgba, alpha, note, reader, canvas };
}

/**
 * @param {Omit<Picture, "canvas">} parts
 * @returns {Picture}
 */
export function pictureOf(parts) {
  const canvas = newCanvas(parts.width, parts.height);
  paint(canvas, parts.rgba);
  return { ...parts, canvas };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} rgba
 */
export function paint(canvas, rgba) {
  const data = new Uint8ClampedArray(/** @type {ArrayBuffer} */ (rgba.buffer), rgba.byteOffset, rgba.length);
  contextOf(canvas).putImageData(new ImageData(data, canvas.width, canvas.height), 0, 0);
}

/**
 * @param {number} width
 * @param {number} height
 */
export function newCanvas(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

/** @param {HTMLCanvasElement} canvas */
export function contextOf(canvas) {
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("This browser has no 2D canvas.");
  return context;
}

/**
 * A file from the text inside the page.
 * @param {string} base64
 * @param {string} type
 */
export function blobFromBase64(base64, type) {
  return new Blob([bytesFromBase64(base64)], { type });
}

/** @param {string} base64 */
export function bytesFromBase64(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
