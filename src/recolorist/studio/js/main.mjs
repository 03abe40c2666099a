// The page: what is loaded, what is shown, what can be taken away.

import { fullName } from "./bank.mjs";
import { BankView } from "./bankview.mjs";
import { startWorker } from "./calls.mjs";
import { controlValues, listenToControls, setControls } from "./controls.mjs";
import { byId, element, listenToDrops, percent, shown } from "./dom.mjs";
import { blobFromBase64, bytesFromBase64, newCanvas, paint, readPicture } from "./files.mjs";
import { inUnits } from "./moments.mjs";
import { blankLines, equationLines, formula, histogramCharts, spaceLines, tableRows } from "./numbers.mjs";
import { clippedOverlay, lossOverlay, outsideOverlay } from "./overlays.mjs";
import { Session } from "./session.mjs";
import { Sheet } from "./sheet.mjs";
import { pythonSnippet } from "./snippet.mjs";
import { canvasOf, Strip } from "./strip.mjs";
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
 * @property {string} bank as JSON
 * @property {import("./blank.mjs").BlankRule & { styleDeviation: number }} blank
 * @property {string} kernels the library's loops as WebAssembly, in base64
 */

const html = (/** @type {string} */ id) => byId(id, HTMLElement);
const ticked = (/** @type {string} */ id) => byId(id, HTMLInputElement).checked;
/** @type {Library} */
const library = JSON.parse(html("library").textContent ?? "");
const call = startWorker(html("worker").textContent ?? "");
const { spaces, blank } = library, kernels = bytesFromBase64(library.kernels);
call({ what: "library", library: { spaces, blank, kernels } }).catch(() => say("This browser runs no WebAssembly with vectors, which the Studio needs; use a newer one."));

/** @type {Picture[]} */
let contents = [];
/** @type {(Picture | BankStyle)[]} */
let styles = [];
/** @type {Set<Picture | BankStyle>} */
let borrowed = new Set(); // pictures of an example, which make room for one's own
/** @type {HTMLCanvasElement | null} */
let output = null;
/** @type {Record<"content" | "style" | "output", HTMLCanvasElement | null>} */
let overlays = { content: null, style: null, output: null };
/** @type {HTMLCanvasElement | null} */
let styleCanvas = null;

// ---- pictures ---------------------------------------------------------------------------------------------------------------------

const session = new Session(call, controlValues, { drawn: show, reported: report, failed: fail, settled: settle });

const layer = (/** @type {HTMLCanvasElement | null | undefined} */ image, /** @type {keyof typeof overlays} */ name) =>
  image ? [{ image, overlay: overlays[name] }] : [];
