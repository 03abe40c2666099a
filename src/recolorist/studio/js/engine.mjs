// Measure, plan, apply, report: everything between pixels in and pixels out. Knows no page; runs in the worker and in tests.

import { blankPlan, isBlank } from "./blank.mjs";
import { changedStyle } from "./changes.mjs";
import { applyColours, planesOf, recolour } from "./colours.mjs";
import { detailLoss } from "./detail.mjs";
import { roundHalfEven } from "./exact.mjs";
import { blendTable, countLevels, matchExactly, matchLevels, matchValues } from "./histograms.mjs";
import { deviations, inLevels, momentsOf, sumsOfLevels } from "./moments.mjs";
import { affineTable, applyMatrix, applyTables, keepOutside, noteLimits } from "./pixels.mjs";
import { decide, isDiagonal, isIdentity } from "./plan.mjs";
import { reportOn } from "./report.mjs";
import { Source, StudioError } from "./source.mjs";

/** @typedef {import("./changes.mjs").Change} Change */
/** @typedef {import("./kernels.mjs").Kernels} Kernels */
/** @typedef {import("./moments.mjs").Moments} Moments */
/** @typedef {import("./source.mjs").Seen} Seen */
/** @typedef {import("./plan.mjs").Plan} Plan */
/** @typedef {import("./plan.mjs").Space} Space */

/**
 * @typedef {object} Options
 * @property {"mean_std" | "covariance" | "histogram" | "exact_histogram"} method
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
 * The picture, and how it was decided.
 * @typedef {object} Match
 * @property {Plan | null} plan null for histogram matching, which is not one affine map
 * @property {string[][]} flags per channel of the space
 * @property {Seen} content
 * @property {Seen} style
 * @property {{ content: boolean, style: boolean }} blank which of the two has nothing in it
 * @property {Uint8Array | null} changed the pixels that were changed; null for all
 * @property {Int32Array} pixels
 * @property {Uint8Array | null} notes on clipping, one byte for each pixel; null where they are counted afterwards
 */

/**
 * What is known of the match afterwards.
 * @typedef {object} Account
 * @property {{ counts: Uint32Array[], mean: number[], std: number[] }} output over the measured pixels
 * @property {import("./report.mjs").Report} report
 * @property {import("./detail.mjs").DetailLoss} loss
 * @property {Uint8Array} notes
 */

/** @typedef {Match & Account} Result */

/** Channels of colours or of pixels, and where each value goes. @typedef {{ planes: import("./colours.mjs").Plane[], goals: Float64Array[], flags: string[][] }} Ranked */

/** Holds a content and a style and matches them. */
export class Engine {
  /**
   * @param {Record<string, Space>} spaces the library's colour spaces
   * @param {import("./blank.mjs").BlankRule} rule the library's rule for blank images
   * @param {Kernels} kernels the library's loops
   */
  constructor(spaces, rule, kernels) {
    this.spaces = spaces;
    this.rule = rule;
    this.kernels = kernels;
    /** @type {Source | null} */
    this.content = null;
    /** @type {Source | Moments | Change | null} */
    this.style = null;
    /** @type {{ method: string, content: Seen, style: Seen, space: Space, ranked: Ranked } | null} */
    this.last = null;
    this.target = new Int32Array(0);
    this.notes = new Uint8Array(0);
  }

  /**
   * @param {Int32Array} pixels
   * @param {number} width
   */
  setContent(pixels, width) {
    this.content = new Source(pixels, width, this.kernels);
    this.target = new Int32Array(pixels.length);
    this.notes = new Uint8Array(pixels.length);
  }

  /**
   * @param {Int32Array} pixels
   * @param {number} width
   */
  setStyle(pixels, width) {
    this.style = new Source(pixels, width, this.kernels);
  }

  /** @param {Moments} unit moments of RGB in the unit range, from a bank */
  setStyleMoments(unit) {
    this.style = inLevels(unit);
  }

