import type { Fault } from "./harness/proxy";
import { expect, ready, test } from "./harness/test";

/** A name of 10,000 characters that HTML, bidirectional text and layout could break on. */
const hostile = `<img src=x onerror=alert(1)>\u202e${"a".repeat(9970)}`;

/** Answers of the service, or of a proxy before it, and what pages call them. */
const faults: { name: string; fault: Fault; title: string | RegExp }[] = [
  { name: "429", fault: { status: 429, retryAfter: 1 }, title: "Locked" },
  { name: "503", fault: { status: 503 }, title: /not ready/i },
  {
    name: "a proxy's page with 502",
    fault: { status: 502, body: "<h1>Bad gateway</h1>", type: "text/html" },
    title: /something other than the service/,
  },
  { name: "garbage", fault: { garbage: true }, title: /something other than the service/ },
  { name: "no answer", fault: { drop: true }, title: "The service did not answer" },
];

const places = [
  { path: "overview", reads: /^\/api\/.*\/overview$/ },
  { path: "tenants/gold", reads: /^\/api\/.*\/tenants\/gold$/ },
  { path: "plans", reads: /^\/api\/.*\/plans(\?|$)/ },
  { path: "devices", reads: /^\/api\/.*\/devices(\?|$)/ },
];

for (const { name, fault, title } of faults) {
  test(`pages name the failure, offer to try again, and recover: ${name}`, async ({ page, demo, proxied, guards }) => {
    test.setTimeout(120_000);
    guards.allow(/status of (429|502|503)/, /ERR_/);
    const proxy = await proxied();
    for (const { path, reads } of places.slice(0, 2)) {
      await test.step(path, async () => {
        proxy.on(reads, fault);
        await page.goto(`${proxy.url}/console/f/${demo.fabric}/${path}`);
        const note = page.getByRole("main").getByRole("alert").first();
        await expect(note).toContainText(title, { timeout: 30_000 });
        await expect(page.getByRole("navigation").first()).toBeVisible();
        await expect(page.locator("h1 >> text=Bad gateway")).toHaveCount(0);
        proxy.heal();
        await note.getByRole("button", { name: "Try again" }).click();
        await ready(page);
        await expect(page.locator("[data-problem]")).toHaveCount(0);
      });
    }
  });
}

test("an answer of the wrong shape is reported inside the frame", async ({ page, demo, proxied, guards }) => {
  guards.allow(/./); // React reports the error that the page catches
  const proxy = await proxied();
  for (const { path, reads } of places) {
    await test.step(path, async () => {
      proxy.on(reads, { status: 200, body: "{}", type: "application/json" });
      await page.goto(`${proxy.url}/console/f/${demo.fabric}/${path}`);
      await expect(page.getByRole("main").getByRole("alert").first()).toBeVisible({ timeout: 30_000 });
      await expect(page.getByRole("navigation").first()).toBeVisible();
      proxy.heal();
    });
  }
});

test("a refused write keeps the form, and is made once when repeated", async ({ page, demo, proxied, guards }) => {
  guards.allow(/status of (429|502|503)/, /ERR_/);
  const before = await demo.declared(demo.fabric);
  const proxy = await proxied();
  const puts = () =>
    proxy.recorded.filter(
      (r) => r.method === "PUT" && /\/tenants\/bronze/.test(r.path) && !r.path.includes("dry_run=true"),
    );
  try {
    await page.goto(`${proxy.url}/console/f/${demo.fabric}/tenants/bronze?edit=yes`);
    await ready(page);
    await page.getByLabel("Weight", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Preview the change" }).click();
    const save = page.getByRole("button", { name: "Save and compile a plan" });
    for (const { name, fault, title } of faults.filter((f) => f.name !== "garbage")) {
      await test.step(name, async () => {
        proxy.on(/^\/api\/.*\/tenants\/bronze(\?|$)/, fault);
        await save.click();
        await expect(page.getByRole("main").getByRole("alert").filter({ hasText: title })).toBeVisible();
        await expect(page.getByLabel("Weight", { exact: true })).toHaveValue("3");
        proxy.heal();
      });
    }
    expect(await demo.api("GET", `/fabrics/${demo.fabric}/tenants/bronze`)).toMatchObject({ weight: 1 });
    await save.click();
    await expect(page).toHaveURL(/\/plans\/[0-9a-f]{64}/);
    expect(puts().map((r) => r.status)).toEqual([200]);
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("a name of 10,000 characters is text, and widens nothing", async ({ page, demo, proxied }) => {
  const proxy = await proxied();
  const { items } = await demo.api<{ items: Record<string, unknown>[] }>("GET", `/fabrics/${demo.fabric}/tenants`);
  const json = (body: unknown) => ({ status: 200, type: "application/json", body: JSON.stringify(body) });
  proxy.on(/^\/api\/.*\/tenants(\?|$)/, json({ items: [{ ...items[0], name: hostile }, ...items.slice(1)] }));
  for (const path of ["tenants", "what-if"]) {
    await page.goto(`${proxy.url}/console/f/${demo.fabric}/${path}`);
    await ready(page);
    await expect(page.locator("img")).toHaveCount(0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    expect(wide, `${path} scrolls sideways`).toBe(false);
  }
  await page.goto(`${proxy.url}/console/f/${demo.fabric}/tenants`);
  await expect(page.getByRole("main")).toContainText("<img src=x onerror=alert(1)>");
});
