// What it did, in the open: the equation with this pair's numbers, the table, the histograms.

import { drawing, element, percent, shown } from "./dom.mjs";
import { deviations } from "./moments.mjs";
import { isDiagonal } from "./plan.mjs";

/** @typedef {import("./engine.mjs").Result} Result */
/** @typedef {import("./plan.mjs").Space} Space */

const RGB = ["R", "G", "B"];
const NAMES = ["Red", "Green", "Blue"];
const MEANINGS = /** @type {Record<string, string>} */ ({
  flat: "the content has one value there; it is moved to the style’s mean",
  collapsed: "the style has one value there, so the output has too",
  gain_capped: "the gain was held at the cap",
});

/**
 * One line per channel.
 * @param {Result} result
 * @param {Space} space
 * @returns {HTMLElement[]}
 */
export function equationLines({ plan }, space) {
  if (!plan) return [element("p", {}, "Each value goes to the style’s value of the same rank; there is no single equation.")];
  const diagonal = isDiagonal(plan), names = space.linear ? RGB : space.channels;
  const label = (/** @type {string} */ text, /** @type {number} */ c) => element("b", space.linear ? { class: `channel-${c}` } : {}, text);
  const sign = (/** @type {number} */ value) => (value < 0 ? "−" : "+");
  return names.map((name, c) => {
    const terms = diagonal ? [c] : [0, 1, 2];
    const line = element("div", { class: "equation", "data-value": [...plan.matrix[c], plan.offset[c]].join(" ") });
    line.append(label(`${name}′`, c), " = ");
    terms.forEach((other, k) => {
      const value = plan.matrix[c][other];
      line.append(k ? ` ${sign(value)} ${shown(Math.abs(value), 4)} ` : `${shown(value, 4)} `, label(names[other], other));
    });
    line.append(` ${sign(plan.offset[c])} ${shown(Math.abs(plan.offset[c]), space.linear ? 2 : 4)}`);
    return line;
  });
}

/**
 * The formula in symbols.
 * @param {Result} result
 * @param {Space} space
 * @returns {(Node | string)[]}
 */
export function formula({ plan }, space) {
  if (!plan) return marked("x′ = F_style⁻¹ (F_content (x)) per channel of the space, with the cumulative histograms F");
  if (plan.flags[0].includes("blank")) return ["x′ = x"];
  let blend = plan.strength < 1 ? `, then ${shown(100 * plan.strength, 0)} % of the way` : "";
  if (!space.linear) blend += `; x in ${plan.space}, converted back and held in range`;
  if (plan.method === "covariance") {
    return marked(`x′ = T (x − μ_content) + μ_style, where T is the smallest map that turns Σ_content into Σ_style${blend}`);
  }
  if (plan.space === "rgb" || !space.linear) return marked(`x′ = α x + β, where α = σ_style ∕ σ_content and β = μ_style − α μ_content${blend}`);
  return marked(`x′ = M⁻¹ D M (x − μ_content) + μ_style, where D = σ_style ∕ σ_content in ${plan.space}${blend}`);
}

/**
 * Text in which `_word` is an index.
 * @param {string} text
 */
function marked(text) {
  return text.split(/_(style|content)/).map((part, k) => (k % 2 ? element("sub", {}, part) : part));
}

/**
 * The table, with full precision in data-value.
 * @param {Result} result
 * @returns {HTMLTableSectionElement[]}
 */
export function tableRows(result) {
  const { content, style, output, report, plan } = result;
  const groups = [
    [
      row("μ content", "mean-content", content.moments.mean, 2), row("σ content", "std-content", deviations(content.moments), 2),
      row("μ style", "mean-style", style.moments.mean, 2), row("σ style", "std-style", deviations(style.moments), 2),
      row("μ output", "mean-output", output.mean, 2), row("σ output", "std-output", output.std, 2),
    ],
    plan && isDiagonal(plan) && plan.dataRange === 255
      ? [row("α gain", "alpha", plan.matrix.map((line, c) => line[c]), 4), row("β offset", "beta", plan.offset, 2)]
      : [],
    [cells("clipped", "clipped", report.clipped, percent), cells("correlation", "pearson", report.pearson, (v) => shown(v, 5))],
  ];
  return groups.filter((rows) => rows.length).map((rows) => element("tbody", {}, ...rows));
}

