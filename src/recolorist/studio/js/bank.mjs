// The bank view: styles as nine numbers each, plotted by mean colour. No pixels of anyone are needed.

import { pictureOf } from "./files.mjs";
import { eigenSymmetric } from "./matrices.mjs";
import { fromUpperTriangle } from "./moments.mjs";
import { bankEntries } from "./rcb.mjs";

const ROUNDING = 1e-6; // relative; banks written elsewhere may have rounded their numbers

/** @typedef {import("./moments.mjs").Moments} Moments */

/**
 * @typedef {object} BankStyle
 * @property {string} name
 * @property {string | null} label
 * @property {string | null} domain
 * @property {Moments} moments in the unit range; of a change, those of the content after it
 * @property {import("./changes.mjs").Change & { seed: number, epoch: number }} [change] of the content's own style, and the draw it came from
 */

/** The planes a bank can be looked at in: which two numbers of a mean colour (0 to 1) to plot, and what they are called. */
export const PLANES = /** @type {Record<string, { x: string, y: string, at: (mean: number[]) => number[] }>} */ ({
  chroma: {
    x: "yellow – blue",
    y: "green – red",
    at: ([r, g, b]) => [0.5 + (-0.168736 * r - 0.331264 * g + 0.5 * b), 0.5 + (0.5 * r - 0.418688 * g - 0.081312 * b)],
  },
  light: { x: "dark – light", y: "green – red", at: ([r, g, b]) => [0.299 * r + 0.587 * g + 0.114 * b, 0.5 + (r - g) / 2] },
  rg: { x: "red", y: "green", at: ([r, g]) => [r, g] },
  rb: { x: "red", y: "blue", at: ([r, , b]) => [r, b] },
});

/**
 * Read a bank that StyleBank.save wrote, as .rcb or JSON; anything else is refused with a sentence.
 * @param {Uint8Array} bytes
 * @param {string} file
 * @param {number} blankDeviation below it in every channel a style is blank
 * @returns {Promise<{ name: string, styles: BankStyle[] }>}
 */
export async function readBank(bytes, file, blankDeviation) {
  try {
    const bank = await bankEntries(bytes);
    refuse(bank);
    const styles = Array.from({ length: bank.count }, (_, i) => styleAt(bank, i));
    const isBlank = (/** @type {BankStyle} */ { moments }) => moments.cov.every((row, c) => row[c] < blankDeviation ** 2);
    const usable = bank.blank ? styles : styles.filter((style) => !isBlank(style)); // the library draws from these
    return { name: bank.name || file, styles: usable.length ? usable : styles };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`“${file}” is not a bank: ${why}. Expected is what StyleBank.save writes (.rcb or .json).`);
  }
}

/** @param {Record<string, any>} bank */
function refuse(bank) {
  if (bank.channels !== 3) throw new Error(`it has ${bank.channels} channels, and the page needs three`);
  if ((bank.space ?? "rgb") !== "rgb") throw new Error(`it was measured in ${bank.space}, and the page needs moments of RGB`);
  const { mean, cov, pixels, key } = bank;
  const rows = [mean, cov, pixels, key];
  if (!rows.every((row) => Array.isArray(row) && row.length === bank.count) || !bank.count) throw new Error("its lists differ in length or are empty");
  const whole = mean.every(isFiniteRow(3)) && cov.every(isFiniteRow(6)) && pixels.every(Number.isInteger);
  if (!whole || bank.data_range !== 1) throw new Error("its numbers do not fit together");
  if (new Set(key).size < key.length) throw new Error("two styles share a key");
  const bad = mean.findIndex((/** @type {number[]} */ row, /** @type {number} */ i) => pixels[i] < 1 || !isPossible(row, fromUpperTriangle(cov[i])));
  if (bad >= 0) throw new Error(`no image has the numbers of style ${bad}: means lie between 0 and 1, and covariances are positive semi-definite`);
}

/**
 * Whether an image may have these moments, as the library decides it.
 * @param {number[]} mean
 * @param {number[][]} cov
 */
function isPossible(mean, cov) {
  const variances = cov.map((row, c) => row[c]), total = variances.reduce((sum, value) => sum + value, 0);
  const isOnScale = mean.every((value) => value >= -ROUNDING && value <= 1 + ROUNDING);
  return isOnScale && variances.every((value) => value >= 0) && Math.min(...eigenSymmetric(cov).values) >= -ROUNDING * (total + 1e-9);
}

/** @param {number} length */
function isFiniteRow(length) {
  return (/** @type {unknown} */ row) => Array.isArray(row) && row.length === length && row.every(Number.isFinite);
}

/**
 * @param {any} bank
 * @param {number} i
 * @returns {BankStyle}
 */
function styleAt(bank, i) {
  const moments = { count: bank.pixels[i], mean: bank.mean[i], cov: fromUpperTriangle(bank.cov[i]) };
  return { name: String(bank.key[i]), label: bank.label?.[i] ?? null, domain: bank.domain?.[i] ?? null, moments };
}

/**
 * Its name with label and domain, where known.
 * @param {BankStyle} style
 */
export function fullName({ name, label, domain }) {
  const detail = [label, domain].filter((part) => part !== null).join(", ");
  return detail ? `${name} (${detail})` : name;
}

