// The worker: keeps the pixels and does the arithmetic, so that the page never waits.

import { Engine } from "./engine.mjs";
import { Kernels } from "./kernels.mjs";
import { encodePng, packed } from "./png.mjs";

/** @typedef {import("./engine.mjs").Options} Options */

/**
 * What the page asks for. Pixels are sent only when they changed.
 * @typedef {object} Request
 * @property {number} id
 * @property {"library" | "match" | "account" | "png" | "fingerprint" | "cell"} what
 * @property {{ spaces: Record<string, import("./plan.mjs").Space>, blank: import("./blank.mjs").BlankRule, kernels: Uint8Array }} [library]
 * @property {Options} [options]
 * @property {{ rgba: Uint8Array, width: number, height: number, alpha: boolean }} [content]
 * @property {{ rgba: Uint8Array, width: number }} [style]
 * @property {import("./moments.mjs").Moments} [moments]
 * @property {import("./changes.mjs").Change} [change] of the content's own style
 */

/** @type {Engine} */
let engine; // the page sends what it is made of before anything else
/** @type {Engine} */
let sheets; // for contact sheets, so that they leave the large picture alone
let size = { width: 0, height: 0, alpha: false };
/** @type {Uint8Array} */
let before = new Uint8Array(0);
/** @type {Promise<string | null> | null} */
let beforeHash = null;
/** @type {import("./engine.mjs").Match | null} */
let last = null;

/** @param {Uint8Array} rgba */
const words = (rgba) => new Int32Array(rgba.buffer, rgba.byteOffset, rgba.length >> 2);

/**
 * @param {Request} request
 * @param {Engine} to
 */
function take({ content, style, moments, change }, to) {
  if (content) to.setContent(words(content.rgba), content.width);
  if (style) to.setStyle(words(style.rgba), style.width);
  if (change) to.setStyleChange(change);
  else if (moments) to.setStyleMoments(moments);
}

/**
 * One cell of a contact sheet.
 * @param {Request} request
 * @param {Options} options
 */
function cell(request, options) {
  take(request, sheets);
  const match = sheets.match(options), { report, loss } = sheets.account(match);
  return { pixels: match.pixels.slice(), clipped: report.clippedOverall, lost: loss.share, blank: match.flags[0].includes("blank") };
}

const after = () => new Uint8Array(engine.target.buffer);

/** @param {Uint8Array} rgba */
async function sha256(rgba) {
  if (!globalThis.crypto?.subtle) return null; // a page that is neither local nor served over TLS has none
  const digest = await crypto.subtle.digest("SHA-256", /** @type {BufferSource} */ (packed(rgba, size.alpha)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * An answer whose notes may leave the worker: the engine keeps its own.
 * @template {{ notes: Uint8Array | null }} T
 * @param {T} reply
 * @returns {T}
 */
function sent(reply) {
  return { ...reply, notes: reply.notes && reply.notes.slice() };
}

/** @param {Request} request */
async function answer(request) {
  if (request.library) {
    const { spaces, blank } = request.library, kernels = new Kernels(request.library.kernels);
    [engine, sheets] = [new Engine(spaces, blank, kernels), new Engine(spaces, blank, kernels)];
  } else if (request.what === "png") return { png: await encodePng(after(), size.width, size.height, size.alpha) };
  else if (request.what === "fingerprint") return { content: await (beforeHash ??= sha256(before)), output: await sha256(after()) };
  else if (request.what === "account" && last) return sent(engine.account(last));
  else if (request.what === "cell" && request.options) return cell(request, request.options);
  else if (request.options) {
    if (request.content) {
      before = request.content.rgba;
      beforeHash = null;
      size = request.content;
    }
    take(request, engine);
    last = engine.match(request.options);
    return sent({ ...last, pixels: last.pixels.slice() });
  }
  return {};
}

self.onmessage = async ({ data }) => {
  try {
    const result = await answer(data);
    const large = ["notes" in result ? result.notes : null, "pixels" in result ? result.pixels : null];
    const transfer = large.flatMap((numbers) => (numbers ? [/** @type {ArrayBuffer} */ (numbers.buffer)] : []));
    self.postMessage({ id: data.id, result }, { transfer });
  } catch (error) {
    self.postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
