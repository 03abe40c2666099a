// The controls: their values, and each slider with its number field.

import { byId } from "./dom.mjs";

/** @typedef {import("./engine.mjs").Options} Options */

/** Sliders that have a number field beside them. */
const PAIRS = ["strength", "gain", "content-threshold", "style-threshold"];

const select = (/** @type {string} */ id) => byId(id, HTMLSelectElement);
const input = (/** @type {string} */ id) => byId(id, HTMLInputElement);

/**
 * Call back whenever a value changed.
 * @param {() => void} changed
 */
export function listenToControls(changed) {
  for (const id of PAIRS) couple(input(id), input(`${id}-number`), changed);
  for (const id of ["method", "space", "mask"]) select(id).addEventListener("change", () => (settle(), changed()));
  for (const id of ["only-inside", "keep-blank"]) input(id).addEventListener("change", changed);
  settle();
}

/**
 * @param {HTMLInputElement} slider
 * @param {HTMLInputElement} field
 * @param {() => void} changed
 */
function couple(slider, field, changed) {
  slider.addEventListener("input", () => {
    field.value = slider.value;
    changed();
  });
  field.addEventListener("input", () => {
    if (field.value === "" || !field.checkValidity()) return; // half-typed; the last good value stands
    slider.value = field.value;
    changed();
  });
  field.addEventListener("change", () => (field.value = slider.value));
}

/** Switch off what has no effect, and say why. */
function settle() {
  const histogram = select("method").value.endsWith("histogram");
  input("gain").disabled = input("gain-number").disabled = histogram;
  byId("histogram-note", HTMLElement).hidden = !histogram;
  const masked = select("mask").value !== "off";
  byId("mask-options", HTMLElement).hidden = !masked;
}

/** @returns {Options} */
export function controlValues() {
  return {
    method: /** @type {Options["method"]} */ (select("method").value),
    space: select("space").value,
    strength: Number(input("strength").value),
    maxGain: Number(input("gain").value),
    mask: /** @type {Options["mask"]} */ (select("mask").value),
    contentThreshold: Number(input("content-threshold").value),
    styleThreshold: Number(input("style-threshold").value),
    onlyInside: input("only-inside").checked,
    keepBlank: input("keep-blank").checked,
  };
}

/**
 * Set several controls, as an example does; nothing is called back.
 * @param {Record<string, string | number | boolean>} preset by id
 */
export function setControls(preset) {
  for (const [id, value] of Object.entries(preset)) {
    const control = document.getElementById(id);
    if (control instanceof HTMLInputElement && control.type === "checkbox") control.checked = Boolean(value);
    else if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement) control.value = String(value);
    if (PAIRS.includes(id)) input(`${id}-number`).value = input(id).value;
  }
  settle();
}
