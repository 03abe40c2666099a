// The card of the bank: its plot and list, and draws from it.

import { BankPlot, fullName, readBank } from "./bank.mjs";
import { byId, element } from "./dom.mjs";
import { drawStyles, namesOf, NEEDS } from "./draws.mjs";

/** @typedef {import("./bank.mjs").BankStyle} BankStyle */

const DRAWS = 30;
const select = (/** @type {string} */ id) => byId(id, HTMLSelectElement);

export class BankView {
  /**
   * @param {number} blankDeviation the library's limit for blank styles
   * @param {{ use: (style: BankStyle) => void, drawn: (title: string, styles: BankStyle[]) => void, say: (message: string) => void }} hooks
   */
  constructor(blankDeviation, hooks) {
    this.blankDeviation = blankDeviation;
    this.hooks = hooks;
    this.name = "";
    this.plot = new BankPlot(byId("bank-plot", HTMLCanvasElement), (index) => this.use(index));
    select("bank-list").addEventListener("change", () => this.use(Number(select("bank-list").value)));
    select("bank-plane").addEventListener("change", () => {
      this.plot.plane = select("bank-plane").value;
      this.plot.draw();
    });
    select("sampler").addEventListener("change", () => this.#offerGroups());
    byId("draw", HTMLElement).addEventListener("click", () => this.draw());
  }

  /**
   * @param {Blob} file
   * @param {string} name
   */
  async open(file, name) {
    try {
      const bank = await readBank(new Uint8Array(await file.arrayBuffer()), name, this.blankDeviation);
      this.name = bank.name;
      this.plot.styles = bank.styles;
      this.plot.selected = -1;
      select("bank-list").replaceChildren(...bank.styles.map((style, i) => element("option", { value: String(i) }, fullName(style))));
      byId("bank-name", HTMLElement).textContent = `${bank.name}: ${bank.styles.length} styles`;
      byId("bank-view", HTMLElement).hidden = false;
      this.#offerGroups();
      this.plot.draw();
    } catch (error) {
      this.hooks.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {number} index */
  use(index) {
    this.plot.selected = index;
    select("bank-list").value = String(index);
    this.hooks.use(this.plot.styles[index]);
    this.plot.draw();
  }

  /** Draw thirty styles with the chosen sampler. */
  draw() {
    const sampler = select("sampler").value, seed = Math.max(0, Math.floor(byId("seed", HTMLInputElement).valueAsNumber || 0));
    try {
      const styles = drawStyles(this.plot.styles, { sampler, seed, group: select("group").value }, DRAWS);
      this.hooks.say("");
      this.hooks.drawn(`${DRAWS} draws from ${this.name}, ${sampler}, seed ${seed}`, styles);
    } catch (error) {
      this.hooks.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** Some samplers need to know the content's own label or domain. */
  #offerGroups() {
    const by = NEEDS[select("sampler").value], names = by ? namesOf(this.plot.styles, by) : [];
    byId("group-field", HTMLElement).hidden = !names.length;
    byId("group-name", HTMLElement).textContent = `The content’s ${by ?? "group"}`;
    select("group").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  }
}
