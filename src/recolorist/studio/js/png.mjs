// Reading and writing PNG byte for byte. The browser's own decoder may convert colours and premultiplies alpha; this one does not.

import { inflate, deflate } from "./streams.mjs";

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
const CHANNELS = /** @type {Record<number, number>} */ ({ 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }); // by PNG colour type

/**
 * @typedef {object} Decoded
 * @property {number} width
 * @property {number} height
 * @property {Uint8Array} rgba
 * @property {boolean} alpha whether the file has an alpha channel
 * @property {number} depth bits per sample in the file
 * @property {boolean} grey
 */

/**
 * @typedef {object} Header
 * @property {number} width
 * @property {number} height
 * @property {number} depth
 * @property {number} type
 * @property {boolean} interlaced
 */

/** @param {Uint8Array} bytes */
export function isPng(bytes) {
  return SIGNATURE.every((value, i) => bytes[i] === value);
}

/**
 * Size and kind of a PNG without decoding it.
 * @param {Uint8Array} bytes
 * @returns {Header}
 */
export function pngHeader(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return { width: view.getUint32(16), height: view.getUint32(20), depth: bytes[24], type: bytes[25], interlaced: bytes[28] === 1 };
}

/**
 * Decode a PNG that is not interlaced. Of 16-bit samples the upper byte is kept, as Pillow does.
 * @param {Uint8Array} bytes
 * @returns {Promise<Decoded>}
 */
export async function decodePng(bytes) {
  const header = pngHeader(bytes);
  const { data, palette, transparency } = chunksOf(bytes);
  const channels = CHANNELS[header.type];
  const stride = Math.ceil((header.width * channels * header.depth) / 8);
  const raw = await inflate(data, header.height * (stride + 1));
  unfilter(raw, header.height, stride, Math.max(1, (channels * header.depth) >> 3));
  const rgba = new Uint8Array(4 * header.width * header.height);
  const sample = sampler(raw, stride, header.depth);
  const paint = painter(header.type, palette, transparency, header.depth);
  for (let y = 0, to = 0; y < header.height; y++) {
    for (let x = 0; x < header.width; x++, to += 4) paint(rgba, to, (c) => sample(y, x * channels + c));
  }
  const alpha = header.type >= 4 || (header.type === 3 && transparency.length > 0);
  return { width: header.width, height: header.height, rgba, alpha, depth: header.depth, grey: header.type % 4 === 0 };
}

/** @param {Uint8Array} bytes */
function chunksOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  /** @type {Uint8Array[]} */
  const data = [];
  let palette = new Uint8Array(0), transparency = new Uint8Array(0);
  for (let at = 8; at + 8 <= bytes.length; ) {
    const length = view.getUint32(at);
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (name === "IDAT") data.push(body);
    else if (name === "PLTE") palette = Uint8Array.from(body);
    else if (name === "tRNS") transparency = Uint8Array.from(body);
    else if (name === "IEND") break;
    at += 12 + length;
  }
  return { data, palette, transparency };
}

/**
 * Undo the filters row by row, in place; each row keeps its filter byte in front.
 * @param {Uint8Array} raw
 * @param {number} height
 * @param {number} stride bytes of a row
 * @param {number} step bytes of a pixel
 */
function unfilter(raw, height, stride, step) {
  for (let y = 0; y < height; y++) {
    const row = y * (stride + 1) + 1, above = row - stride - 1;
    const kind = raw[row - 1];
    if (kind > 4) throw new Error("unknown filter");
    if (kind === 0) continue;
    for (let i = 0; i < stride; i++) {
      const left = i >= step ? raw[row + i - step] : 0;
      const up = y ? raw[above + i] : 0;
      const corner = y && i >= step ? raw[above + i - step] : 0;
      raw[row + i] += predicted(kind, left, up, corner);
    }
  }
}

/**
 * What a filter expects at a byte.
 * @param {number} kind
 * @param {number} left
 * @param {number} up
 * @param {number} corner
 */
