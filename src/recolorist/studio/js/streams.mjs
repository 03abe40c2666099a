// Deflate and inflate with the browser's own streams.

/**
 * @param {Uint8Array[]} parts
 * @param {number} length what is expected to come out; more or less is a damaged file
 * @returns {Promise<Uint8Array>}
 */
export async function inflate(parts, length) {
  const bytes = await through(parts, new DecompressionStream("deflate"), length);
  if (bytes.length !== length) throw new Error("the compressed data has the wrong length");
  return bytes;
}

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
export function deflate(bytes) {
  return through([bytes], new CompressionStream("deflate"), Infinity);
}

/**
 * @param {Uint8Array[]} parts
 * @param {GenericTransformStream} transform
 * @param {number} most stop when more than this comes out
 */
async function through(parts, transform, most) {
  const reader = new Blob(/** @type {BlobPart[]} */ (parts)).stream().pipeThrough(transform).getReader();
  /** @type {Uint8Array[]} */
  const pieces = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    total += value.length;
    if (total > most) throw new Error("the compressed data is longer than the image");
  }
  const result = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    result.set(piece, at);
    at += piece.length;
  }
  return result;
}
