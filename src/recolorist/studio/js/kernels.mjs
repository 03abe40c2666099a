// The library's own loops, compiled to WebAssembly: colour spaces that are not linear, and the ranking of pixels.

import { divideExactly } from "./exact.mjs";
import { fromUpperTriangle } from "./moments.mjs";
import { isDiagonal } from "./plan.mjs";

/** @typedef {import("./moments.mjs").Moments} Moments */
/** @typedef {import("./plan.mjs").Plan} Plan */
/** @typedef {Record<string, (...numbers: number[]) => number> & { memory: WebAssembly.Memory }} Loops */

/** Copies numbers into the memory of the loops, calls them, and copies the results out. */
export class Kernels {
  /** @param {Uint8Array} code kernels.wasm */
  constructor(code) {
    const module = new WebAssembly.Module(/** @type {BufferSource} */ (code));
    this.loops = /** @type {Loops} */ (/** @type {unknown} */ (new WebAssembly.Instance(module).exports));
    this.loops.prepare();
  }

  /**
   * Moments in a space, in its own units.
   * @param {Int32Array} pixels
   * @param {string} space
   * @returns {Moments}
   */
  measure(pixels, space) {
    const number = this.#open(space), sums = this.#take(21 * 8), source = this.#put(pixels);
    this.loops.measure(source, pixels.length, number, sums);
    const words = new BigInt64Array(this.loops.memory.buffer, sums, 21), count = BigInt(pixels.length), square = count * count;
    const steps = [0, 1, 2].map((c) => BigInt(this.loops.steps_of(number, c)));
    // the sum of products of channels i and i + d lies in two words, of which the second is 32 bits lower
    const product = (/** @type {number} */ i, /** @type {number} */ d) => (words[3 + 2 * (3 * d + i)] << 32n) + words[4 + 2 * (3 * d + i)];
    const spread = (/** @type {number} */ i, /** @type {number} */ j) => count * product(i, j - i) - words[i] * words[j];
    const varies = [0, 1, 2].map((c) => spread(c, c) > square); // less than a step is the rounding of the conversion
    const entry = (/** @type {number} */ i, /** @type {number} */ j) =>
      (varies[i] && varies[j] ? divideExactly(spread(i, j), square * steps[i] * steps[j]) : 0);
    return {
      count: pixels.length,
      mean: steps.map((step, c) => divideExactly(words[c], count * step)),
      cov: fromUpperTriangle([entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]),
    };
  }

  /**
   * Convert, map and convert back; alpha goes along.
   * @param {Int32Array} pixels
   * @param {Plan} plan
   * @param {Int32Array} target written
   */
  map(pixels, plan, target) {
    const number = this.#open(plan.space), diagonal = Number(isDiagonal(plan)), numbers = this.#put(numbersOf(plan));
    const source = this.#put(pixels), goal = this.#take(pixels.byteLength);
    this.loops.map(source, goal, pixels.length, number, diagonal, numbers);
    target.set(new Int32Array(this.loops.memory.buffer, goal, pixels.length));
  }

  /**
   * What a plan would write if there were no limits: levels of red, green and blue, rounded, in three planes.
   * @param {Int32Array} pixels
   * @param {Plan} plan
   * @returns {Float64Array[]}
   */
  mapUnlimited(pixels, plan) {
    const number = this.#open(plan.space), diagonal = Number(isDiagonal(plan)), numbers = this.#put(numbersOf(plan));
    const source = this.#put(pixels), planes = this.#take(24 * pixels.length);
    this.loops.map_unlimited(source, pixels.length, number, diagonal, numbers, planes);
    return this.#planes(planes, pixels.length);
  }

  /**
   * The channels of a space. Hue and saturation of HSV and HSI are ratios: with a white of 1 they are those of the levels
   * themselves, and equal ratios are equal to the last bit.
   * @param {Int32Array} pixels
   * @param {string} space
   * @param {number} white
   * @returns {Float64Array[]}
   */
  split(pixels, space, white) {
    const number = this.#open(space), source = this.#put(pixels), planes = this.#take(24 * pixels.length);
    this.loops.split(source, pixels.length, number, white, planes);
    return this.#planes(planes, pixels.length);
  }

  /**
   * Channels of a space back to pixels without alpha, and the same before they are limited.
   * @param {Float64Array[]} channels
   * @param {string} space
   * @returns {{ pixels: Int32Array, unlimited: Float64Array[] }}
   */
  join(channels, space) {
    const number = this.#open(space), count = channels[0].length;
    const planes = this.#take(24 * count), target = this.#take(4 * count);
    channels.forEach((channel, c) => this.#floats(planes + 8 * c * count, count).set(channel));
    const pixels = new Int32Array(this.loops.memory.buffer, target, count).fill(0);
    this.loops.join(planes, target, count, number);
    this.loops.unlimit(planes, count, number);
    return { pixels: pixels.slice(), unlimited: this.#planes(planes, count) };
  }

  /**
   * The places of values in ascending order; equal ones stay in theirs.
   * @param {Float64Array} values
   * @returns {Uint32Array}
   */
  orderValues(values) {
    return this.#ordered(values, values.length, null, 1);
  }

  /**
   * The strict order of pixels by Coltuc: by value, then by the sums over growing rings round them, then by position.
   * @param {Float64Array} values
   * @param {number} width
   * @param {Uint8Array | null} mask
   * @returns {Uint32Array} places of the pixels inside the mask
   */
  orderPixels(values, width, mask) {
    return this.#ordered(values, width, mask, 0);
  }

  /** @param {Float64Array} values @param {number} width @param {Uint8Array | null} mask @param {number} byPosition 1, or 0 for Coltuc's order */
  #ordered(values, width, mask, byPosition) {
    this.loops.release();
    const source = this.#put(values), inside = mask ? this.#put(mask) : 0;
    const [places, spare, words] = [1, 1, 2].map((lists) => this.#take(8 * values.length * lists));
    const count = this.loops.order_pixels(source, values.length / width, width, inside, byPosition, places, spare, words);
    return this.#places(places, count);
  }

  /** @param {string} space */
  #open(space) {
    this.loops.release();
    const name = this.#put(new TextEncoder().encode(`${space}\0`));
    return this.loops.find_space(name);
  }

  /** @param {number} bytes */
  #take(bytes) {
    const place = this.loops.take(bytes) >>> 0;
    if (!place) throw new Error("The browser gives no more memory for so large an image; use a smaller one, or the Python library.");
    return place;
  }

  /** @param {Int32Array | Float64Array | Uint8Array} numbers */
  #put(numbers) {
    const place = this.#take(numbers.byteLength);
    new Uint8Array(this.loops.memory.buffer, place).set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
    return place;
  }

  /**
   * @param {number} place
   * @param {number} count
   */
  #floats(place, count) {
    return new Float64Array(this.loops.memory.buffer, place, count);
  }

  /**
   * @param {number} place
   * @param {number} count
   */
  #planes(place, count) {
    return [0, 1, 2].map((c) => this.#floats(place + 8 * c * count, count).slice());
  }

  /**
   * Places are numbers of 64 bits, of which the lower half is used.
   * @param {number} place
   * @param {number} count
   */
  #places(place, count) {
    const words = new Uint32Array(this.loops.memory.buffer, place, 2 * count), places = new Uint32Array(count);
    for (let k = 0; k < count; k++) places[k] = words[2 * k];
    return places;
  }
}

/** @param {Plan} plan */
function numbersOf(plan) {
  const gains = isDiagonal(plan) ? plan.matrix.map((row, c) => row[c]) : plan.matrix.flat();
  return Float64Array.from([...gains, ...plan.offset]);
}
