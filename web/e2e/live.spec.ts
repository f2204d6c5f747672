import type { Page } from "@playwright/test";
import { expect, expectAccessible, type FaultProxy, ready, test } from "./harness/test";

/** Opens the overview behind a proxy, and waits until its stream of events is open. */
async function openLive(page: Page, proxy: FaultProxy, fabric: string) {
  await page.goto(`${proxy.url}/console/f/${fabric}/overview`);
  await ready(page);
  await expect(page.locator('[data-live="live"]')).toBeAttached();
}

test("a stream that a proxy holds back is replaced by asking, and the page says so (F13)", async ({
  page,
  demo,
  proxied,
  guards,
}) => {
  test.setTimeout(120_000);
  guards.allow(/ERR_/);
  const proxy = await proxied();
  await openLive(page, proxy, demo.fabric);
  proxy.on(/\/events\/stream/, { stall: true });
  proxy.cutStreams();
  await expect(page.locator('[data-live="polling"]')).toBeVisible({ timeout: 60_000 });
  await expect(page.locator('[data-live="polling"]')).toContainText("every 5 seconds");
});

test("while the service is away the page says how old it is, and recovers by itself (F12)", async ({
  page,
  demo,
  proxied,
  guards,
}) => {
  test.setTimeout(120_000);
  guards.allow(/ERR_/);
  const proxy = await proxied();
  await openLive(page, proxy, demo.fabric);
  const writes = () => proxy.recorded.filter((r) => r.method !== "GET" && !/prometheus|sign-in/.test(r.path)).length;
  const before = writes();
  await proxy.down();
  const banner = page.locator('[data-live="reconnecting"]');
  await expect(banner).toBeVisible({ timeout: 60_000 });
  await expect(banner).toContainText("may be old");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Overview");
  await proxy.up();
  await expect(banner).toBeHidden({ timeout: 60_000 });
  await expect(page.locator('[data-live="live"]')).toBeAttached({ timeout: 60_000 });
  expect(writes()).toBe(before);
});

test("a search and a sign-out that fail say so", async ({ page, demo, proxied, guards }) => {
  guards.allow(/status of (400|500)/);
  const proxy = await proxied();
  await page.goto(`${proxy.url}/console/f/${demo.fabric}/overview`);
  await ready(page);

  proxy.on(/\/api\/v1\/search/, { status: 400 });
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Find pages and objects" });
  await palette.getByRole("combobox").fill("gold");
  await expect(palette.getByRole("alert")).toBeVisible();
  await expect(palette.getByText("No match")).toBeHidden();
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  proxy.on(/\/api\/v1\/sign-out/, { status: 500 });
  await page.getByRole("button", { name: `Account ${demo.operator.user}` }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  const failed = page.getByRole("dialog", { name: "Sign out" });
  await expect(failed.getByRole("alert")).toBeVisible();
  await expectAccessible(page);
  proxy.heal();
  await failed.getByRole("button", { name: "Try again" }).click();
  await expect(page).toHaveURL(/\/portal\//);
  await expect(page.getByLabel("User name")).toBeVisible();
});
