// A row of small pictures of which one is chosen: the contents, or the styles.

import { paletteOf } from "./bank.mjs";
import { element } from "./dom.mjs";
import { newCanvas } from "./files.mjs";

/** @typedef {import("./files.mjs").Picture} Picture */
/** @typedef {import("./bank.mjs").BankStyle} BankStyle */

const SIDE = 96;

/** What shows a picture, or a style that has none. @param {Picture | BankStyle} one */
export function canvasOf(one) {
  return "canvas" in one ? one.canvas : paletteOf(one).canvas;
}

/**
 * The largest square in the middle of a picture.
 * @param {HTMLCanvasElement} picture
 * @param {HTMLCanvasElement} thumb
 */
function drawMiddle(picture, thumb) {
  const { width, height } = picture, side = Math.min(width, height);
  thumb.getContext("2d")?.drawImage(picture, (width - side) / 2, (height - side) / 2, side, side, 0, 0, SIDE, SIDE);
}

export class Strip {
  /**
   * @param {HTMLElement} box hidden while there is little to choose from
   * @param {string} name of the choice
   * @param {number} least show it from this many pictures on
   * @param {(index: number) => void} choose
   */
  constructor(box, name, least, choose) {
    this.box = box;
    this.name = name;
    this.least = least;
    this.choose = choose;
    this.row = element("div", { class: "strip-row" });
    box.append(this.row);
  }

  /** @param {(Picture | BankStyle)[]} pictures */
  show(pictures) {
    this.row.replaceChildren(...pictures.map((one, i) => {
      const radio = element("input", { type: "radio", name: this.name, value: String(i) });
      radio.addEventListener("change", () => this.choose(i));
      const thumb = newCanvas(SIDE, SIDE);
      thumb.setAttribute("aria-hidden", "true");
      drawMiddle(canvasOf(one), thumb);
      return element("label", { title: one.name }, radio, thumb, element("span", {}, one.name));
    }));
    this.box.hidden = pictures.length < this.least;
  }

  /**
   * Another picture for one that is there already.
   * @param {number} index
   * @param {HTMLCanvasElement} picture
   */
  redraw(index, picture) {
    const thumb = this.row.children[index]?.querySelector("canvas");
    if (thumb) drawMiddle(picture, thumb);
  }

  /** @param {number} index */
  mark(index) {
    this.row.querySelectorAll("input").forEach((radio, i) => (radio.checked = i === index));
  }
}
