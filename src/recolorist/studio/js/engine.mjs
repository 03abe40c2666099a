// Measure, plan, apply, report: everything between pixels in and pixels out. Knows no page; runs in the worker and in tests.

import { blankPlan, isBlank } from "./blank.mjs";
import { applyColours, channelsOf, distinctColours, recolour, weigh } from "./colours.mjs";
import { detailLoss } from "./detail.mjs";
import { blendTable, countLevels, matchLevels, matchValues } from "./histograms.mjs";
import { deviations, inLevels, momentsOf, sumPixels, sumsOfLevels } from "./moments.mjs";
import { affineTable, applyMatrix, applyTables, keepOutside, luminanceMask } from "./pixels.mjs";
import { decide, isDiagonal } from "./plan.mjs";
import { reportOn } from "./report.mjs";

/** @typedef {import("./moments.mjs").Moments} Moments */
/** @typedef {import("./plan.mjs").Plan} Plan */
/** @typedef {import("./plan.mjs").Space} Space */

/**
 * @typedef {object} Options
 * @property {"mean_std" | "covariance" | "histogram"} method
 * @property {string} space
 * @property {number} strength
 * @property {number} maxGain
 * @property {"off" | "darker" | "brighter"} mask
 * @property {number} contentThreshold
 * @property {number} styleThreshold
 * @property {boolean} onlyInside change only pixels inside the mask
 * @property {boolean} keepBlank leave a blank content as it is
 */

/**
 * What was seen of an image.
 * @typedef {object} Seen
 * @property {Moments} moments
 * @property {Uint32Array[] | null} counts null for a style without pixels
 * @property {Uint8Array | null} mask
 * @property {string} key names the mask; equal keys of one image are equal masks
 */

/**
 * The picture, and how it was decided.
 * @typedef {object} Match
 * @property {Plan | null} plan null for histogram matching, which is not one affine map
 * @property {string[][]} flags per channel of the space
 * @property {Seen} content
 * @property {Seen} style
 * @property {{ content: boolean, style: boolean }} blank which of the two has nothing in it
 * @property {Uint8Array | null} changed the pixels that were changed; null for all
 * @property {Int32Array} pixels
 * @property {Uint8Array} notes on clipping, one byte for each pixel
 */

/**
 * What can be told of it afterwards.
 * @typedef {object} Account
 * @property {{ counts: Uint32Array[], mean: number[], std: number[] }} output over the measured pixels
 * @property {import("./report.mjs").Report} report
 * @property {import("./detail.mjs").DetailLoss} loss
 */

/** @typedef {Match & Account} Result */

/** A sentence for the person at the page. */
export class StudioError extends Error {}

/** One image: its pixels, and the last measurement so that moving a slider does not repeat it. */
class Source {
  /** @param {Int32Array} pixels */
  constructor(pixels) {
    this.pixels = pixels;
    /** @type {Seen | null} */
    this.seen = null;
    /** @type {Uint32Array[] | null} */
    this.every = null;
    /** @type {import("./colours.mjs").Colours | null} */
    this.distinct = null;
    /** @type {{ space: Space, channels: import("./colours.mjs").Channel[] } | null} */
    this.converted = null;
    /** @type {{ seen: Seen, weights: Uint32Array } | null} */
    this.weighed = null;
  }

  /** Its distinct colours. */
  colours() {
    return (this.distinct ??= distinctColours(this.pixels));
  }

  /**
   * Its colours in the channels of a space; like the measurement, the last are kept.
   * @param {Space} space
   */
  channelsIn(space) {
    if (this.converted?.space !== space) this.converted = { space, channels: channelsOf(this.colours().list, space) };
    return this.converted.channels;
  }

  /**
   * How many measured pixels have each colour.
   * @param {Seen} seen
   */
  weights(seen) {
    if (this.weighed?.seen !== seen) this.weighed = { seen, weights: weigh(this.colours(), seen.mask) };
    return this.weighed.weights;
  }

  /** Histograms of all pixels, whatever the mask. */
  allCounts() {
    return (this.every ??= countLevels(this.pixels, null));
  }

  /**
   * @param {Options["mask"]} side
   * @param {number} threshold
   * @param {string} name for the error message
   * @returns {Seen}
   */
  measure(side, threshold, name) {
    const key = side === "off" ? "off" : `${side} ${threshold}`;
    if (this.seen?.key === key) return this.seen;
    const { mask, count } = side === "off" ? { mask: null, count: 1 } : luminanceMask(this.pixels, side, threshold);
    if (!count) throw new StudioError(`The mask selects no pixel of the ${name}; move its threshold.`);
    const counts = countLevels(this.pixels, mask);
    this.seen = { moments: momentsOf(sumPixels(this.pixels, mask, counts)), counts, mask, key };
    return this.seen;
  }
}

/** Holds a content and a style and matches them. */
export class Engine {
  /**
   * @param {Record<string, Space>} spaces the library's linear spaces
   * @param {import("./blank.mjs").BlankRule} rule the library's rule for blank images
   */
  constructor(spaces, rule) {
    this.spaces = spaces;
    this.rule = rule;
    /** @type {Source | null} */
    this.content = null;
    /** @type {Source | Moments | null} */
    this.style = null;
    /** @type {{ content: Seen, style: Seen, space: Space, channels: { goals: Float64Array, flags: string[] }[] } | null} */
    this.curves = null;
    this.width = 1;
    this.target = new Int32Array(0);
    this.notes = new Uint8Array(0);
  }

  /**
   * @param {Int32Array} pixels
   * @param {number} width
   */
  setContent(pixels, width) {
    this.content = new Source(pixels);
    this.width = width;
    this.target = new Int32Array(pixels.length);
    this.notes = new Uint8Array(pixels.length);
  }

