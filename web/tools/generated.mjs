// Fails when the types of the contract are out of date: compares src/api/schema.gen.ts with what openapi-typescript prints.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const fresh = execFileSync("npx", ["--no-install", "openapi-typescript", "../api/openapi.yaml"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
});
if (fresh !== readFileSync("src/api/schema.gen.ts", "utf8")) {
  process.stderr.write(
    "web/src/api/schema.gen.ts differs from api/openapi.yaml: run `npm run generate` in web/ and commit the file\n",
  );
  process.exit(1);
}
