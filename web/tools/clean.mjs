// Empties dist but for the placeholder, which is committed so that Go can embed the folder of a bare clone.
import { readdirSync, rmSync } from "node:fs";

for (const name of readdirSync("dist")) if (name !== "placeholder.html") rmSync(`dist/${name}`, { recursive: true });