/**
 * @param {string} name
 * @param {string} key
 * @param {number[]} values
 * @param {number} digits
 */
function row(name, key, values, digits) {
  return cells(name, key, values, (value) => shown(value, digits));
}

/**
 * @param {string} name
 * @param {string} key
 * @param {(number | null)[]} values
 * @param {(value: number) => string} format
 */
function cells(name, key, values, format) {
  const cell = (/** @type {number | null} */ value) =>
    element("td", { "data-value": String(value) }, value === null ? "undefined" : format(value));
  return element("tr", { "data-row": key }, element("th", { scope: "row" }, name), ...values.map(cell));
}

/**
 * What is to be said of a content or a style that is blank.
 * @param {Result} result
 * @returns {HTMLElement[]}
 */
export function blankLines({ blank, flags }) {
  const isKept = flags[0].includes("blank");
  const texts = [];
  if (blank.content) {
    texts.push(isKept
      ? "the content has nothing in it and was left as it is."
      : "the content has nothing in it; what you see is its noise, amplified. Leave blank images as they are, or choose another content.");
  }
  if (blank.style) texts.push("the style has nothing in it, and takes nearly all contrast from the content; choose another style.");
  return texts.map((text) => element("p", { "data-flag": "blank" }, element("span", { class: "badge warn" }, "blank"), ` ${text}`));
}

/**
 * Gains and flags in the channels of the matching space.
 * @param {Result} result
 * @param {string[]} channels
 * @returns {HTMLElement[]}
 */
export function spaceLines({ plan, flags, blank }, channels) {
  const lines = [];
  if (plan && (plan.space !== "rgb" || plan.method === "covariance") && (plan.dataRange === 255 || !isDiagonal(plan))) {
    const gains = channels.map((name, c) => `${name} ${shown(plan.gain[c], 4)}`).join(", ");
    lines.push(element("p", { "data-value": plan.gain.join(" "), id: "gains" }, `Gain per channel: ${gains}.`));
  }
  flags.forEach((channel, c) => {
    for (const flag of channel.filter((name) => name !== "blank")) {
      const badge = element("span", { class: "badge warn" }, flag.replace("_", " "));
      lines.push(element("p", { "data-flag": `${channels[c]} ${flag}` }, badge, ` ${channels[c]}: ${MEANINGS[flag]}.`));
    }
  });
  return lines.length || blank.content || blank.style ? lines : [element("p", { class: "muted" }, "No flags: nothing was flat, collapsed or capped.")];
}

/**
 * Three charts, one per channel: content, style and output.
 * @param {Result} result
 * @returns {HTMLElement[]}
 */
export function histogramCharts({ content, style, output }) {
  return RGB.map((_, c) => {
    const curves = [content.counts, style.counts, output.counts].map((counts) => (counts ? shares(counts[c]) : []));
    const most = Math.max(...curves.flatMap(tall), 1e-9);
    const says = `${NAMES[c]}: mean ${shown(content.moments.mean[c], 0)} in the content, ${shown(style.moments.mean[c], 0)} in the `
      + `style, ${shown(output.mean[c], 0)} in the output.`;
    const chart = drawing("svg", { viewBox: "0 0 255 100", preserveAspectRatio: "none", role: "img", "aria-label": says });
    chart.append(
      drawing("path", { class: `area channel-${c}`, d: `${curve(curves[2], most)} L255 100 L0 100 Z` }),
      drawing("path", { class: "line content", d: curve(curves[0], most) }),
      drawing("path", { class: "line style", d: curve(curves[1], most) }),
    );
    return element("figure", { class: "chart" }, chart, element("figcaption", {}, NAMES[c]));
  });
}

/** @param {Uint32Array} counts */
function shares(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return Array.from(counts, (count) => count / total);
}

/**
 * The height that matters: the ends may hold a spike of clipped or background pixels that would flatten the rest.
 * @param {number[]} values
 */
function tall(values) {
  const sorted = [...values].sort((a, b) => b - a);
  return values.length ? [sorted[4] * 1.1] : [];
}

/**
 * @param {number[]} values
 * @param {number} most
 */
function curve(values, most) {
  return values.map((value, x) => `${x ? "L" : "M"}${x} ${(100 - 100 * Math.min(1, value / most)).toFixed(2)}`).join(" ");
}
