// The contact sheet: many matches side by side, one after another, and the sheet as one picture.

import { byId, download, element, percent } from "./dom.mjs";
import { newCanvas, paint } from "./files.mjs";

/** @typedef {import("./files.mjs").Picture} Picture */
/** @typedef {import("./bank.mjs").BankStyle} BankStyle */

/**
 * @typedef {object} Cell
 * @property {string} name
 * @property {Picture} content
 * @property {Picture | BankStyle} style
 * @property {() => void} choose show this match large
 */

/** @typedef {{ canvas: HTMLCanvasElement, name: string, figures: string }} Drawn */

const SIDE = 200, GAP = 12, LINE = 18, COLUMNS = 6, LOST = 0.02;

export class Sheet {
  /**
   * @param {(request: Record<string, unknown>) => Promise<any>} call the worker
   * @param {() => import("./engine.mjs").Options} options
   */
  constructor(call, options) {
    this.call = call;
    this.options = options;
    this.title = "";
    /** @type {Drawn[]} */
    this.drawn = [];
    this.turn = 0; // a new sheet ends the one before
    byId("sheet-save", HTMLElement).addEventListener("click", () => void this.#save());
  }

  /**
   * @param {string} title
   * @param {Cell[]} cells
   * @param {boolean} both show each content beside its output
   */
  async make(title, cells, both) {
    const turn = ++this.turn, options = this.options(), place = byId("sheet", HTMLElement), status = byId("sheet-status", HTMLElement);
    const save = byId("sheet-save", HTMLButtonElement);
    this.title = title;
    this.drawn = [];
    place.replaceChildren();
    save.disabled = true;
    /** @type {Partial<Cell>} */
    let last = {};
    for (const cell of cells) {
      status.textContent = `${title}: ${this.drawn.length} of ${cells.length}`;
      const drawn = await this.#match(cell, last, options, both);
      if (turn !== this.turn) return;
      last = cell;
      this.drawn.push(drawn);
      place.append(asButton(drawn, cell));
    }
    const lost = this.drawn.filter(({ figures }) => figures.startsWith("!")).length;
    status.textContent = `${title}: ${cells.length} images, ${lost} of them lost detail in more than ${100 * LOST} % of the patches.`;
    save.disabled = !cells.length;
  }

  /**
   * @param {Cell} cell
   * @param {Partial<Cell>} last what the worker has already
   * @param {import("./engine.mjs").Options} options
   * @param {boolean} both
   * @returns {Promise<Drawn>}
   */
  async #match({ name, content, style }, last, options, both) {
    const { rgba, width, height } = content;
    const request = {
      what: "cell", options,
      content: content === last.content ? undefined : { rgba, width, height, alpha: content.alpha },
      style: "moments" in style || style === last.style ? undefined : { rgba: style.rgba, width: style.width },
      ...("moments" in style ? { moments: style.moments, change: style.change } : {}),
    };
    try {
      const { pixels, clipped, lost, blank } = await this.call(request);
      const output = newCanvas(width, height);
      paint(output, new Uint8Array(pixels.buffer));
      const figures = blank ? "blank, left as it is" : `${lost > LOST ? "! " : ""}clipped\u00a0${percent(clipped)}, lost\u00a0${percent(lost)}`;
      return { canvas: thumbOf(both ? [content.canvas, output] : [output]), name, figures };
    } catch (error) {
      return { canvas: thumbOf([content.canvas]), name, figures: error instanceof Error ? error.message : String(error) };
    }
  }

  /** The sheet as one picture, with its captions. */
  async #save() {
    const { drawn } = this, columns = Math.min(COLUMNS, drawn.length), width = Math.max(...drawn.map(({ canvas }) => canvas.width));
    const step = { x: width + GAP, y: SIDE + 2 * LINE + GAP };
    const sheet = newCanvas(columns * step.x + GAP, Math.ceil(drawn.length / columns) * step.y + 2 * GAP + LINE);
    const context = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
    context.fillStyle = "#fff";
    context.fillRect(0, 0, sheet.width, sheet.height);
    context.fillStyle = "#222";
    context.font = "600 14px system-ui, sans-serif";
    context.fillText(this.title, GAP, GAP + 12, sheet.width - 2 * GAP);
    context.font = "13px system-ui, sans-serif";
    drawn.forEach(({ canvas, name, figures }, i) => {
      const x = GAP + (i % columns) * step.x, y = 2 * GAP + LINE + Math.floor(i / columns) * step.y;
      context.drawImage(canvas, x, y);
      context.fillText(fitting(context, name, width), x, y + SIDE + 14);
      context.fillText(fitting(context, figures, width), x, y + SIDE + 14 + LINE);
    });
    const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ done) => sheet.toBlob(done, "image/png"));
    if (blob) download("contact-sheet.png", blob, "image/png");
  }
}

/**
 * Pictures side by side, as high as a row of the sheet at most.
 * @param {HTMLCanvasElement[]} pictures of one size
 */
function thumbOf(pictures) {
  const { width, height } = pictures[0], scale = Math.min(SIDE / width, SIDE / height);
  const [w, h] = [width, height].map((length) => Math.max(1, Math.round(length * scale)));
  const thumb = newCanvas(pictures.length * w + (pictures.length - 1) * 2, h);
  const context = /** @type {CanvasRenderingContext2D} */ (thumb.getContext("2d"));
  context.imageSmoothingEnabled = scale < 2; // enlarged, a pixel is a square
  context.imageSmoothingQuality = "high";
  pictures.forEach((picture, i) => context.drawImage(picture, i * (w + 2), 0, w, h));
  return thumb;
}

/**
 * @param {Drawn} drawn
 * @param {Cell} cell
 */
function asButton({ canvas, name, figures }, { choose }) {
  canvas.setAttribute("aria-hidden", "true");
  const warns = figures.startsWith("!");
  const button = element("button", { type: "button", class: "cell", title: name }, canvas, element("span", { class: "name" }, name),
    element("span", { class: warns ? "badge warn" : "muted" }, figures.replace("! ", "")));
  button.addEventListener("click", choose);
  return button;
}

/**
 * A text cut to a width.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} width
 */
function fitting(context, text, width) {
  let cut = text;
  while (cut.length > 1 && context.measureText(cut).width > width) cut = `${cut.slice(0, -2)}…`;
  return cut;
}