  /** @param {Int32Array} pixels */
  setStyle(pixels) {
    this.style = new Source(pixels);
  }

  /** @param {Moments} unit moments in the unit range, from a bank */
  setStyleMoments(unit) {
    this.style = inLevels(unit);
  }

  /**
   * Match; the picture does not wait for the numbers.
   * @param {Options} options
   * @returns {Match} its pixels and notes are the engine's own, overwritten by the next match
   */
  match(options) {
    if (!this.content || !this.style) throw new StudioError("Choose a content and a style first.");
    const content = this.content.measure(options.mask, options.contentThreshold, "content");
    const style = this.style instanceof Source
      ? this.style.measure(options.mask, options.styleThreshold, "style")
      : { moments: this.style, counts: null, mask: null, key: "off" };
    const blank = { content: this.#isBlank(content), style: this.#isBlank(style) };
    const { plan, flags } = blank.content && options.keepBlank
      ? this.#keep(this.content, content)
      : this.#map(this.content, content, style, options);
    const changed = options.onlyInside ? content.mask : null;
    if (changed) keepOutside(this.content.pixels, changed, this.target, this.notes);
    return { plan, flags, content, style, blank, changed, pixels: this.target, notes: this.notes };
  }

  /**
   * The numbers of the last match.
   * @param {Match} match
   * @returns {Account}
   */
  account({ content, changed, pixels, notes, plan }) {
    if (!this.content || !content.counts) throw new StudioError("Match first.");
    const measured = countLevels(pixels, content.mask);
    const everywhere = changed === content.mask;
    const report = reportOn({
      content: this.content.pixels, output: pixels, notes, mask: changed,
      counts: everywhere ? content.counts : this.content.allCounts(),
      countsAfter: everywhere ? measured : countLevels(pixels, null),
    });
    const loss = detailLoss({ content: this.content.pixels, output: pixels, mask: changed, width: this.width, plan });
    return { output: summary(measured), report, loss };
  }

  /** @param {Seen} seen */
  #isBlank({ moments, counts }) {
    return counts !== null && isBlank(moments, counts, this.rule);
  }

  /**
   * Copy a blank content to the target.
   * @param {Source} source
   * @param {Seen} content
   * @returns {{ plan: Plan, flags: string[][] }}
   */
  #keep(source, content) {
    this.target.set(source.pixels);
    this.notes.fill(0);
    const plan = blankPlan(content.moments, this.spaces.rgb);
    return { plan, flags: plan.flags };
  }

  /**
   * Write the target.
   * @param {Source} source
   * @param {Seen} content
   * @param {Seen} style
   * @param {Options} options
   * @returns {{ plan: Plan | null, flags: string[][] }}
   */
  #map(source, content, style, options) {
    const { method } = options, { pixels } = source;
    if (method === "histogram") return { plan: null, flags: this.#matchHistograms(source, content, style, options) };
    const plan = decide(content.moments, style.moments, { ...options, method }, this.spaces[options.space]);
    if (isDiagonal(plan)) {
      applyTables(pixels, plan.offset.map((offset, c) => affineTable(plan.matrix[c][c], offset)), this.target, this.notes);
    } else {
      applyMatrix(pixels, plan.matrix, plan.offset, this.target, this.notes);
    }
    return { plan, flags: plan.flags };
  }

  /**
   * In RGB through tables; elsewhere colour by colour.
   * @param {Source} source
   * @param {Seen} content
   * @param {Seen} style
   * @param {Options} options
   */
  #matchHistograms(source, content, style, { space: name, strength }) {
    const [counts, goals] = [content.counts, style.counts];
    if (!(this.style instanceof Source) || !counts || !goals) {
      throw new StudioError("Histogram matching needs the style's pixels, and a bank holds none; choose another method or style.");
    }
    if (name !== "rgb") {
      const space = this.spaces[name], matched = this.#curvesIn(space, source, content, this.style, style);
      const decided = recolour(source.channelsIn(space), matched.map(({ goals }) => goals), space, strength);
      applyColours(source.pixels, source.colours().index, decided, this.target, this.notes);
      return matched.map(({ flags }) => flags);
    }
    const clipped = new Uint8Array(256); // a level of the style is never out of range
    const matched = counts.map((channel, c) => matchLevels(channel, goals[c]));
    applyTables(source.pixels, matched.map((one) => ({ table: blendTable(one.goals, strength), clipped })), this.target, this.notes);
    return matched.map(({ flags }) => flags);
  }

  /**
   * Where each colour goes at full strength; the last answer is kept, so that moving the strength does not repeat it.
   * @param {Space} space
   * @param {Source} source
   * @param {Seen} content
   * @param {Source} other
   * @param {Seen} style
   */
  #curvesIn(space, source, content, other, style) {
    const { curves } = this;
    if (curves?.content === content && curves.style === style && curves.space === space) return curves.channels;
    const [weights, styleWeights, goals] = [source.weights(content), other.weights(style), other.channelsIn(space)];
    const unit = space.denominator * 255;
    const channels = source.channelsIn(space).map((channel, c) => matchValues(channel, weights, goals[c], styleWeights, unit));
    this.curves = { content, style, space, channels };
    return channels;
  }
}

/**
 * Mean and deviation from histograms.
 * @param {Uint32Array[]} counts
 */
function summary(counts) {
  const sums = counts.map(sumsOfLevels);
  const moments = momentsOf({
    count: counts[0].reduce((sum, count) => sum + count, 0),
    linear: sums.map(([sum]) => sum),
    products: [sums[0][1], 0, 0, sums[1][1], 0, sums[2][1]], // products of two channels are not asked for
  });
  return { counts, mean: moments.mean, std: deviations(moments) };
}
