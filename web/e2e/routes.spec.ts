import type { Page } from "@playwright/test";
import { looks, nameOf } from "./harness/looks";
import { consolePlaces, type Place, portalPlaces } from "./harness/routes";
import { expect, expectAccessible, keep, ready, test } from "./harness/test";

/** Opens a place: it is accessible and does not scroll sideways. */
async function visit(page: Page, { name, path }: Place) {
  await page.goto(path);
  await ready(page);
  await expectAccessible(page);
  await keep(page, name);
  await expectWithin(page, name);
}

/** Nothing of the page lies beyond its right edge. */
async function expectWithin(page: Page, name: string) {
  const sideways = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(sideways, `${name} scrolls sideways`).toBeLessThanOrEqual(0);
  if ((page.viewportSize()?.width ?? 0) < 1280) return; // on smaller screens, tables scroll in their own box
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll(".fl-table-box")]
      .filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => box.getAttribute("aria-label")),
  );
  expect(wide, `tables of ${name} that hide their last columns`).toEqual([]);
}

for (const look of looks) {
  const { theme, language, width } = look;
  test.describe(nameOf(look), () => {
    test.use({ theme, language, viewport: { width, height: 900 } });

    test("every page of the console is whole and accessible", async ({ page, demo, signIn }) => {
      test.setTimeout(180_000);
      await signIn(page, "operator");
      for (const place of await consolePlaces(demo)) await test.step(place.name, () => visit(page, place));
    });

    test("every page of the portal is whole and accessible", async ({ page, demo, signIn }) => {
      test.setTimeout(120_000);
      await signIn(page, "tenant");
      for (const place of portalPlaces(demo)) await test.step(place.name, () => visit(page, place));
    });
  });
}

test("pages of the console hold at 200 % zoom with forced colours", async ({ newPage, demo }) => {
  test.setTimeout(120_000);
  const page = await newPage({ viewport: { width: 640, height: 450 }, forcedColors: "active" });
  await demo.signIn(page, demo.operator);
  for (const place of await consolePlaces(demo)) {
    await test.step(place.name, async () => {
      await page.goto(place.path);
      await ready(page);
      await keep(page, `${place.name}-forced`);
      await expectWithin(page, place.name);
    });
  }
});

test("unknown addresses, fabrics and tenants answer Not found and offer the search", async ({
  page,
  signIn,
  guards,
}) => {
  guards.allow(/status of 404/);
  await signIn(page, "operator");
  for (const path of [
    "/console/nothing/here",
    "/console/f/no-such-fabric/overview",
    "/console/f/demo/tenants/no-such-tenant",
  ]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { name: "Not found" })).toBeVisible();
    await page.keyboard.press("Control+k");
    await expect(page.getByRole("combobox")).toBeFocused();
  }
});

test("the palette finds a tenant and opens its page by keyboard", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(`/console/f/${demo.fabric}/overview`);
  await ready(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("silver");
  await expect(page.getByRole("option", { name: /silver/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/tenants\/silver$/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("silver");
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
});

test("language and theme change at once and keep the page's state", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(`/console/f/${demo.fabric}/tenants?filter=gold`);
  await ready(page);
  await page.getByRole("button", { name: /Account/ }).click();
  await page.getByRole("menuitem", { name: "中文" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  await expect(page).toHaveURL(/filter=gold/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("租户");
  await page.getByRole("button", { name: /^账户/ }).click();
  await page.getByRole("menuitem", { name: "深色" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-mantine-color-scheme", "dark");
  await expect(page).toHaveURL(/filter=gold/);
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  await expect(page.locator("html")).toHaveAttribute("data-mantine-color-scheme", "dark");
});

test("after an upgrade, an old tab says that there is a new version", async ({ page, demo, signIn, guards }) => {
  guards.allow(/Failed to (load|fetch)/, /dynamically imported module/);
  await signIn(page, "operator");
  await page.goto(`/console/f/${demo.fabric}/overview`);
  await ready(page);
  await page.route("**/assets/Audit-*", (route) => route.fulfill({ status: 404, body: "" }));
  await page.getByRole("link", { name: "Audit" }).click();
  await expect(page.getByRole("heading", { name: "Fairlane was upgraded" })).toBeVisible();
  await page.unroute("**/assets/Audit-*");
  await page.getByRole("button", { name: "Reload the page" }).click();
  await ready(page);
  await expect(page).toHaveURL(/\/console\/audit/);
});
