// Functions that make and find the elements of the page.

/**
 * The element with this id, of the expected kind.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page lacks #${id}`);
  return found;
}

/**
 * A new HTML element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * A new SVG element.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
export function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * Hand a file to the browser's download.
 * @param {string} name
 * @param {BlobPart} data
 * @param {string} type
 */
export function download(name, data, type) {
  const address = URL.createObjectURL(new Blob([data], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * A number for people: fixed digits and a real minus sign.
 * @param {number} value
 * @param {number} digits
 */
export function shown(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/**
 * A share in per cent; a little is not nothing.
 * @param {number} share
 */
export function percent(share) {
  const number = share === 0 ? "0" : share < 0.0001 ? "<\u00a00.01" : shown(100 * share, share < 0.1 ? 2 : 1);
  return `${number}\u00a0%`; // a line is never broken before the sign
}

/**
 * Files that are dropped on the page; one part of it is for styles, the rest for contents.
 * @param {(files: File[], role: "content" | "style") => void} take
 */
export function listenToDrops(take) {
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
    take([...(event.dataTransfer?.files ?? [])], target(event)?.getAttribute("data-drop") === "style" ? "style" : "content");
  });
}
