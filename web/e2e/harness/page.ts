import { readFileSync } from "node:fs";
import { expect, type Page } from "@playwright/test";
import type { AxeResults, Result } from "axe-core";
import { axe, results } from "./places";

const engine = readFileSync(axe, "utf8");
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"];

type Axe = { run(context: object, options: object): Promise<AxeResults> };

/** A violation as text: the rule, the elements, and what to change. */
function violationText(v: Result): string {
  const nodes = v.nodes.map(
    (n) => `    ${n.target.join(" ")}\n      ${(n.failureSummary ?? "").replace(/\n\s*/g, "\n      ")}`,
  );
  return `  ${v.id} (${v.impact}): ${v.help}\n${nodes.join("\n")}`;
}

/** Waits for the end of all transitions: the colours of an element that fades in have no contrast yet. */
async function settled(page: Page) {
  await page.evaluate(async () => {
    for (let i = 0; i < 3; i++) await new Promise((next) => requestAnimationFrame(next)); // transitions begin after a frame
    const ending = document.getAnimations().filter((a) => Number.isFinite(a.effect?.getComputedTiming().endTime));
    await Promise.allSettled(ending.map((a) => a.finished));
  });
}

/** Fails with a list when the page violates WCAG 2.2 A or AA, as far as axe-core finds. `exclude` leaves out parts by selector. */
export async function expectAccessible(page: Page, { exclude = [] as string[] } = {}) {
  await settled(page);
  // Through the protocol, since the policy of the page allows no other script.
  await page.evaluate(engine);
  const found = await page.evaluate(
    ([excluded, runOnly]) =>
      (globalThis as unknown as { axe: Axe }).axe.run(
        { include: [["html"]], exclude: excluded.map((s) => [s]) },
        { runOnly, resultTypes: ["violations"] },
      ),
    [exclude, tags] as const,
  );
  expect(found.violations.map(violationText).join("\n"), `accessibility of ${page.url()}`).toBe("");
}

/** Waits until the page shows its data: it sets data-ready="true" on its main element. */
export async function ready(page: Page) {
  await page.locator('[data-ready="true"]').first().waitFor();
}

/** Keeps a screenshot for review: results/screens/NAME-THEME-LANGUAGE-WIDTH.png. Theme and language are those that the page shows. */
export async function keep(page: Page, name: string, { fullPage = false } = {}): Promise<string> {
  const [theme, language] = await page.evaluate(async () => {
    await document.fonts.ready;
    const root = document.documentElement;
    const dark = root.dataset.mantineColorScheme
      ? root.dataset.mantineColorScheme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    return [dark ? "dark" : "light", root.lang.slice(0, 2) || "en"] as const;
  });
  const path = `${results}/screens/${name}-${theme}-${language}-${page.viewportSize()?.width ?? 0}.png`;
  await page.screenshot({ path, fullPage, animations: "disabled", caret: "hide" });
  return path;
}
