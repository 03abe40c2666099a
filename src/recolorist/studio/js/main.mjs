// The page: what is loaded, what is shown, what can be taken away.

import { BankPlot, paletteOf, readBank } from "./bank.mjs";
import { startWorker } from "./calls.mjs";
import { controlValues, listenToControls, setControls } from "./controls.mjs";
import { byId, element, percent, shown } from "./dom.mjs";
import { blobFromBase64, newCanvas, paint, readPicture } from "./files.mjs";
import { blankLines, equationLines, formula, histogramCharts, spaceLines, tableRows } from "./numbers.mjs";
import { clippedOverlay, lossOverlay, outsideOverlay } from "./overlays.mjs";
import { Session } from "./session.mjs";
import { pythonSnippet } from "./snippet.mjs";
import { copyScript, savePlan, savePng, saveScript } from "./takeaway.mjs";
import { Viewer } from "./viewer.mjs";

/** @typedef {import("./files.mjs").Picture} Picture */
/** @typedef {import("./bank.mjs").BankStyle} BankStyle */
/** @typedef {import("./engine.mjs").Match} Match */
/** @typedef {import("./engine.mjs").Result} Result */

/**
 * What the library put into the page.
 * @typedef {object} Library
 * @property {string} version
 * @property {Record<string, import("./plan.mjs").Space>} spaces
 * @property {Record<string, { name: string, type: string, base64: string }>} images
 * @property {{ title: string, content: string, styles: string[], controls: Record<string, string | number | boolean> }[]} examples
 * @property {unknown} bank
 * @property {import("./blank.mjs").BlankRule} blank
 */

const html = (/** @type {string} */ id) => byId(id, HTMLElement);
const ticked = (/** @type {string} */ id) => byId(id, HTMLInputElement).checked;
/** @type {Library} */
const library = JSON.parse(html("library").textContent ?? "");
const call = startWorker(html("worker").textContent ?? "");
void call({ what: "spaces", spaces: library.spaces, blank: library.blank });

/** @type {(Picture | BankStyle)[]} */
let styles = [];
/** @type {Set<Picture | BankStyle>} */
let borrowed = new Set(); // styles of an example, which make room for one's own
/** @type {HTMLCanvasElement | null} */
let output = null;
/** @type {Record<"content" | "style" | "output", HTMLCanvasElement | null>} */
let overlays = { content: null, style: null, output: null };
/** @type {HTMLCanvasElement | null} */
let palette = null;

// ---- pictures ---------------------------------------------------------------------------------------------------------------------

const session = new Session(call, controlValues, { drawn: show, told: report, failed: fail, settled: settle });

const layer = (/** @type {HTMLCanvasElement | null | undefined} */ image, /** @type {keyof typeof overlays} */ name) =>
  image ? [{ image, overlay: overlays[name] }] : [];
const styleCanvas = () => (session.style && "canvas" in session.style ? session.style.canvas : palette);
const viewer = new Viewer(
  [
    { canvas: byId("content-canvas", HTMLCanvasElement), layers: () => layer(session.content?.canvas, "content") },
    { canvas: byId("style-canvas", HTMLCanvasElement), layers: () => layer(styleCanvas(), "style") },
    { canvas: byId("output-canvas", HTMLCanvasElement), layers: () => layer(output, "output") },
    {
      canvas: byId("compare-canvas", HTMLCanvasElement),
      layers: () => [...layer(session.content?.canvas, "content"), ...layer(output, "output")],
    },
  ],
  html("divider"),
);

/**
 * @param {Match} match
 * @param {number} milliseconds
 */
function show(match, milliseconds) {
  const { content } = session;
  if (!content) return;
  if (!output || output.width !== content.width || output.height !== content.height) output = newCanvas(content.width, content.height);
  paint(output, new Uint8Array(match.pixels.buffer));
  refreshOverlays();
  viewer.drawNow();
  html("status").textContent = `Matched ${shown((content.width * content.height) / 1e6, 2)} megapixels in ${shown(milliseconds, 0)} ms.`;
}

/** @param {string} message */
function fail(message) {
  output = null;
  overlays.output = null;
  viewer.draw();
  say(message);
  html("status").textContent = "";
  setExports(false);
}

/** The last question is answered: fingerprints and the script are up to date. */
function settle() {
  const { fingerprints, result, content, style } = session;
  html("fingerprint").textContent = fingerprints.output ?? "not available here";
  if (result && content && style) {
    const options = controlValues();
    html("snippet").textContent = pythonSnippet({ version: library.version, options, content, style, plan: result.plan, fingerprints });
  }
  document.body.dataset.state = "settled";
}

function refreshOverlays() {
  const { match, content, style } = session;
  overlays = { content: null, style: null, output: null };
  if (!match || !content) return;
  if (ticked("show-mask")) {
    overlays.content = outsideOverlay(content, match.content);
    if (style && "canvas" in style) overlays.style = outsideOverlay(style, match.style);
  }
  const { width, height } = content, loss = session.result?.loss;
  if (ticked("show-clipped")) overlays.output = clippedOverlay(match.notes, width, height);
  if (ticked("show-loss") && loss && session.result?.notes === match.notes) {
    overlays.output = lossOverlay(loss, width, height, overlays.output ?? undefined);
  }
}

