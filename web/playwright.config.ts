import { defineConfig } from "@playwright/test";
import { browser, results } from "./e2e/harness/places";
import type { Options } from "./e2e/harness/test";

// Sigma draws with WebGL, which needs a software renderer where there is no graphics card.
const args = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
if (process.getuid?.() === 0) args.push("--no-sandbox");

/** Browser tests against a real service: `npm run e2e`. FAIRLANE_BIN names the program, CHROMIUM the browser, E2E_WORKERS the parallel workers. */
export default defineConfig<Options>({
  testDir: "e2e",
  outputDir: `${results}/failures`,
  globalSetup: "./e2e/harness/setup.ts",
  reporter: [["line"], ["./e2e/harness/summary.ts"]],
  workers: Number(process.env.E2E_WORKERS ?? 1), // each starts a demo
  retries: 0,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: browser, args },
    viewport: { width: 1440, height: 900 },
    timezoneId: "UTC",
    actionTimeout: 10_000,
    navigationTimeout: 20_000,
    // The trace has the pictures: videos need a program that only Playwright's own browsers come with.
    trace: "retain-on-failure",
    screenshot: "only-on-failure",
  },
  projects: [
    { name: "chromium", grepInvert: /@soak/ },
    { name: "soak", grep: /@soak/, timeout: 3_600_000 },
  ],
});
