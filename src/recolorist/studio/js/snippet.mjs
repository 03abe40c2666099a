// A Python script that reproduces the output of the page byte for byte, and checks that it does.

import { planJson } from "./plan.mjs";

/** @typedef {import("./engine.mjs").Options} Options */
/** @typedef {import("./files.mjs").Picture} Picture */

/**
 * @typedef {object} Situation
 * @property {string} version of the library
 * @property {Options} options
 * @property {Picture} content
 * @property {Picture | import("./bank.mjs").BankStyle} style
 * @property {import("./plan.mjs").Plan | null} plan
 * @property {{ content: string | null, output: string | null }} fingerprints
 */

const text = (/** @type {string} */ value) => JSON.stringify(value); // a JSON string is a Python string

/**
 * @param {Situation} situation
 * @returns {string}
 */
export function pythonSnippet(situation) {
  const { version, content, plan, fingerprints } = situation;
  const masked = situation.options.mask !== "off";
  const lines = [
    `"""Made by Recolorist Studio ${version}: reproduces its output byte for byte."""`,
    "",
    "import hashlib",
    "",
    "import numpy as np",
    `from PIL import Image${needsOrientation(situation) ? ", ImageOps" : ""}`,
    "",
    "import recolorist as rc",
    "",
    ...reading("content", content),
    ...check("content", fingerprints.content, "this file is decoded to other pixels here than in the browser"),
    ...(masked ? [maskLine("mask", "content", situation.options.mask, situation.options.contentThreshold)] : []),
    ...(plan ? byPlan(situation, plan) : byMatch(situation)),
    ...check("output", fingerprints.output, "not the bytes of the page"),
    'Image.fromarray(output).save("output.png")',
    "",
  ];
  return lines.join("\n");
}

/** @param {Situation} situation */
function needsOrientation({ content, style, plan }) {
  return content.reader.includes("ImageOps") || (!plan && "reader" in style && style.reader.includes("ImageOps"));
}

/**
 * @param {string} variable
 * @param {Picture} picture
 */
function reading(variable, picture) {
  return [`path = ${text(picture.name)}`, `${variable} = np.asarray(${picture.reader})`];
}

/**
 * @param {string} variable
 * @param {string | null} fingerprint
 * @param {string} otherwise
 */
function check(variable, fingerprint, otherwise) {
  if (!fingerprint) return [];
  return [`assert hashlib.sha256(${variable}.tobytes()).hexdigest() == ${text(fingerprint)}, ${text(otherwise)}`];
}

/**
 * @param {string} variable
 * @param {string} image
 * @param {Options["mask"]} side
 * @param {number} threshold
 */
function maskLine(variable, image, side, threshold) {
  const luminance = `${image}[..., :3].astype(np.int64) @ [299, 587, 114]`;
  return `${variable} = ${luminance} ${side === "darker" ? "<" : ">"} 1000 * ${threshold}`;
}

/**
 * The plan's own numbers, so that no other processor's rounding comes in.
 * @param {Situation} situation
 * @param {import("./plan.mjs").Plan} plan
 */
function byPlan(situation, plan) {
  const inside = situation.options.mask !== "off" && situation.options.onlyInside ? ", mask=mask" : "";
  return [
    plan.flags[0].includes("blank") ? "# the content is blank and was left as it is" : `# decided by: ${call(situation)}`,
    `plan = rc.Plan.from_json('${planJson(plan)}')`,
    `output = rc.apply(content, plan${inside})`,
  ];
}

/** @param {Situation} situation */
function byMatch(situation) {
  const { style, options } = situation;
  const lines = "reader" in style ? reading("style", style) : [];
  if (options.mask !== "off") lines.push(maskLine("style_mask", "style", options.mask, options.styleThreshold));
  return [...lines, `output = ${call(situation)}`];
}

/** @param {Situation} situation */
function call({ options, style }) {
  const named = [`method=${text(options.method)}`, `space=${text(options.space)}`, `strength=${options.strength}`];
  const masks = options.mask !== "off" ? ["mask=mask"] : [];
  if (!options.method.endsWith("histogram")) named.push(`max_gain=${options.maxGain}`);
  if (masks.length && options.onlyInside) named.push('apply_to="mask"');
  if ("change" in style && style.change) {
    const { seed, epoch } = style.change;
    named.unshift("p=1", 'sampler="own_style"', `seed=${seed}`);
    if (!options.keepBlank) named.push('blank="match"');
    return `rc.Colorist(bank, ${named.join(", ")})(${["content", "index=0", `epoch=${epoch}`, ...masks].join(", ")})`;
  }
  if (masks.length && "reader" in style) masks.push("style_mask=style_mask");
  return `rc.match(content, style, ${[...named, ...masks].join(", ")})`;
}
