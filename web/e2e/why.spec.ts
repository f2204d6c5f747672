import { expect, expectAccessible, keep, ready, test } from "./harness/test";

type Overview = { below_count: number; contended_count: number; tenants: number; contended: { name: string }[] };

test("the counts of the overview say what is behind them", async ({ page, demo, signIn }) => {
  const path = `/fabrics/${demo.fabric}/overview`;
  await expect
    .poll(async () => (await demo.api<Overview>("GET", path)).contended_count, { timeout: 40_000 })
    .toBeGreaterThan(0);
  await signIn(page, "operator");
  await page.goto(`/console/f/${demo.fabric}/overview`);
  await ready(page);
  const o = await demo.api<Overview>("GET", path);

  await page.locator('[data-why="Contended links"]').click();
  const contended = page.getByRole("dialog", { name: "Why: Contended links" });
  await expect(contended).toContainText("use = delivered / capacity");
  await expect(contended.getByRole("row")).toHaveCount(o.contended.length);
  for (const link of o.contended) await expect(contended).toContainText(link.name);
  await expect(contended).toContainText("Read");
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  await page.locator('[data-why="Tenants below their share"]').click();
  const below = page.getByRole("dialog", { name: "Why: Tenants below their share" });
  await expect(below).toContainText("below the bound of its objective");
  await expect(below.getByRole("row", { name: /Tenants of the fabric/ })).toContainText(String(o.tenants));
  await expectAccessible(page);
});

test("a tenant sees what limits it, and no link", async ({ page, demo, signIn }) => {
  type Now = { state?: string; entitled_bps?: number };
  type Endpoint = { state: string; rate_bps?: number };
  const own = `/fabrics/${demo.fabric}/tenants/${demo.tenant.tenant}`;
  await expect
    .poll(async () => (await demo.api<Now>("GET", `${own}/now`)).state, { timeout: 40_000 })
    .toBe("contending");
  await signIn(page, "tenant");
  await page.goto(`/portal/f/${demo.fabric}/t/${demo.tenant.tenant}/share`);
  await ready(page);
  const limit = page.locator('[data-figure="limit"]');
  await expect(limit).toContainText("a contended link in the network");
  const { items } = await demo.api<{ items: Endpoint[] }>("GET", `${own}/endpoints`);
  const rate = items.reduce((n, e) => n + (e.state === "up" ? (e.rate_bps ?? 0) : 0), 0);
  const now = await demo.api<Now>("GET", `${own}/now`);
  await expect(limit).toContainText(`entitled ${((100 * (now.entitled_bps ?? 0)) / rate).toFixed(1)}`);
  await limit.locator("[data-why]").click();
  const why = page.getByRole("dialog", { name: "Why: Limited by" });
  await expect(why).toContainText("rate of your own ports");
  const links = await demo.api<Overview>("GET", `/fabrics/${demo.fabric}/overview`);
  expect(links.contended.length).toBeGreaterThan(0);
  const text = (await page.locator("body").textContent()) ?? "";
  for (const link of links.contended) expect(text).not.toContain(link.name);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await keep(page, "portal-share-limit");
});
