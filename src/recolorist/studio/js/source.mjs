// One image and what was worked out of it, kept so that moving a slider does not repeat it.

import { distinctColours, planesOf, weigh } from "./colours.mjs";
import { countLevels, inOrder } from "./histograms.mjs";
import { momentsOf, sumPixels } from "./moments.mjs";
import { luminanceMask } from "./pixels.mjs";

/** @typedef {import("./colours.mjs").Plane} Plane */
/** @typedef {import("./kernels.mjs").Kernels} Kernels */
/** @typedef {import("./moments.mjs").Moments} Moments */
/** @typedef {import("./plan.mjs").Space} Space */

/**
 * What was seen of an image.
 * @typedef {object} Seen
 * @property {Moments} moments of RGB, in levels
 * @property {Uint32Array[] | null} counts null for a style without pixels
 * @property {Uint8Array | null} mask
 * @property {string} key names the mask; equal keys of one image are equal masks
 */

/** A sentence for the person at the page. */
export class StudioError extends Error {}

export class Source {
  /**
   * @param {Int32Array} pixels
   * @param {number} width
   * @param {Kernels} kernels
   */
  constructor(pixels, width, kernels) {
    this.pixels = pixels;
    this.width = width;
    this.kernels = kernels;
    /** @type {Seen | null} */
    this.seen = null;
    /** @type {Uint32Array[] | null} */
    this.every = null;
    /** @type {import("./colours.mjs").Colours | null} */
    this.distinct = null;
    /** @type {{ space: Space, channels: (Plane & import("./histograms.mjs").Channel)[] } | null} */
    this.converted = null;
    /** @type {{ seen: Seen, weights: Uint32Array } | null} */
    this.weighed = null;
    /** @type {{ seen: Seen, space: string, moments: Moments } | null} */
    this.measured = null;
  }

  /** Its distinct colours. */
  colours() {
    return (this.distinct ??= distinctColours(this.pixels));
  }

  /**
   * Its colours in the channels of a space, and their order; like the measurement, the last are kept.
   * @param {Space} space
   */
  channelsIn(space) {
    if (this.converted?.space !== space) {
      const planes = planesOf(this.colours().list, space, this.kernels);
      this.converted = { space, channels: planes.map((plane) => ({ ...plane, ...inOrder(plane.values, this.kernels) })) };
    }
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
   * @param {"off" | "darker" | "brighter"} side
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

  /**
   * Moments in a space that is not linear.
   * @param {Seen} seen
   * @param {string} space
   */
  momentsIn(seen, space) {
    if (this.measured?.seen !== seen || this.measured.space !== space) {
      const { mask } = seen, taken = mask ? this.pixels.filter((_, i) => mask[i]) : this.pixels;
      this.measured = { seen, space, moments: this.kernels.measure(taken, space) };
    }
    return this.measured.moments;
  }
}