/**
 * A picture of a style that has none: colours drawn from its nine numbers, always the same ones.
 * @param {BankStyle} style
 */
export function paletteOf({ name, moments }) {
  const side = 12;
  const { values, vectors } = eigenSymmetric(moments.cov);
  const spreads = values.map((value) => Math.sqrt(Math.max(value, 0)));
  const rgba = new Uint8ClampedArray(4 * side * side);
  const random = normals();
  for (let i = 0; i < side * side; i++) {
    const along = spreads.map((spread) => spread * random());
    for (let c = 0; c < 3; c++) {
      rgba[4 * i + c] = 255 * (moments.mean[c] + vectors[c].reduce((sum, value, k) => sum + value * along[k], 0));
    }
    rgba[4 * i + 3] = 255;
  }
  return pictureOf({ name, width: side, height: side, rgba: new Uint8Array(rgba.buffer), alpha: false, note: "", reader: "" });
}

/** Nearly normal numbers from a fixed sequence: twelve uniform ones added up. */
function normals() {
  let state = 12345;
  const uniform = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
  return () => Array.from({ length: 12 }, uniform).reduce((sum, value) => sum + value, -6);
}

/** Draws the plot and finds what was clicked. */
export class BankPlot {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(index: number) => void} choose
   */
  constructor(canvas, choose) {
    this.canvas = canvas;
    /** @type {BankStyle[]} */
    this.styles = [];
    this.selected = -1;
    this.plane = "chroma";
    /** @type {number[] | null} */
    this.content = null;
    this.centre = [0.5, 0.5];
    this.reach = 1;
    canvas.addEventListener("click", (event) => {
      const nearest = this.#nearest(event.offsetX, event.offsetY);
      if (nearest >= 0) choose(nearest);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  draw() {
    const { canvas } = this;
    if (!canvas.clientWidth || !this.styles.length) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    this.#frame();
    const style = getComputedStyle(canvas);
    this.#axes(context, style.getPropertyValue("--line"), style.getPropertyValue("--muted"));
    this.styles.forEach((one, i) => {
      if (i !== this.selected) this.#dot(context, one.moments.mean, 5, style.getPropertyValue("--line-strong"), 1);
    });
    if (this.selected >= 0) this.#dot(context, this.styles[this.selected].moments.mean, 8, style.getPropertyValue("--accent"), 3);
    if (this.content) this.#cross(context, this.content, style.getPropertyValue("--ink"));
  }

  /** Choose the section of the plane that holds all styles, equal in both directions. */
  #frame() {
    const points = [...this.styles.map(({ moments }) => moments.mean), ...(this.content ? [this.content] : [])].map(PLANES[this.plane].at);
    const low = [0, 1].map((k) => points.reduce((least, point) => Math.min(least, point[k]), Infinity)); // too many for arguments
    const high = [0, 1].map((k) => points.reduce((most, point) => Math.max(most, point[k]), -Infinity));
    this.centre = low.map((value, k) => (value + high[k]) / 2);
    this.reach = Math.max(0.04, ...low.map((value, k) => high[k] - value)) * 1.25;
  }

  /** @param {number[]} mean */
  #place(mean) {
    const { clientWidth, clientHeight } = this.canvas;
    const point = PLANES[this.plane].at(mean);
    const scale = Math.min(clientWidth, clientHeight) / this.reach;
    return [clientWidth / 2 + (point[0] - this.centre[0]) * scale, clientHeight / 2 - (point[1] - this.centre[1]) * scale];
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {string} line
   * @param {string} ink
   */
  #axes(context, line, ink) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    context.strokeStyle = line;
    context.lineWidth = 1;
    for (let k = 1; k < 6; k++) {
      context.beginPath();
      context.moveTo((k * width) / 6, 0);
      context.lineTo((k * width) / 6, height);
      context.moveTo(0, (k * height) / 6);
      context.lineTo(width, (k * height) / 6);
      context.stroke();
    }
    context.fillStyle = ink;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText(`${PLANES[this.plane].x} →`, width - 8, height - 8);
    context.textAlign = "left";
    context.fillText(`↑ ${PLANES[this.plane].y}`, 8, 18);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number[]} mean
   * @param {number} radius
   * @param {string} ring
   * @param {number} width
   */
  #dot(context, mean, radius, ring, width) {
    const [x, y] = this.#place(mean);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = `rgb(${mean.map((value) => Math.round(255 * value)).join(" ")})`;
    context.fill();
    context.strokeStyle = ring;
    context.lineWidth = width;
    context.stroke();
  }

  /**
   * Where the content is.
   * @param {CanvasRenderingContext2D} context
   * @param {number[]} mean
   * @param {string} ink
   */
  #cross(context, mean, ink) {
    const [x, y] = this.#place(mean);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    for (const [dx, dy] of [[8, 8], [8, -8]]) {
      context.moveTo(x - dx, y - dy);
      context.lineTo(x + dx, y + dy);
    }
    context.stroke();
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #nearest(x, y) {
    const distances = this.styles.map(({ moments }) => {
      const place = this.#place(moments.mean);
      return Math.hypot(place[0] - x, place[1] - y);
    });
    const least = distances.reduce((nearest, distance) => Math.min(nearest, distance), Infinity);
    return least < 24 ? distances.indexOf(least) : -1;
  }
}
