// Reads banks and draws from them in Node: node run_draws.mjs <folder of the modules> <questions.json>. Prints one JSON line per question.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.mjs`));
const [{ readBank }, { drawStyles }] = await Promise.all(["bank", "draws"].map(load));
for (const { bank, options, count } of JSON.parse(readFileSync(file, "utf8"))) {
  try {
    const { name, styles } = await readBank(new Uint8Array(readFileSync(bank)), "bank", 0.02);
    console.log(JSON.stringify({ name, styles, drawn: options ? drawStyles(styles, options, count) : [] }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
