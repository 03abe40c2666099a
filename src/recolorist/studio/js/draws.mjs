// Drawing styles from a bank as the library does: the same generator (Philox), the same samplers, the same styles for the same seed.

import { changeSizes, drawChange } from "./changes.mjs";
import { StudioError } from "./source.mjs";

/** @typedef {import("./bank.mjs").BankStyle} BankStyle */
/** @typedef {{ sampler: string, seed: number, group: string }} DrawOptions group: the content's own domain or label */

const WORD = (1n << 64n) - 1n;
const FACTORS = [0xd2e7470ee14c6c93n, 0xca5a826395121157n], STEPS = [0x9e3779b97f4a7c15n, 0xbb67ae8584caa73bn];

/** The stream of random numbers that recolorist.augment.streams opens for (seed, epoch, index 0). */
export class Stream {
  /**
   * @param {number} seed
   * @param {number} epoch
   */
  constructor(seed, epoch) {
    this.counter = [0n, 0n, BigInt(epoch), 0n];
    this.key = [BigInt(seed), 0n];
    /** @type {bigint[]} */
    this.words = [];
    this.half = -1n; // the upper half of a word whose lower half was used
  }

  /** 64 random bits. */
  next() {
    if (!this.words.length) {
      this.counter[0] = (this.counter[0] + 1n) & WORD; // so few are drawn that it never carries
      this.words = philox(this.counter, this.key);
    }
    return /** @type {bigint} */ (this.words.shift());
  }

  /** A number from 0 to below 1. */
  random() {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  /**
   * A whole number from 0 to below the limit, as NumPy draws it (Lemire).
   * @param {number} limit
   */
  integer(limit) {
    if (limit === 1) return 0;
    const range = BigInt(limit), threshold = (1n << 32n) % range;
    for (;;) {
      const product = this.#bits32() * range;
      if ((product & 0xffffffffn) >= threshold) return Number(product >> 32n);
    }
  }

  #bits32() {
    const { half } = this;
    if (half >= 0n) {
      this.half = -1n;
      return half;
    }
    const word = this.next();
    this.half = word >> 32n;
    return word & 0xffffffffn;
  }
}

/**
 * Ten rounds of Philox on four words (Salmon 2011).
 * @param {bigint[]} counter
 * @param {bigint[]} key
 */
function philox(counter, key) {
  let [a, b, c, d] = counter, [k, l] = key;
  for (let round = 0; round < 10; round++) {
    const first = a * FACTORS[0], second = c * FACTORS[1];
    [a, b, c, d] = [(second >> 64n) ^ b ^ k, second & WORD, (first >> 64n) ^ d ^ l, first & WORD];
    [k, l] = [(k + STEPS[0]) & WORD, (l + STEPS[1]) & WORD];
  }
  return [a, b, c, d];
}

/** Used in place of the moments of a change, which are known only with a content. */
const GREY = { count: 1, mean: [0.5, 0.5, 0.5], cov: [[0, 0, 0], [0, 0, 0], [0, 0, 0]] };

/** Which of the content's own names a sampler needs. @type {Record<string, "domain" | "label">} */
export const NEEDS = { other_domain: "domain", same_label: "label", other_label: "label" };

/**
 * What `Colorist(bank, p=1, sampler=..., seed=...)` draws for index 0 in so many epochs.
 * @param {BankStyle[]} styles
 * @param {DrawOptions} options
 * @param {number} count
 * @returns {BankStyle[]}
 */
export function drawStyles(styles, { sampler, seed, group }, count) {
  const sizes = sampler === "own_style" ? changeSizes(styles) : null;
  return Array.from({ length: count }, (_, epoch) => {
    const stream = new Stream(seed, epoch);
    stream.random(); // decides whether an image is changed at all
    if (sizes) {
      const change = { ...drawChange(sizes, stream), seed, epoch };
      return { name: `${epoch + 1}: own_style`, label: null, domain: null, moments: GREY, change };
    }
    const style = sampler === "interpolate" ? between(styles, stream) : styles[drawRow(styles, stream, sampler, group)];
    return { ...style, name: `${epoch + 1}: ${style.name}` };
  });
}

/**
 * @param {BankStyle[]} styles
 * @param {Stream} stream
 * @param {string} sampler
 * @param {string} group
 */
function drawRow(styles, stream, sampler, group) {
  if (sampler === "uniform") return stream.integer(styles.length);
  if (sampler === "balanced_domain") {
    const names = namesOf(styles, "domain");
    if (!names.length) throw new StudioError("This sampler needs domains, and the bank has none; choose another one.");
    const drawn = names[stream.integer(names.length)];
    return pick(rowsOf(styles, "domain", (name) => name === drawn), stream);
  }
  const by = NEEDS[sampler], inside = sampler === "same_label";
  if (!namesOf(styles, by).length) throw new StudioError(`This sampler needs ${by}s, and the bank has none; choose another one.`);
  const rows = rowsOf(styles, by, (name) => (name === group) === inside);
  return rows.length ? pick(rows, stream) : stream.integer(styles.length);
}

/**
 * @param {number[]} rows
 * @param {Stream} stream
 */
const pick = (rows, stream) => rows[stream.integer(rows.length)];

/**
 * The domains or labels of a bank, in order.
 * @param {BankStyle[]} styles
 * @param {"domain" | "label"} by
 * @returns {string[]}
 */
export function namesOf(styles, by) {
  const names = new Set(styles.flatMap((style) => (style[by] === null ? [] : [/** @type {string} */ (style[by])])));
  return [...names].sort(compareText);
}

/**
 * By code points, as Python compares text.
 * @param {string} a
 * @param {string} b
 */
function compareText(a, b) {
  const [x, y] = [a, b].map((text) => Array.from(text, (letter) => /** @type {number} */ (letter.codePointAt(0))));
  const place = x.findIndex((value, i) => value !== y[i]);
  return place < 0 ? x.length - y.length : x[place] - (y[place] ?? -1);
}

/**
 * Rows whose name is wanted, group by group, rows without a name first: the order of the library.
 * @param {BankStyle[]} styles
 * @param {"domain" | "label"} by
 * @param {(name: string | null) => boolean} wanted
 */
function rowsOf(styles, by, wanted) {
  const chosen = [null, ...namesOf(styles, by)].filter(wanted);
  return chosen.flatMap((name) => styles.flatMap((style, row) => (style[by] === name ? [row] : [])));
}

/**
 * A style on the way between two.
 * @param {BankStyle[]} styles
 * @param {Stream} stream
 * @returns {BankStyle}
 */
function between(styles, stream) {
  const row = stream.integer(styles.length), next = styles.length > 1 ? stream.integer(styles.length - 1) : 0;
  const first = styles[row], second = styles[styles.length > 1 && next >= row ? next + 1 : next], share = stream.random();
  const mixed = (/** @type {number} */ a, /** @type {number} */ b) => a + share * (b - a);
  const { count, mean, cov } = first.moments, other = second.moments;
  const moments = {
    count,
    mean: mean.map((value, c) => mixed(value, other.mean[c])),
    cov: cov.map((line, i) => line.map((value, j) => mixed(value, other.cov[i][j]))),
  };
  return { name: `${first.name} and ${second.name}, ${share.toFixed(2)}`, label: null, domain: null, moments };
}