/** @param {Result} result */
function report(result) {
  const channels = library.spaces[controlValues().space].channels;
  say("");
  html("formula").replaceChildren(...formula(result));
  html("equation").replaceChildren(...equationLines(result));
  html("flags").replaceChildren(...blankLines(result), ...spaceLines(result, channels));
  const table = byId("numbers", HTMLTableElement);
  table.querySelectorAll("tbody").forEach((body) => body.remove());
  table.append(...tableRows(result));
  html("histograms").replaceChildren(...histogramCharts(result));
  const { clippedOverall, pearsonPooled } = result.report, { share, worst, box } = result.loss;
  for (const [id, value] of Object.entries({ "clipped-share": clippedOverall, "loss-share": share })) {
    html(id).textContent = percent(value);
    html(id).dataset.value = String(value);
  }
  html("loss-worst").textContent = box && worst > 0 ? `The worst patch lost ${percent(worst)}: x ${box[0]}–${box[2]}, y ${box[1]}–${box[3]}.` : "";
  html("loss-advice").hidden = share <= 0.02;
  refreshOverlays();
  viewer.draw();
  html("pearson-pooled").textContent = pearsonPooled === null ? "undefined" : shown(pearsonPooled, 5);
  plot.content = result.content.moments.mean.map((value) => value / 255);
  if (plot.styles.length) plot.draw();
  document.body.dataset.state = "working";
  setExports(true);
}

/** @param {string} message */
function say(message) {
  html("message").textContent = message;
  html("message").hidden = !message;
}

/** @param {boolean} possible */
function setExports(possible) {
  const affine = possible && Boolean(session.result?.plan);
  byId("save-png", HTMLButtonElement).disabled = byId("save-snippet", HTMLButtonElement).disabled = !possible;
  byId("copy-snippet", HTMLButtonElement).disabled = !possible;
  byId("save-plan", HTMLButtonElement).disabled = !affine;
  html("no-plan").hidden = !possible || affine;
}

// ---- content and styles -----------------------------------------------------------------------------------------------------------

/** @param {Picture} picture */
function useContent(picture) {
  html("content-meta").textContent = describe(picture);
  session.setContent(picture);
  viewer.fit();
}

/** @param {Picture} picture */
function describe({ name, width, height, note }) {
  return `${name}, ${width} × ${height}${note ? `. ${note}` : ""}`;
}

/** @param {number} index */
function useStyle(index) {
  const style = styles[index];
  palette = "moments" in style ? paletteOf(style).canvas : null;
  html("style-meta").textContent = "moments" in style
    ? `${style.name}${style.detail ? ` (${style.detail})` : ""}, from a bank: no picture, colours drawn from its nine numbers`
    : describe(style);
  document.querySelectorAll("#strip input").forEach((radio, i) => {
    if (radio instanceof HTMLInputElement) radio.checked = i === index;
  });
  session.setStyle(style);
  viewer.draw();
}

function drawStrip() {
  const entries = styles.map((style, i) => {
    const radio = element("input", { type: "radio", name: "style", value: String(i) });
    radio.addEventListener("change", () => useStyle(i));
    const thumb = newCanvas(96, 96);
    const source = "canvas" in style ? style.canvas : paletteOf(style).canvas;
    const side = Math.min(source.width, source.height);
    const at = [(source.width - side) / 2, (source.height - side) / 2];
    thumb.getContext("2d")?.drawImage(source, at[0], at[1], side, side, 0, 0, 96, 96);
    thumb.setAttribute("aria-hidden", "true");
    return element("label", {}, radio, thumb, element("span", {}, style.name));
  });
  html("strip-styles").replaceChildren(...entries);
  html("strip").hidden = styles.length === 0;
}

/** @param {(Picture | BankStyle)[]} added */
function addStyles(added) {
  if (!added.length) return;
  styles = [...styles, ...added];
  drawStrip();
  useStyle(styles.length - added.length);
}

/** @param {Library["examples"][number]} example */
async function openExample(example) {
  const read = (/** @type {string} */ key) => {
    const { name, type, base64 } = library.images[key];
    return readPicture(blobFromBase64(base64, type), name);
  };
  setControls(example.controls);
  const [content, ...others] = await Promise.all([example.content, ...example.styles].map(read));
  styles = others;
  borrowed = new Set(others);
  drawStrip();
  useContent(content);
  useStyle(0);
}

/**
 * Read files one by one; one that cannot be read is named and does not stop the rest.
 * @param {Iterable<File>} files
 */
