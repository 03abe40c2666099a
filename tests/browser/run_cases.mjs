// Runs the page's engine in Node: node run_cases.mjs <folder of the modules> <cases.json>. Prints one JSON line per case.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.mjs`));
const names = ["engine", "plan", "png", "exact", "kernels"];
const [{ Engine }, { planJson }, { packed }, exact, { Kernels }] = await Promise.all(names.map(load));
const kernels = new Kernels(readFileSync(`${folder}/../kernels.wasm`));

const { spaces, blank, images, widths, cases, floats, divisions, sums, positive } = JSON.parse(readFileSync(file, "utf8"));
const decoded = images.map((text) => {
  const bytes = Buffer.from(text, "base64");
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
});

for (const { content, style, moments, change, options } of cases) {
  const engine = new Engine(spaces, blank, kernels);
  engine.setContent(decoded[content], widths[content]);
  if (change) engine.setStyleChange(change);
  else if (moments) engine.setStyleMoments(moments);
  else engine.setStyle(decoded[style], widths[style]);
  try {
    const match = engine.match(options);
    const { pixels, plan, flags } = match;
    const { report, loss } = engine.account(match);
    const bytes = packed(new Uint8Array(pixels.buffer), false), small = bytes.length < 1000;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    console.log(JSON.stringify({ sha256, pixels: small ? Buffer.from(bytes).toString("base64") : null, plan: plan && planJson(plan), report, loss, flags, blank: match.blank, moments: match.content.moments }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
const texts = (floats ?? []).map(exact.pythonFloat);
const quotients = (divisions ?? []).map(([a, b]) => exact.pythonFloat(exact.divideExactly(BigInt(a), BigInt(b))));
const totals = (sums ?? []).map((terms) => exact.pythonFloat(exact.sumPairwise(Float64Array.from(terms))));
const logarithms = (positive ?? []).map(exact.naturalLog), powers = logarithms.map(exact.powerOfE);
console.log(JSON.stringify({ texts, quotients, totals, logarithms, powers }));
