// The two files of a bank: .rcb, a zip of plain NumPy arrays, and JSON. Both carry a checksum, which is verified as the library does.

import { pythonFloat } from "./exact.mjs";
import { inflate } from "./streams.mjs";

/** @typedef {{ type: string, shape: number[], data: Uint8Array, numbers: number[] }} NumpyArray */

const FILE_FORMAT = "recolorist.bank.file/1", JSON_FORMAT = "recolorist.bank/2";
const FLOATS = ["mean", "cov", "data_range"]; // entries that Python writes with a point
const MOST_KEY_BYTES = 2 ** 28;

/**
 * The entries of a bank, from either file, in the form of JSON.
 * @param {Uint8Array} bytes
 * @returns {Promise<Record<string, any>>}
 */
export async function bankEntries(bytes) {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) return fromArrays(bytes);
  let entries;
  try {
    entries = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("it is neither JSON nor a bank file");
  }
  if (entries?.format !== JSON_FORMAT) throw new Error(`its format is not “${JSON_FORMAT}”`);
  const { sha256, ...rest } = entries;
  await verify(sha256, [new TextEncoder().encode(pythonJson(rest))]);
  return rest;
}

/** @param {Uint8Array} bytes */
async function fromArrays(bytes) {
  const arrays = zippedArrays(bytes), stored = arrays.get("facts");
  if (!stored) throw new Error("it lacks its facts");
  const { sha256, format, ...facts } = JSON.parse(new TextDecoder().decode(stored.data));
  if (format !== FILE_FORMAT) throw new Error(`its format is not “${FILE_FORMAT}”`);
  arrays.delete("facts");
  const text = new TextEncoder();
  /** @type {Uint8Array[]} */
  const parts = [text.encode(pythonJson(facts))];
  for (const name of [...arrays.keys()].sort()) {
    const { type, shape, data } = arrayOf(arrays, name);
    parts.push(text.encode(`${name}${type}(${shape.join(", ")}${shape.length === 1 ? "," : ""})`), data);
  }
  await verify(sha256, parts);
  const names = (/** @type {string} */ codes, /** @type {string[]} */ table) =>
    arrayOf(arrays, codes).numbers.map((code) => (code < 0 ? null : table[code]));
  const rows = (/** @type {NumpyArray} */ { numbers, shape }) => {
    if (shape.length !== 2 || !shape[1]) throw new Error("an array in it has no rows and columns"); // any number of rows without columns has no bytes
    return Array.from({ length: shape[0] }, (_, i) => numbers.slice(i * shape[1], (i + 1) * shape[1]));
  };
  const mean = arrayOf(arrays, "mean");
  return {
    ...facts,
    channels: mean.shape[1], count: mean.shape[0], data_range: 1,
    mean: rows(mean), cov: rows(arrayOf(arrays, "cov")), pixels: arrayOf(arrays, "pixels").numbers,
    key: await unpackKeys(arrayOf(arrays, "keys").data, arrayOf(arrays, "key_lengths").numbers),
    label: names("label_codes", facts.labels), domain: names("domain_codes", facts.domains),
  };
}

/**
 * @param {Map<string, NumpyArray>} arrays
 * @param {string} name
 */
function arrayOf(arrays, name) {
  const found = arrays.get(name);
  if (!found) throw new Error(`it lacks the array “${name}”`);
  return found;
}

/**
 * The members of a zip that holds arrays as they are, by name without their suffix.
 * @param {Uint8Array} bytes
 * @returns {Map<string, NumpyArray>}
 */
function zippedArrays(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("its end is missing");
  const arrays = new Map();
  let total = 0; // members that share bytes would be copied as often as they are named
  for (let at = view.getUint32(end + 16, true), left = view.getUint16(end + 10, true); left > 0; left--) {
    const size = view.getUint32(at + 20, true), local = view.getUint32(at + 42, true);
    const [letters, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + letters));
    if (view.getUint16(at + 10, true) !== 0 || !name.endsWith(".npy")) throw new Error("it holds something else than the arrays of a bank");
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (start + size > bytes.length) throw new Error("it is cut off");
    if ((total += size) > bytes.length || arrays.has(name.slice(0, -4))) throw new Error("it holds something else than the arrays of a bank");
    arrays.set(name.slice(0, -4), readArray(bytes.slice(start, start + size)));
    at += 46 + letters + extra + comment;
  }
  return arrays;
}

/**
 * One array in NumPy's own format.
 * @param {Uint8Array} bytes
 * @returns {NumpyArray}
 */
function readArray(bytes) {
  const view = new DataView(bytes.buffer), long = bytes[6] > 1;
  const start = (long ? 12 : 10) + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = /'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': \(([\d, ]*)\)/.exec(new TextDecoder("latin1").decode(bytes.slice(0, start)));
  if (!header) throw new Error("an array in it cannot be read");
  const type = header[1], shape = header[2].split(",").map((part) => part.trim()).filter(Boolean).map(Number);
  const data = bytes.slice(start), count = shape.reduce((product, length) => product * length, 1);
  const make = /** @type {Record<string, any>} */ ({
    "<f8": Float64Array, "<f4": Float32Array, "|u1": Uint8Array, "|i1": Int8Array, "<u2": Uint16Array, "<i2": Int16Array,
    "<u4": Uint32Array, "<i4": Int32Array, "<i8": BigInt64Array,
  })[type];
  if (!make || data.length !== count * Number(type[2])) throw new Error("an array in it cannot be read");
  return { type, shape, data, numbers: type === "|u1" ? [] : Array.from(new make(data.buffer), Number) };
}

/**
 * @param {Uint8Array} block all keys behind each other, compressed
 * @param {number[]} lengths in bytes
 */
async function unpackKeys(block, lengths) {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (total > MOST_KEY_BYTES || total > 1000 * block.length) throw new Error("its keys would unpack to far more than the file holds");
  const bytes = total ? await inflate([block], total) : new Uint8Array(0), text = new TextDecoder();
  let at = 0;
  return lengths.map((length) => text.decode(bytes.subarray(at, (at += length))));
}

/**
 * @param {unknown} expected
 * @param {Uint8Array[]} parts
 */
async function verify(expected, parts) {
  if (!globalThis.crypto?.subtle) return; // a page that is neither local nor served over TLS has none
  const whole = new Uint8Array(await new Blob(/** @type {BlobPart[]} */ (parts)).arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (hex !== expected) throw new Error("its checksum does not fit; the file is damaged or was edited");
}

/**
 * What `json.dumps(value, sort_keys=True)` writes.
 * @param {any} value
 * @param {boolean} [float] whether numbers are floats in Python
 * @returns {string}
 */
export function pythonJson(value, float = false) {
  if (typeof value === "number") return float ? pythonFloat(value) : String(value);
  if (typeof value === "string") {
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map((one) => pythonJson(one, float)).join(", ")}]`;
  const entries = Object.keys(value).sort().map((name) => `${pythonJson(name)}: ${pythonJson(value[name], FLOATS.includes(name))}`);
  return `{${entries.join(", ")}}`;
}
