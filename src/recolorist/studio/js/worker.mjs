// The worker: keeps the pixels and does the arithmetic, so that the page never waits.

import { Engine } from "./engine.mjs";
import { encodePng, packed } from "./png.mjs";

/** @typedef {import("./engine.mjs").Options} Options */

/**
 * What the page asks for. Pixels are sent only when they changed.
 * @typedef {object} Request
 * @property {number} id
 * @property {"spaces" | "match" | "account" | "png" | "fingerprint"} what
 * @property {Record<string, import("./plan.mjs").Space>} [spaces]
 * @property {import("./blank.mjs").BlankRule} [blank]
 * @property {Options} [options]
 * @property {{ rgba: Uint8Array, width: number, height: number, alpha: boolean }} [content]
 * @property {{ rgba: Uint8Array }} [style]
 * @property {import("./moments.mjs").Moments} [moments]
 */

const NOTHING_BLANK = { band: 0, share: 1 }; // until the page has sent the rule
let engine = new Engine({}, NOTHING_BLANK);
let size = { width: 0, height: 0, alpha: false };
/** @type {Uint8Array} */
let before = new Uint8Array(0);
/** @type {Promise<string | null> | null} */
let beforeHash = null;
/** @type {import("./engine.mjs").Match | null} */
let last = null;

/** @param {Uint8Array} rgba */
const words = (rgba) => new Int32Array(rgba.buffer, rgba.byteOffset, rgba.length >> 2);

/** @param {Request} request */
function take(request) {
  if (request.content) {
    before = request.content.rgba;
    beforeHash = null;
    size = { width: request.content.width, height: request.content.height, alpha: request.content.alpha };
    engine.setContent(words(before), size.width);
  }
  if (request.style) engine.setStyle(words(request.style.rgba));
  if (request.moments) engine.setStyleMoments(request.moments);
}

const after = () => new Uint8Array(engine.target.buffer);

/** @param {Uint8Array} rgba */
async function sha256(rgba) {
  if (!globalThis.crypto?.subtle) return null; // a page that is neither local nor served over TLS has none
  const digest = await crypto.subtle.digest("SHA-256", /** @type {BufferSource} */ (packed(rgba, size.alpha)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {Request} request */
async function answer(request) {
  if (request.what === "spaces") engine = new Engine(request.spaces ?? {}, request.blank ?? NOTHING_BLANK);
  else if (request.what === "png") return { png: await encodePng(after(), size.width, size.height, size.alpha) };
  else if (request.what === "fingerprint") return { content: await (beforeHash ??= sha256(before)), output: await sha256(after()) };
  else if (request.what === "account" && last) return engine.account(last);
  else if (request.options) {
    take(request);
    last = engine.match(request.options);
    return { ...last, pixels: last.pixels.slice(), notes: last.notes.slice() };
  }
  return {};
}

self.onmessage = async ({ data }) => {
  try {
    const result = await answer(data);
    const transfer = "pixels" in result ? [result.pixels.buffer, result.notes.buffer] : [];
    self.postMessage({ id: data.id, result }, { transfer });
  } catch (error) {
    self.postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
