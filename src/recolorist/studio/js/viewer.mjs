// The pictures: zoom and pan in step, the divider between before and after, overlays.

/**
 * @typedef {object} Layer
 * @property {HTMLCanvasElement} image
 * @property {HTMLCanvasElement | null} overlay same size as the image
 */

/**
 * @typedef {object} Pane
 * @property {HTMLCanvasElement} canvas
 * @property {() => Layer[]} layers one, or two with the divider between them
 */

const MOST_ZOOM = 64;

export class Viewer {
  /**
   * @param {Pane[]} panes
   * @param {HTMLElement} handle the divider
   */
  constructor(panes, handle) {
    this.panes = panes;
    this.handle = handle;
    this.zoom = 1; // 1 shows the whole image
    this.centre = [0.5, 0.5]; // of the view, as a share of the image
    this.split = 0.5;
    this.scheduled = false;
    for (const pane of panes) this.#listen(pane);
    this.#listenHandle();
    const observer = new ResizeObserver(() => this.draw());
    for (const pane of panes) observer.observe(pane.canvas);
  }

  /** Draw at the next frame, once, however often it is asked. */
  draw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.drawNow();
    });
  }

  drawNow() {
    for (const pane of this.panes) if (pane.canvas.clientWidth) this.#drawPane(pane);
  }

  /** Show everything again. */
  fit() {
    this.zoom = 1;
    this.centre = [0.5, 0.5];
    this.draw();
  }

  /** One pixel of the image on one pixel of the screen. */
  actualSize() {
    const pane = this.panes.find(({ canvas, layers }) => canvas.clientWidth && layers().length);
    if (!pane) return;
    const { image } = pane.layers()[0];
    this.zoomTo(1 / fitOf(pane.canvas, image), [0.5, 0.5]);
  }

  /**
   * @param {number} zoom
   * @param {number[]} anchor what stays in place, as a share of the pane
   */
  zoomTo(zoom, anchor = [0.5, 0.5]) {
    const next = Math.min(MOST_ZOOM, Math.max(1, zoom));
    this.centre = this.centre.map((centre, k) => centre + (anchor[k] - 0.5) * (1 / this.zoom - 1 / next));
    this.zoom = next;
    this.#hold();
    this.draw();
  }

  /**
   * @param {number} right as a share of what is seen
   * @param {number} down
   */
  pan(right, down) {
    this.centre = [this.centre[0] + right / this.zoom, this.centre[1] + down / this.zoom];
    this.#hold();
    this.draw();
  }

  /** @param {number} share */
  setSplit(share) {
    this.split = Math.min(1, Math.max(0, share));
    const percent = Math.round(100 * this.split);
    this.handle.style.left = `${100 * this.split}%`;
    this.handle.setAttribute("aria-valuenow", String(percent));
    this.handle.setAttribute("aria-valuetext", `${percent} % before, ${100 - percent} % after`);
    this.draw();
  }

  /** The view may not leave the image. */
  #hold() {
    const margin = 0.5 / this.zoom;
    this.centre = this.centre.map((value) => Math.min(1 - margin, Math.max(margin, value)));
  }

  /** @param {Pane} pane */
  #drawPane({ canvas, layers }) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.clearRect(0, 0, width, height);
    const shown = layers();
    shown.forEach((layer, k) => {
      context.save();
      if (shown.length === 2) {
        const at = Math.round(this.split * width);
        context.beginPath();
        context.rect(k ? at : 0, 0, k ? width - at : at, height);
        context.clip();
      }
      this.#drawLayer(context, layer, canvas);
      context.restore();
    });
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Layer} layer
   * @param {HTMLCanvasElement} canvas
   */
  #drawLayer(context, { image, overlay }, canvas) {
    const scale = fitOf(canvas, image) * this.zoom;
    const place = (/** @type {number} */ room, /** @type {number} */ size, /** @type {number} */ centre) =>
      size * scale <= room ? (room - size * scale) / 2 : Math.min(0, Math.max(room - size * scale, room / 2 - centre * size * scale));
    const x = place(canvas.width, image.width, this.centre[0]), y = place(canvas.height, image.height, this.centre[1]);
    context.imageSmoothingEnabled = scale < 2 && image.width > 32; // enlarged, a pixel is a square
    context.imageSmoothingQuality = "medium";
    context.drawImage(image, x, y, image.width * scale, image.height * scale);
    if (!overlay) return;
    context.imageSmoothingEnabled = scale < 1;
    context.drawImage(overlay, x, y, image.width * scale, image.height * scale);
  }

  /** @param {Pane} pane */
  #listen({ canvas }) {
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return; // else the page could not be scrolled past
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      const anchor = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      this.zoomTo(this.zoom * Math.exp(-event.deltaY / 400), anchor);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (this.zoom > 1) canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      this.pan(-event.movementX / canvas.clientWidth, -event.movementY / canvas.clientHeight);
    });
    canvas.addEventListener("dblclick", () => (this.zoom > 1 ? this.fit() : this.zoomTo(4)));
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => this.zoomTo(this.zoom * 1.5), "=": () => this.zoomTo(this.zoom * 1.5), "-": () => this.zoomTo(this.zoom / 1.5),
      "0": () => this.fit(), "1": () => this.actualSize(),
      ArrowLeft: () => this.pan(-0.1, 0), ArrowRight: () => this.pan(0.1, 0),
      ArrowUp: () => this.pan(0, -0.1), ArrowDown: () => this.pan(0, 0.1),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  #listenHandle() {
    const { handle } = this;
    handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId) || !handle.parentElement) return;
      const box = handle.parentElement.getBoundingClientRect();
      this.setSplit((event.clientX - box.left) / box.width);
    });
    handle.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 0.1 : 0.02;
      /** @type {Record<string, number>} */
      const goals = { ArrowLeft: this.split - step, ArrowRight: this.split + step, Home: 0, End: 1 };
      if (!(event.key in goals)) return;
      event.preventDefault();
      this.setSplit(goals[event.key]);
    });
  }
}

/**
 * The scale at which the whole image is seen, in device pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} image
 */
function fitOf(canvas, image) {
  return Math.min(canvas.width / image.width, canvas.height / image.height);
}
