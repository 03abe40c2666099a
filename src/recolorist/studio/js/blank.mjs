// Blank images, as in blank.py: the same two conditions on the same numbers.

import { decide } from "./plan.mjs";

/** @typedef {import("./moments.mjs").Moments} Moments */
/** @typedef {{ band: number, share: number }} BlankRule its limits, taken from the library when the page is made */

/**
 * Whether an image has nothing in it: in every channel the deviation is below the band and most values lie within it.
 * @param {Moments} moments in levels
 * @param {Uint32Array[]} counts histograms of the same pixels
 * @param {BlankRule} rule
 */
export function isBlank({ count, mean, cov }, counts, rule) {
  const band = rule.band * 255;
  if (cov.some((row, c) => row[c] >= band * band)) return false;
  return counts.every((levels, c) => {
    const near = levels.reduce((sum, found, level) => (Math.abs(level - mean[c]) <= band ? sum + found : sum), 0);
    return near / count >= rule.share;
  });
}

/**
 * The plan of a blank image that is left as it is.
 * @param {Moments} content
 * @param {import("./plan.mjs").Space} rgb
 * @returns {import("./plan.mjs").Plan}
 */
export function blankPlan(content, rgb) {
  const plan = decide(content, content, { method: "mean_std", strength: 0, maxGain: 10 }, rgb);
  return { ...plan, flags: content.mean.map(() => ["blank"]) };
}
