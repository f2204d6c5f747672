// Fails when the first load of an application is larger than its budget: the gzip sizes of the entry's scripts and styles and of
// everything that they import at once (docs/console.md, docs/portal.md).
import { readFileSync, statSync } from "node:fs";

const budgets = { "console.html": 350_000, "portal.html": 300_000 };
const manifest = JSON.parse(readFileSync("dist/assets/manifest.json", "utf8"));
let failed = false;
for (const [entry, budget] of Object.entries(budgets)) {
  const files = new Set();
  const visit = (key) => {
    const chunk = manifest[key];
    if (files.has(chunk.file)) return;
    files.add(chunk.file);
    for (const css of chunk.css ?? []) files.add(css);
    for (const next of chunk.imports ?? []) visit(next);
  };
  visit(entry);
  const size = [...files].reduce((sum, file) => sum + statSync(`dist/${file}.gz`).size, 0);
  process.stdout.write(
    `${entry}: first load ${(size / 1000).toFixed(0)} KB gzip in ${files.size} files, budget ${budget / 1000} KB\n`,
  );
  failed ||= size > budget;
}
process.exit(failed ? 1 : 0);
