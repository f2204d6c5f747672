import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The program under test. */
export const program = process.env.FAIRLANE_BIN ?? here("../../../bin/fairlane");

/** The browser: Debian's, unless CHROMIUM names another. */
export const browser = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Everything that a run leaves; not in git. */
export const results = here("../results");

/** The engine that `expectAccessible` runs in the page. */
export const axe = here("../../node_modules/axe-core/axe.min.js");
