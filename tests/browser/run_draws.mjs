// Reads banks and draws from them in Node: node run_draws.mjs <folder of the modules> <questions.json>. Prints one JSON line per question.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.mjs`));
const [{ readBank }, { drawStyles, Stream }, { drawNormal }] = await Promise.all(["bank", "draws", "normals"].map(load));
for (const { bank, options, count, seed, normals } of JSON.parse(readFileSync(file, "utf8"))) {
  try {
    if (normals) {
      const stream = new Stream(seed, 0);
      console.log(JSON.stringify({ normals: Array.from({ length: normals }, () => drawNormal(stream)) }));
      continue;
    }
    const { name, styles } = await readBank(new Uint8Array(readFileSync(bank)), "bank", 0.02);
    console.log(JSON.stringify({ name, styles, drawn: options ? drawStyles(styles, options, count) : [] }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
