// One content, one style, one set of options: asks the worker, never more than one question at a time, and drops stale ones.

/** @typedef {import("./engine.mjs").Options} Options */
/** @typedef {import("./engine.mjs").Match} Match */
/** @typedef {import("./engine.mjs").Result} Result */
/** @typedef {import("./files.mjs").Picture} Picture */
/** @typedef {import("./bank.mjs").BankStyle} BankStyle */

export class Session {
  /**
   * @param {(request: Record<string, unknown>) => Promise<any>} call the worker
   * @param {() => Options} options
   * @param {{ drawn: (match: Match, milliseconds: number) => void, reported: (result: Result) => void, failed: (message: string) => void, settled: () => void }} hooks
   */
  constructor(call, options, hooks) {
    this.call = call;
    this.options = options;
    this.hooks = hooks;
    /** @type {Picture | null} */
    this.content = null;
    /** @type {Picture | BankStyle | null} */
    this.style = null;
    /** @type {Match | null} */
    this.match = null;
    /** @type {Result | null} */
    this.result = null; // the match and its numbers
    /** @type {{ content: string | null, output: string | null }} */
    this.fingerprints = { content: null, output: null };
    this.news = { content: false, style: false }; // what the worker has not seen yet
    this.busy = false;
    this.again = false;
  }

  /** @param {Picture} picture */
  setContent(picture) {
    this.content = picture;
    this.news.content = true;
    this.update();
  }

  /** @param {Picture | BankStyle} style */
  setStyle(style) {
    this.style = style;
    this.news.style = true;
    this.update();
  }

  /** Something changed: match again, now or as soon as the worker is free. */
  update() {
    if (!this.content || !this.style) return;
    if (this.busy) this.again = true;
    else void this.#run();
  }

  async #run() {
    this.busy = true;
    do {
      this.again = false;
      await this.#once();
    } while (this.again);
    await this.#fingerprint();
    this.busy = false;
    if (this.again) this.update();
    else this.hooks.settled();
  }

  async #once() {
    const start = performance.now();
    const request = this.#request();
    this.news = { content: false, style: false };
    try {
      /** @type {Match} */
      const match = await this.call(request);
      if (this.news.content || this.news.style) return; // another image has come meanwhile, and its turn is next
      this.match = match;
      this.hooks.drawn(match, performance.now() - start);
      this.result = { ...match, ...(await this.call({ what: "account" })) };
      if (this.result) this.hooks.reported(this.result);
    } catch (error) {
      this.match = this.result = null;
      this.hooks.failed(error instanceof Error ? error.message : String(error));
    }
  }

  #request() {
    /** @type {Record<string, unknown>} */
    const request = { what: "match", options: this.options() };
    if (this.news.content && this.content) {
      const { rgba, width, height, alpha } = this.content;
      request.content = { rgba, width, height, alpha };
    }
    if (this.news.style && this.style) {
      if ("moments" in this.style) Object.assign(request, { moments: this.style.moments, change: this.style.change });
      else request.style = { rgba: this.style.rgba, width: this.style.width };
    }
    return request;
  }

  async #fingerprint() {
    this.fingerprints = { content: null, output: null };
    if (this.result && !this.again) this.fingerprints = await this.call({ what: "fingerprint" });
  }
}
