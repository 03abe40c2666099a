// Runs the page's engine in Node: node run_cases.mjs <folder of the modules> <cases.json>. Prints one JSON line per case.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.mjs`));
const [{ Engine }, { planJson }, { packed }, exact] = await Promise.all(["engine", "plan", "png", "exact"].map(load));

const { spaces, blank, images, widths, cases, floats, divisions, sums } = JSON.parse(readFileSync(file, "utf8"));
const decoded = images.map((text) => {
  const bytes = Buffer.from(text, "base64");
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
});

for (const { content, style, moments, options } of cases) {
  const engine = new Engine(spaces, blank);
  engine.setContent(decoded[content], widths[content]);
  if (moments) engine.setStyleMoments(moments);
  else engine.setStyle(decoded[style]);
  try {
    const match = engine.match(options);
    const { pixels, plan, flags } = match;
    const { report, loss } = engine.account(match);
    const sha256 = createHash("sha256").update(packed(new Uint8Array(pixels.buffer), false)).digest("hex");
    console.log(JSON.stringify({ sha256, plan: plan && planJson(plan), report, loss, flags, blank: match.blank, moments: match.content.moments }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
const texts = (floats ?? []).map(exact.pythonFloat);
const quotients = (divisions ?? []).map(([a, b]) => exact.pythonFloat(exact.divideExactly(BigInt(a), BigInt(b))));
const totals = (sums ?? []).map((terms) => exact.pythonFloat(exact.sumPairwise(Float64Array.from(terms))));
console.log(JSON.stringify({ texts, quotients, totals }));