function predicted(kind, left, up, corner) {
  if (kind === 0) return 0;
  if (kind === 1) return left;
  if (kind === 2) return up;
  if (kind === 3) return (left + up) >> 1;
  const a = Math.abs(up - corner), b = Math.abs(left - corner), c = Math.abs(left + up - 2 * corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/**
 * A function that reads a sample of a row.
 * @param {Uint8Array} raw
 * @param {number} stride
 * @param {number} depth
 * @returns {(row: number, index: number) => number}
 */
function sampler(raw, stride, depth) {
  const start = (/** @type {number} */ row) => row * (stride + 1) + 1;
  if (depth === 8) return (row, index) => raw[start(row) + index];
  if (depth === 16) return (row, index) => raw[start(row) + 2 * index];
  const most = 2 ** depth - 1, each = 8 / depth;
  return (row, index) => (raw[start(row) + Math.floor(index / each)] >> (8 - depth * (1 + (index % each)))) & most;
}

/**
 * A function that writes one pixel.
 * @param {number} type
 * @param {Uint8Array} palette
 * @param {Uint8Array} transparency
 * @param {number} depth
 * @returns {(rgba: Uint8Array, to: number, sample: (channel: number) => number) => void}
 */
function painter(type, palette, transparency, depth) {
  /** @type {(rgba: Uint8Array, to: number, r: number, g: number, b: number, a: number) => void} */
  const put = (rgba, to, r, g, b, a) => {
    rgba[to] = r;
    rgba[to + 1] = g;
    rgba[to + 2] = b;
    rgba[to + 3] = a;
  };
  const grey = depth < 8 ? 255 / (2 ** depth - 1) : 1;
  if (type === 3) {
    return (rgba, to, sample) => {
      const index = sample(0), at = 3 * index;
      put(rgba, to, palette[at], palette[at + 1], palette[at + 2], transparency[index] ?? 255);
    };
  }
  if (type === 0 || type === 4) {
    return (rgba, to, sample) => {
      const level = sample(0) * grey;
      put(rgba, to, level, level, level, type === 4 ? sample(1) : 255);
    };
  }
  return (rgba, to, sample) => put(rgba, to, sample(0), sample(1), sample(2), type === 6 ? sample(3) : 255);
}

/**
 * Encode pixels as an 8-bit PNG, colour only or with alpha; nothing but the pixels is stored.
 * @param {Uint8Array} rgba
 * @param {number} width
 * @param {number} height
 * @param {boolean} alpha
 * @returns {Promise<Uint8Array>}
 */
export async function encodePng(rgba, width, height, alpha) {
  const body = await deflate(filtered(packed(rgba, alpha), width * (alpha ? 4 : 3), height, alpha ? 4 : 3));
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, alpha ? 6 : 2, 0, 0, 0], 8);
  const parts = [Uint8Array.from(SIGNATURE), chunk("IHDR", header), chunk("IDAT", body), chunk("IEND", new Uint8Array(0))];
  return joined(parts);
}

/**
 * RGBA to the bytes NumPy would hold: with or without the fourth channel.
 * @param {Uint8Array} rgba
 * @param {boolean} alpha
 * @returns {Uint8Array}
 */
export function packed(rgba, alpha) {
  if (alpha) return rgba;
  const rgb = new Uint8Array((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3) {
    rgb[to] = rgba[from];
    rgb[to + 1] = rgba[from + 1];
    rgb[to + 2] = rgba[from + 2];
  }
  return rgb;
}

/**
 * Each row with the filter that leaves the smallest differences, the usual rule of thumb.
 * @param {Uint8Array} pixels
 * @param {number} stride
 * @param {number} height
 * @param {number} step bytes of a pixel
 */
function filtered(pixels, stride, height, step) {
  const result = new Uint8Array(height * (stride + 1));
  const nothing = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const row = pixels.subarray(y * stride, (y + 1) * stride);
    const above = y ? pixels.subarray((y - 1) * stride, y * stride) : nothing;
    let least = Infinity;
    for (const kind of [1, 2, 4]) {
      const { line, cost } = filterRow(row, above, kind, step);
      if (cost >= least) continue;
      least = cost;
      result[y * (stride + 1)] = kind;
      result.set(line, y * (stride + 1) + 1);
    }
  }
  return result;
}

/**
 * @param {Uint8Array} row
 * @param {Uint8Array} above
 * @param {number} kind
 * @param {number} step
 */
function filterRow(row, above, kind, step) {
  const line = new Uint8Array(row.length);
  let cost = 0;
  for (let i = 0; i < row.length; i++) {
    const left = i >= step ? row[i - step] : 0, corner = i >= step ? above[i - step] : 0;
    const difference = (row[i] - predicted(kind, left, above[i], corner)) & 255;
    line[i] = difference;
    cost += difference < 128 ? difference : 256 - difference;
  }
  return { line, cost };
}

/**
 * @param {string} name
 * @param {Uint8Array} body
 */
function chunk(name, body) {
  const result = new Uint8Array(12 + body.length);
  const view = new DataView(result.buffer);
  view.setUint32(0, body.length);
  result.set([...name].map((letter) => letter.charCodeAt(0)), 4);
  result.set(body, 8);
  view.setUint32(8 + body.length, checksum(result.subarray(4, 8 + body.length)));
  return result;
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

/** @param {Uint8Array} bytes */
function checksum(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