  /** @param {Change} change of the content's own style */
  setStyleChange(change) {
    this.style = change;
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
      : { moments: "step" in this.style ? changedStyle(content.moments, this.style, options.method) : this.style, counts: null, mask: null, key: "off" };
    const blank = { content: this.#isBlank(content), style: this.#isBlank(style) };
    const kept = blank.content && options.keepBlank;
    const { plan, flags } = kept ? this.#keep(this.content, content) : this.#map(this.content, content, style, options);
    const changed = options.onlyInside || options.method === "exact_histogram" ? content.mask : null; // pixels outside have no rank
    if (changed) keepOutside(this.content.pixels, changed, this.target, this.notes);
    const notes = plan && !this.spaces[plan.space].linear ? null : this.notes;
    return { plan, flags, content, style, blank, changed, pixels: this.target, notes };
  }

  /**
   * The numbers of the last match.
   * @param {Match} match
   * @returns {Account}
   */
  account({ content, changed, pixels, plan, notes }) {
    if (!this.content || !content.counts) throw new StudioError("Match first.");
    const source = this.content.pixels, measured = countLevels(pixels, content.mask), everywhere = changed === content.mask;
    if (plan && !notes) {
      noteLimits(pixels, this.kernels.mapUnlimited(source, plan), this.notes);
      if (changed) keepOutside(source, changed, this.target, this.notes);
    }
    const report = reportOn({
      content: source, output: pixels, notes: this.notes, mask: changed,
      counts: everywhere ? content.counts : this.content.allCounts(),
      countsAfter: everywhere ? measured : countLevels(pixels, null),
    });
    const loss = detailLoss({ content: source, output: pixels, mask: changed, width: this.content.width, expect: this.#expectation(plan) });
    return { output: summary(measured), report, loss, notes: this.notes };
  }

  /**
   * What a plan would write into a channel without limits; null where there is no plan.
   * @param {Plan | null} plan
   * @returns {import("./detail.mjs").Expect | null}
   */
  #expectation(plan) {
    if (!plan) return null;
    if (this.spaces[plan.space].linear) return (pixels) => expectedLevels(pixels, plan);
    // one colour far outside the gamut must not hide the others
    return (pixels) => this.kernels.mapUnlimited(pixels, plan).map((plane) => plane.map((value) => Math.min(Math.max(value, -255), 510)));
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
    this.#copy(source);
    const plan = blankPlan(content.moments, this.spaces.rgb);
    return { plan, flags: plan.flags };
  }

  /** @param {Source} source */
  #copy(source) {
    this.target.set(source.pixels);
    this.notes.fill(0);
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
    const { method } = options, { pixels } = source, space = this.spaces[options.space];
    if (method === "histogram" || method === "exact_histogram") return { plan: null, flags: this.#rank(source, content, style, options) };
    const plan = decide(...this.#moments(source, content, style, space), { ...options, method }, space);
    if (isIdentity(plan)) this.#copy(source);
    else if (!space.linear) this.kernels.map(pixels, plan, this.target);
    else if (isDiagonal(plan)) {
      applyTables(pixels, plan.offset.map((offset, c) => affineTable(plan.matrix[c][c], offset)), this.target, this.notes);
    } else {
      applyMatrix(pixels, plan.matrix, plan.offset, this.target, this.notes);
    }
    return { plan, flags: plan.flags };
  }

  /**
   * What a plan is made of: moments of RGB, or of a space that is not linear.
   * @param {Source} source
   * @param {Seen} content
   * @param {Seen} style
   * @param {Space} space
   * @returns {[Moments, Moments]}
   */
  #moments(source, content, style, space) {
    if (space.linear) return [content.moments, style.moments];
    if (!(this.style instanceof Source)) {
      throw new StudioError("This colour space needs the style's pixels, and the bank holds moments of RGB; choose a linear space or an image.");
    }
    return [source.momentsIn(content, space.name), this.style.momentsIn(style, space.name)];
  }

  /**
   * The methods that rank. Levels of RGB go through tables; elsewhere each colour, or each pixel, has its goal.
   * @param {Source} source
   * @param {Seen} content
   * @param {Seen} style
   * @param {Options} options
   */
  #rank(source, content, style, { method, space: name, strength }) {
    const [counts, goals] = [content.counts, style.counts];
    if (!(this.style instanceof Source) || !counts || !goals) {
      throw new StudioError("Histogram matching needs the style's pixels, and a bank holds none; choose another method or style.");
    }
    if (strength === 0 || isSame(source, content, this.style, style)) {
      this.#copy(source);
      return [[], [], []];
    }
    if (name === "rgb" && method === "histogram") {
      const clipped = new Uint8Array(256); // a level of the style is never out of range
      const matched = counts.map((channel, c) => matchLevels(channel, goals[c]));
      applyTables(source.pixels, matched.map((one) => ({ table: blendTable(one.goals, strength), clipped })), this.target, this.notes);
      return matched.map(({ flags }) => flags);
    }
    const space = this.spaces[name], ranked = this.#goals(method, space, source, content, this.style, style);
    const decided = recolour(ranked.planes, ranked.goals, space, strength, this.kernels);
    applyColours(source.pixels, method === "histogram" ? source.colours().index : null, decided, this.target, this.notes);
    return ranked.flags;
  }

  /**
   * Where each colour or pixel goes at full strength; the last answer is kept, so that moving the strength does not repeat it.
   * @param {string} method
   * @param {Space} space
   * @param {Source} source
   * @param {Seen} content
   * @param {Source} other
   * @param {Seen} style
   * @returns {Ranked}
   */
  #goals(method, space, source, content, other, style) {
    const { last } = this;
    if (last?.method === method && last.content === content && last.style === style && last.space === space) return last.ranked;
    const planes = method === "histogram" ? source.channelsIn(space) : planesOf(source.pixels, space, this.kernels);
    const matched = method === "histogram"
      ? this.#byShare(space, source, source.weights(content), other, other.weights(style))
      : this.#byRank(space, planes, source.width, content.mask, other, style.mask);
    const ranked = { planes, goals: matched.map(({ goals }) => goals), flags: matched.map(({ flags }) => flags) };
    this.last = { method, content, style, space, ranked };
    return ranked;
  }

