import { accessSync, constants, rmSync } from "node:fs";
import { browser, program, results } from "./places";

/** Says what is missing before the first test, and removes the results of the previous run. */
export default function setup() {
  for (const [path, what] of [
    [program, "the program: run `make web build`, or set FAIRLANE_BIN"],
    [browser, "Chromium: run test/install-peers.sh, or set CHROMIUM"],
  ] as const) {
    try {
      accessSync(path, constants.X_OK);
    } catch {
      throw new Error(`${path} not found. Browser tests need ${what}`);
    }
  }
  for (const part of ["screens", "logs"]) rmSync(`${results}/${part}`, { recursive: true, force: true });
}