async function readAll(files) {
  /** @type {Picture[]} */
  const pictures = [];
  for (const file of files) {
    try {
      pictures.push(await readPicture(file, file.name));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  }
  return pictures;
}

/**
 * @param {File[]} files
 * @param {"content" | "style"} role
 */
async function takeFiles(files, role) {
  say("");
  const banks = files.filter((file) => file.name.endsWith(".json"));
  const pictures = await readAll(files.filter((file) => !banks.includes(file)));
  for (const bank of banks) openBank(await bank.text(), bank.name);
  if (!pictures.length) return;
  byId("example", HTMLSelectElement).value = "";
  if (role === "content") useContent(pictures[0]);
  const own = role === "content" ? pictures.slice(1) : pictures;
  if (own.length) styles = styles.filter((style) => !borrowed.has(style));
  addStyles(own);
}

// ---- the bank ---------------------------------------------------------------------------------------------------------------------

const plot = new BankPlot(byId("bank-plot", HTMLCanvasElement), useBankStyle);
const list = byId("bank-list", HTMLSelectElement);

/**
 * @param {string} source
 * @param {string} file
 */
function openBank(source, file) {
  try {
    const bank = readBank(source, file);
    plot.styles = bank.styles;
    plot.selected = -1;
    const option = (/** @type {BankStyle} */ { name, detail }, /** @type {number} */ i) =>
      element("option", { value: String(i) }, detail ? `${name} (${detail})` : name);
    list.replaceChildren(...bank.styles.map(option));
    html("bank-name").textContent = `${bank.name}: ${bank.styles.length} styles`;
    html("bank-view").hidden = false;
    plot.draw();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

/** @param {number} index */
function useBankStyle(index) {
  plot.selected = index;
  list.value = String(index);
  const style = plot.styles[index];
  const known = styles.indexOf(style);
  if (known >= 0) useStyle(known);
  else {
    styles = styles.filter((other) => "canvas" in other); // one style of the bank at a time; the plot holds them all
    addStyles([style]);
  }
  plot.draw();
}

// ---- wiring -----------------------------------------------------------------------------------------------------------------------

/** @param {string} view */
function setView(view) {
  html("panes").dataset.view = view;
  viewer.draw();
}

function wireFiles() {
  for (const role of /** @type {const} */ (["content", "style"])) {
    const chooser = byId(`${role}-file`, HTMLInputElement);
    chooser.addEventListener("change", async () => {
      await takeFiles([...(chooser.files ?? [])], role);
      chooser.value = "";
    });
  }
  const bank = byId("bank-file", HTMLInputElement);
  bank.addEventListener("change", async () => {
    for (const file of bank.files ?? []) openBank(await file.text(), file.name);
    bank.value = "";
  });
  const openExampleBank = () => openBank(JSON.stringify(library.bank), "example");
  html("bank-example").addEventListener("click", openExampleBank);
  openExampleBank();
  wireDrop();
}

function wireDrop() {
  const target = (/** @type {Event} */ event) => (event.target instanceof Element ? event.target.closest("[data-drop]") : null);
  const mark = (/** @type {Element | null} */ chosen) => {
    document.querySelectorAll("[data-drop]").forEach((zone) => zone.classList.toggle("dropping", zone === chosen));
  };
  window.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(target(event));
  });
  window.addEventListener("dragleave", () => mark(null));
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(null);
    const role = target(event)?.getAttribute("data-drop") === "style" ? "style" : "content";
    void takeFiles([...(event.dataTransfer?.files ?? [])], role);
  });
}

function wireButtons() {
  /** @type {Record<string, () => unknown>} */
  const actions = {
    "zoom-in": () => viewer.zoomTo(viewer.zoom * 1.5), "zoom-out": () => viewer.zoomTo(viewer.zoom / 1.5),
    "zoom-fit": () => viewer.fit(), "zoom-actual": () => viewer.actualSize(),
    "save-png": () => savePng(session), "save-plan": () => savePlan(session),
    "save-snippet": () => saveScript(session, html("snippet").textContent ?? ""),
    "copy-snippet": async () => (html("status").textContent = await copyScript(html("snippet"))),
  };
  for (const [id, action] of Object.entries(actions)) html(id).addEventListener("click", () => void action());
  for (const id of ["show-mask", "show-clipped", "show-loss"]) {
    html(id).addEventListener("change", () => {
      refreshOverlays();
      viewer.draw();
    });
  }
  document.querySelectorAll('input[name="view"]').forEach((radio) =>
    radio.addEventListener("change", () => radio instanceof HTMLInputElement && setView(radio.value)));
  list.addEventListener("change", () => useBankStyle(Number(list.value)));
  byId("bank-plane", HTMLSelectElement).addEventListener("change", (event) => {
    plot.plane = /** @type {HTMLSelectElement} */ (event.target).value;
    plot.draw();
  });
  byId("theme", HTMLSelectElement).addEventListener("change", (event) => {
    document.documentElement.dataset.theme = /** @type {HTMLSelectElement} */ (event.target).value;
    plot.draw();
  });
}

function wireExamples() {
  const chooser = byId("example", HTMLSelectElement);
  chooser.append(...library.examples.map(({ title }, i) => element("option", { value: String(i) }, title)));
  chooser.addEventListener("change", () => void openExample(library.examples[Number(chooser.value)]));
  chooser.value = "0";
  void openExample(library.examples[0]);
}

html("version").textContent = library.version;
wireFiles();
wireButtons();
listenToControls(() => session.update());
wireExamples();