  /**
   * @param {Space} space
   * @param {Source} source
   * @param {Uint32Array} weights
   * @param {Source} other
   * @param {Uint32Array} styleWeights
   */
  #byShare(space, source, weights, other, styleWeights) {
    const goals = other.channelsIn(space);
    return source.channelsIn(space).map((channel, c) => matchValues(channel, weights, goals[c], styleWeights, channel.unit));
  }

  /**
   * @param {Space} space
   * @param {import("./colours.mjs").Plane[]} planes
   * @param {number} width
   * @param {Uint8Array | null} mask
   * @param {Source} other
   * @param {Uint8Array | null} styleMask
   */
  #byRank(space, planes, width, mask, other, styleMask) {
    const styles = planesOf(other.pixels, space, this.kernels);
    return planes.map((plane, c) => {
      const { values } = styles[c];
      return matchExactly(plane, width, mask, styleMask ? values.filter((_, i) => styleMask[i]) : values, this.kernels);
    });
  }
}

/**
 * Whether an image is matched to itself, which leaves it as it is in every space.
 * @param {Source} source
 * @param {Seen} content
 * @param {Source} other
 * @param {Seen} style
 */
function isSame(source, content, other, style) {
  const same = source.pixels.length === other.pixels.length && source.width === other.width && !content.mask && !style.mask;
  return same && source.pixels.every((pixel, i) => ((pixel ^ other.pixels[i]) & 0xffffff) === 0);
}

/**
 * What a plan of RGB would write without limits.
 * @param {Int32Array} pixels
 * @param {Plan} plan
 * @returns {Float64Array[]}
 */
function expectedLevels(pixels, plan) {
  const diagonal = isDiagonal(plan);
  return plan.matrix.map(([red, green, blue], c) => Float64Array.from(pixels, (p) => {
    if (diagonal) return plan.matrix[c][c] * ((p >>> (8 * c)) & 255);
    return roundHalfEven(red * (p & 255) + green * ((p >>> 8) & 255) + blue * ((p >>> 16) & 255) + plan.offset[c]);
  }));
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