const viewer = new Viewer(
  [
    { canvas: byId("content-canvas", HTMLCanvasElement), layers: () => layer(session.content?.canvas, "content") },
    { canvas: byId("style-canvas", HTMLCanvasElement), layers: () => layer(styleCanvas, "style") },
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
  showChanged(match);
  refreshOverlays();
  viewer.drawNow();
  html("status").textContent = `Matched ${shown((content.width * content.height) / 1e6, 2)} megapixels in ${shown(milliseconds, 0)} ms.`;
}

/** The style of a change is known when it has met the content. @param {Match} match */
function showChanged(match) {
  const { style } = session;
  if (!style || !("change" in style)) return;
  style.moments = inUnits(match.style.moments);
  styleCanvas = canvasOf(style);
  styleStrip.redraw(styles.indexOf(style), styleCanvas);
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
  const { width, height } = content, result = session.result?.pixels === match.pixels ? session.result : null;
  const notes = result?.notes ?? match.notes;
  if (ticked("show-clipped") && notes) overlays.output = clippedOverlay(notes, width, height);
  if (ticked("show-loss") && result) overlays.output = lossOverlay(result.loss, width, height, overlays.output ?? undefined);
}

/** @param {Result} result */
function report(result) {
  const space = library.spaces[result.plan?.space ?? controlValues().space];
  say("");
  html("formula").replaceChildren(...formula(result, space));
  html("equation").replaceChildren(...equationLines(result, space));
  html("flags").replaceChildren(...blankLines(result), ...spaceLines(result, space.channels));
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
  bank.plot.content = result.content.moments.mean.map((value) => value / 255);
  bank.plot.draw();
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

// ---- contents and styles ----------------------------------------------------------------------------------------------------------

const contentStrip = new Strip(html("content-strip"), "content", 2, useContent);
const styleStrip = new Strip(html("strip"), "style", 1, useStyle);
const sheet = new Sheet(call, controlValues);

/** @param {number} index */
function useContent(index) {
  const picture = contents[index];
  caption("content", picture.name, `${picture.width} × ${picture.height}`);
  contentStrip.mark(index);
  session.setContent(picture);
  noteFiles();
  viewer.fit();
}

/** @param {number} index */
function useStyle(index) {
  const style = styles[index];
  styleCanvas = canvasOf(style);
  if ("moments" in style) caption("style", fullName(style), "change" in style ? "a change" : "from a bank");
  else caption("style", style.name, `${style.width} × ${style.height}`);
  styleStrip.mark(index);
  session.setStyle(style);
  noteFiles();
  viewer.draw();
}

/**
 * One line whatever the length of the name; the size is never cut off.
 * @param {string} role
 * @param {string} name
 * @param {string} size
 */
function caption(role, name, size) {
  const place = html(`${role}-meta`);
  place.replaceChildren(element("span", { class: "name", title: name }, name), element("span", { class: "size" }, size));
}

/** Collect warnings about the two files. */
function noteFiles() {
  const { content, style } = session;
  const notes = content?.note ? [`Content: ${content.note}.`] : [];
  if (style && "change" in style) notes.push("Style: the content’s own nine numbers after a change, and colours drawn from them.");
  else if (style && "moments" in style) notes.push("Style: no picture, but colours drawn from its nine numbers.");
  else if (style?.note) notes.push(`Style: ${style.note}.`);
  html("notes").textContent = notes.join(" ");
}

/** @param {(Picture | BankStyle)[]} added */
function addStyles(added) {
  if (!added.length) return;
  styles = [...styles, ...added];
  styleStrip.show(styles);
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
  contents = [content];
  styles = others;
  borrowed = new Set([content, ...others]);
  contentStrip.show(contents);
  styleStrip.show(styles);
  useContent(0);
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
  const banks = files.filter((file) => /\.(json|rcb)$/i.test(file.name));
  const pictures = await readAll(files.filter((file) => !banks.includes(file)));
  for (const file of banks) await bank.open(file, file.name);
  if (!pictures.length) return;
  byId("example", HTMLSelectElement).value = "";
  if (role === "content") {
    contents = pictures;
    contentStrip.show(contents);
    useContent(0);
  } else {
    styles = styles.filter((style) => !borrowed.has(style));
    addStyles(pictures);
  }
}

// ---- the bank and the contact sheet -----------------------------------------------------------------------------------------------

const bank = new BankView(library.blank.styleDeviation, { use: useBankStyle, drawn: showDraws, say });

/** @param {BankStyle} style */
function useBankStyle(style) {
  const known = styles.indexOf(style);
  if (known >= 0) return useStyle(known);
  styles = styles.filter((other) => "canvas" in other); // one style of the bank at a time; the plot holds them all
  addStyles([style]);
}

/**
 * The content in the styles that were drawn.
 * @param {string} title
 * @param {BankStyle[]} drawn
 */
function showDraws(title, drawn) {
  const { content } = session;
  if (!content) return;
  void sheet.make(title, drawn.map((style) => ({ name: style.name, content, style, choose: () => useBankStyle(style) })), false);
  html("sheet-card").scrollIntoView({ block: "start" });
}

/** All contents in the style that is chosen. */
function showContents() {
  const { style } = session;
  if (!style) return;
  const cells = contents.map((content, i) => ({ name: content.name, content, style, choose: () => useContent(i) }));
  void sheet.make(`Before and after, in the colours of ${style.name}`, cells, true);
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
  const chooser = byId("bank-file", HTMLInputElement);
  chooser.addEventListener("change", async () => {
    say("");
    for (const file of chooser.files ?? []) await bank.open(file, file.name);
    chooser.value = "";
  });
  const openExampleBank = () => bank.open(new Blob([library.bank]), "example");
  html("bank-example").addEventListener("click", () => void openExampleBank());
  void openExampleBank();
  listenToDrops((files, role) => void takeFiles(files, role));
}

function wireButtons() {
  /** @type {Record<string, () => unknown>} */
  const actions = {
    "zoom-in": () => viewer.zoomTo(viewer.zoom * 1.5), "zoom-out": () => viewer.zoomTo(viewer.zoom / 1.5),
    "zoom-fit": () => viewer.fit(), "zoom-actual": () => viewer.actualSize(),
    "save-png": () => savePng(session), "save-plan": () => savePlan(session),
    "save-snippet": () => saveScript(session, html("snippet").textContent ?? ""),
    "sheet-make": showContents,
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
  byId("theme", HTMLSelectElement).addEventListener("change", (event) => {
    document.documentElement.dataset.theme = /** @type {HTMLSelectElement} */ (event.target).value;
    bank.plot.draw();
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
