import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { program } from "./harness/places";
import { type Demo, expect, expectAccessible, keep, ready, type SignIn, test } from "./harness/test";

const pages = ["share", "history", "endpoints", "classes", "notices", "members"];
const base = (demo: Demo) => `/portal/f/${demo.fabric}/t/${demo.tenant.tenant}`;

type Now = { entitled_bps?: number; delivered_bps?: number; hour: { delivered_contended_bps?: number } };

/** Fills in the form of the sign-in. */
async function fillIn(page: Page, who: SignIn) {
  await page.getByLabel("User name").fill(who.user);
  await page.locator('input[name="password"]').fill(who.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Waits until the demo, which may have just begun, has measured the tenant. */
async function measured(demo: Demo) {
  const path = `/fabrics/${demo.fabric}/tenants/${demo.tenant.tenant}/now`;
  const figures = async () => {
    const now = await demo.api<Now>("GET", path);
    return [now.entitled_bps, now.delivered_bps, now.hour.delivered_contended_bps];
  };
  await expect.poll(figures, { timeout: 40_000 }).not.toContain(undefined);
}

/** A tenant's session gets what its pages show. */
const asTenant = async <T>(page: Page, path: string) => (await (await page.request.get(`/api/v1${path}`)).json()) as T;

test("a tenant signs in by password and sees its own pages alone", async ({ page, demo, guards }) => {
  guards.allow(/status of 401/);
  await page.goto("/portal/");
  await expect(page.getByRole("heading", { name: /Sign in to/ })).toBeVisible();
  await expectAccessible(page);
  await keep(page, "sign-in");
  await fillIn(page, { ...demo.tenant, password: "not the password" });
  await expect(page.getByRole("alert")).toBeVisible();
  await expectAccessible(page);
  await fillIn(page, demo.tenant);
  await expect(page).toHaveURL(new RegExp(`${base(demo)}/share$`));
  await ready(page);
  const links = page.getByRole("navigation", { name: "Navigation" }).getByRole("link");
  await expect(links).toHaveCount(pages.length);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`${demo.tenant.tenant} · My share`);
  await expect(page).toHaveTitle(`${demo.tenant.tenant} · My share · Fairlane`);
});

test("ten foreign addresses have one answer", async ({ page, demo, signIn, guards }) => {
  test.setTimeout(120_000);
  guards.allow(/status of 40[34]/); // the browser's line for the answers of the service
  await signIn(page, "tenant");
  const answers = new Set<string>();
  for (const path of [
    `/portal/f/${demo.fabric}/t/silver/share`,
    `/portal/f/${demo.fabric}/t/silver`,
    `/portal/f/${demo.fabric}/t/bronze/members`,
    `/portal/f/${demo.fabric}/t/no-such-tenant/history`,
    `/portal/f/no-such-fabric/t/${demo.tenant.tenant}/share`,
    `${base(demo)}/no-such-page`,
    "/portal/no/such/page",
    `/console/f/${demo.fabric}/overview`,
    `/console/f/${demo.fabric}/tenants/${demo.tenant.tenant}`,
    "/console/audit",
  ]) {
    await page.goto(path);
    const missing = page.locator('[data-state="not-found"]');
    await expect(missing, path).toBeVisible();
    await expect(page, path).toHaveTitle("Not found · Fairlane");
    answers.add((await missing.textContent()) ?? "");
    const text = (await page.locator("body").textContent()) ?? "";
    expect(text, path).not.toMatch(/silver|bronze|no-such/);
  }
  expect(answers.size).toBe(1);
});

test("no answer names another tenant, its hosts or its ports", async ({ page, demo, signIn, startProxy, guards }) => {
  test.setTimeout(120_000);
  guards.allow(/ERR_INCOMPLETE_CHUNKED_ENCODING/); // of the event stream, which the proxy ends
  const proxy = await startProxy();
  const own = demo.tenant.tenant ?? "";
  type Tenant = { name: string; pkey: string; attachments: { port: string; name?: string }[] };
  const { items } = await demo.api<{ items: Tenant[] }>("GET", `/fabrics/${demo.fabric}/tenants`);
  const mine = new Set(items.find((x) => x.name === own)?.attachments.flatMap((a) => [a.port, a.name ?? ""]));
  const foreign = items
    .filter((x) => x.name !== own)
    .flatMap((x) => [x.name, x.pkey, ...x.attachments.flatMap((a) => [a.port, a.name ?? ""])])
    .filter((text) => text !== "" && !mine.has(text));
  expect(foreign.length).toBeGreaterThan(4);

  await signIn(page, "tenant", proxy.url);
  const more = ["history?view=report", "history?last=28d", "members?tab=tokens", "members?tab=accounts"];
  for (const path of [...pages, ...more]) {
    await page.goto(`${proxy.url}${base(demo)}/${path}`);
    await ready(page);
  }
  const answers = proxy.recorded.filter((r) => r.path.startsWith("/api/"));
  expect(answers.length).toBeGreaterThan(20);
  for (const text of foreign) {
    const found = answers.filter((r) => new RegExp(`(?<![0-9A-Za-z-])${text}(?![0-9A-Za-z-])`).test(r.body));
    expect(
      found.map((r) => `${r.path}: ${r.body}`),
      text,
    ).toEqual([]);
  }
});

test("the figures of the share are those of the service", async ({ page, demo, signIn }) => {
  await measured(demo);
  await signIn(page, "tenant");
  const answered = page.waitForResponse((r) => r.url().endsWith(`/tenants/${demo.tenant.tenant}/now`));
  await page.goto(`${base(demo)}/share`);
  const now = (await (await answered).json()) as Now;
  expect(now.entitled_bps).toBeGreaterThan(0);
  expect(now.delivered_bps).toBeGreaterThan(0);
  await ready(page);
  const shown = (id: string) => page.locator(`[data-figure="${id}"] .fl-why`);
  const rate = (bps?: number) => (bps === undefined ? "not measured" : `${Number((bps / 1e9).toPrecision(3))} Gbit/s`);
  await expect(shown("entitled")).toContainText(rate(now.entitled_bps));
  await expect(shown("now")).toContainText(rate(now.delivered_bps));
  await expect(shown("hour")).toContainText(rate(now.hour.delivered_contended_bps));
  await expect(page.locator("[data-cause]")).not.toBeEmpty();

  await shown("entitled").click();
  const drawer = page.getByRole("dialog", { name: "Why: Entitled" });
  await expect(drawer).toContainText("by the weights");
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(drawer).toBeHidden();
});

test("the endpoints have the state of each port", async ({ page, demo, signIn }) => {
  await signIn(page, "tenant");
  type Endpoint = { port: string; name?: string; state: string; seen_at?: string };
  const path = `/fabrics/${demo.fabric}/tenants/${demo.tenant.tenant}/endpoints`;
  await page.goto(`${base(demo)}/endpoints`);
  await ready(page);
  const { items } = await asTenant<{ items: Endpoint[] }>(page, path);
  expect(items.length).toBeGreaterThan(0);
  const table = page.getByRole("table", { name: "Ports of the tenant" });
  for (const e of items) {
    expect(e.seen_at, e.port).toMatch(/:00:00Z$/); // to the hour
    await expect(table.getByRole("row", { name: new RegExp(e.port) })).toContainText(e.state);
  }
  const down = items.filter((e) => e.state !== "up").length;
  if (down === 0) await expect(page.locator("main")).toContainText("All were up at the latest scan.");
  await expectAccessible(page);
});

/** The first row of a CSV file, by column. */
function rowOf(csv: string): Record<string, string> {
  const [head = "", line = ""] = csv.replace("\ufeff", "").split("\r\n");
  const values = line.split(",");
  return Object.fromEntries(head.split(",").map((name, i) => [name, values[i] ?? ""]));
}

/** The tenant's report for this month, by the command. */
function reported(demo: Demo): Record<string, string> {
  const args = ["share", "report", "--csv", "--tenant", demo.tenant.tenant ?? "", "--fabric", demo.fabric];
  const env = { ...process.env, FAIRLANE_URL: demo.url, FAIRLANE_TOKEN: demo.token };
  return rowOf(execFileSync(program, args, { encoding: "utf8", env, stdio: "pipe" }));
}

test("the report of a month has the figures and the columns of the command", async ({ page, demo, signIn }) => {
  await measured(demo);
  await signIn(page, "tenant");
  const before = reported(demo);
  await page.goto(`${base(demo)}/history?view=report`);
  await ready(page);
  await expect(page.locator("[data-report]")).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^fairlane-demo-gold-\d{4}-\d{2}\.csv$/);
  const row = rowOf(readFileSync(await file.path(), "utf8"));
  const after = reported(demo);
  expect(Object.keys(row)).toEqual(Object.keys(after));
  for (const name of ["month", "fabric", "tenant", "from", "objective_ratio", "days_missing"])
    expect(row[name], name).toBe(after[name]);
  expect(row.coverage_ratio).toBe(""); // the command has it for operators only
  const sums = Object.keys(row).filter((name) => /_seconds$|_bits_/.test(name)); // which grow between the two commands
  expect(sums.length).toBeGreaterThan(8);
  for (const name of sums) {
    expect([before[name] === "", after[name] === ""], name).toContain(row[name] === "");
    expect(Number(row[name]), name).toBeGreaterThanOrEqual(Number(before[name]));
    expect(Number(row[name]), name).toBeLessThanOrEqual(Number(after[name]));
  }
  expect(Number(row.delivered_bits_extrapolated)).toBeGreaterThan(0);
  expect(Number(row.measured_ratio)).toBeCloseTo(Number(after.measured_ratio), 3);
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("navigation")).toBeHidden();
  await expect(page.locator("[data-report]")).toBeVisible();
});

test("the range of the history is in the address", async ({ page, demo, signIn }) => {
  await signIn(page, "tenant");
  await page.goto(`${base(demo)}/history`);
  await ready(page);
  await page.getByRole("button", { name: "Last 7 d" }).click();
  await expect(page).toHaveURL(/last=7d/);
  await page.reload();
  await ready(page);
  await expect(page.getByRole("button", { name: "Last 7 d" })).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByRole("img", { name: /Entitled and delivered/ })).toBeVisible();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  await ready(page);
  const zoomed = page.url();
  await page.getByRole("button", { name: "Reset range" }).click();
  await expect(page).not.toHaveURL(zoomed);
  await expect(page.getByRole("button", { name: "Reset range" })).toHaveCount(0);
});

test("a form keeps what was entered when the session ends, and a secret is shown once", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 401/);
  await signIn(page, "tenant");
  await page.goto(`${base(demo)}/members?tab=tokens`);
  const form = page.getByRole("form", { name: "New token" });
  await form.getByLabel("Name").fill("browser-test");
  await form.getByLabel("Read shares").check();

  await page.context().clearCookies();
  await form.getByRole("button", { name: "Create browser-test" }).click();
  const again = page.getByRole("dialog", { name: /Sign in again/ });
  await expect(again).toBeVisible();
  await expectAccessible(page);
  await again.locator('input[name="password"]').fill(demo.tenant.password);
  await again.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(again).toBeHidden();
  await expect(form.getByLabel("Name")).toHaveValue("browser-test");
  await expect(form.getByLabel("Read shares")).toBeChecked();

  await form.getByRole("button", { name: "Create browser-test" }).click();
  const shown = page.locator('[data-secret="shown"]');
  const secret = ((await shown.locator("code, pre").first().textContent()) ?? "").trim();
  expect(secret).toMatch(/^flt_/);
  await expectAccessible(page);
  expect(page.url()).not.toContain(secret);
  expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain(secret);
  await shown.getByRole("button", { name: "I have stored it" }).click();
  await expect(page.locator("body")).not.toContainText(secret);
  await page.getByRole("tab", { name: "Members" }).click();
  await page.getByRole("tab", { name: "My tokens" }).click();
  await expect(page.locator("body")).not.toContainText(secret);

  await page.getByRole("button", { name: "Revoke token browser-test" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke token browser-test" }).click();
  await expect(page.getByText("No token", { exact: true })).toBeVisible();
});

test("an administrator adds, changes and removes a member; a viewer has no such buttons", async ({
  page,
  newPage,
  demo,
  signIn,
}) => {
  const viewer = { user: "portal-viewer", password: "a browser test's password" };
  const grant = { role: "tenant-viewer", fabric: demo.fabric, tenant: demo.tenant.tenant };
  await demo.api("POST", "/users", { name: viewer.user, password: viewer.password, roles: [grant] });
  try {
    await signIn(page, "tenant");
    await page.goto(`${base(demo)}/members`);
    await page.getByRole("button", { name: "Add member" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("User name").fill("portal-guest");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Add portal-guest as tenant viewer" }).click();
    await page.getByRole("button", { name: "Change role: portal-guest" }).click();
    await dialog.getByRole("button", { name: "Make portal-guest a tenant administrator" }).click();
    await expect(page.getByRole("row", { name: /portal-guest/ })).toContainText("tenant administrator");
    await page.getByRole("button", { name: "Remove portal-guest" }).click();
    await dialog.getByRole("button", { name: "Remove portal-guest" }).click();
    await expect(page.getByRole("row", { name: /portal-guest/ })).toHaveCount(0);

    const other = await newPage();
    await demo.signIn(other, viewer);
    for (const path of [...pages, "members?tab=accounts"]) {
      await other.goto(`${base(demo)}/${path}`);
      await ready(other);
      await expect(other.getByRole("button", { name: /^(Add|Remove|Change (role|weight))/ }), path).toHaveCount(0);
    }
    await expect(other.locator("header")).toContainText("Read only");
    const me = await asTenant<{ roles: unknown[] }>(other, "/me");
    expect(me.roles).toHaveLength(1);
  } finally {
    await demo.api("DELETE", `/users/${viewer.user}`, undefined, { "If-Match": "*" });
  }
});

test("the weight of a class is previewed within the tenant, then changed", async ({ page, demo, signIn, guards }) => {
  guards.allow(/status of 412/);
  const before = await demo.declared(demo.fabric);
  const withClasses = {
    tenants: before.tenants.map((x) =>
      x.name === "gold"
        ? {
            ...x,
            classes: [
              { name: "bulk", weight: 1 },
              { name: "urgent", weight: 3 },
            ],
          }
        : x,
    ),
    flows: before.flows.map((f) => (f.tenant === "gold" ? { ...f, class: "bulk" } : f)),
  };
  await demo.declare(demo.fabric, withClasses);
  try {
    await signIn(page, "tenant");
    await page.goto(`${base(demo)}/classes`);
    await ready(page);
    await expect(page.getByRole("row", { name: /urgent/ })).toContainText("75.0 %");
    await page.getByRole("button", { name: "Change weight: urgent" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Weight").fill("0");
    await expect(dialog.getByRole("button", { name: /^Set urgent/ })).toBeDisabled();
    await dialog.getByLabel("Weight").fill("1");
    await expect(dialog.getByRole("row", { name: /bulk/ })).toContainText("25.0 %");
    await expect(dialog.getByRole("row", { name: /bulk/ })).toContainText("50.0 %");
    await expectAccessible(page);
    await keep(page, "portal-class");
    await dialog.getByRole("button", { name: "Set urgent to weight 1" }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("row", { name: /urgent/ })).toContainText("50.0 %");

    await page.getByRole("button", { name: "Change weight: urgent" }).click();
    await dialog.getByLabel("Weight").fill("2");
    await expect(dialog.getByRole("button", { name: "Set urgent to weight 2" })).toBeEnabled();
    const urgent = `/fabrics/${demo.fabric}/tenants/gold/classes/urgent`;
    await demo.api("PUT", urgent, { weight: 4 }, { "If-Match": "*" }); // by another administrator
    await dialog.getByRole("button", { name: "Set urgent to weight 2" }).click();
    await expect(dialog.getByRole("alert")).toBeVisible();
    await expect(dialog.getByRole("row", { name: /urgent/ })).toContainText("80.0 %"); // what it is now, before the change
    await dialog.getByRole("button", { name: "Set urgent to weight 2" }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("row", { name: /urgent/ })).toContainText("66.7 %");
    await page.getByRole("link", { name: "Changes and notices" }).click();
    const changed = page.getByRole("row", { name: /tenant gold was changed/ });
    await expect(changed.filter({ hasText: demo.tenant.user })).toHaveCount(2);
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("pages hold at 200 % zoom and in the other theme and language", async ({ newPage, demo }) => {
  test.setTimeout(120_000);
  const page = await newPage({ theme: "dark", language: "zh", viewport: { width: 640, height: 450 } });
  await demo.signIn(page, demo.tenant);
  for (const path of [...pages, "history?view=report", "members?tab=tokens", "members?tab=password"]) {
    await page.goto(`${base(demo)}/${path}`);
    await ready(page);
    await expectAccessible(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    expect(wide, `${path} scrolls sideways`).toBe(false);
  }
});

test("the portal's files hold no page of the console", async ({ request }) => {
  type Chunk = { file: string; src?: string; imports?: string[]; dynamicImports?: string[] };
  const manifest = (await (await request.get("/assets/manifest.json")).json()) as Record<string, Chunk>;
  const reached = new Set<string>();
  const visit = (key: string) => {
    if (reached.has(key)) return;
    reached.add(key);
    for (const next of [...(manifest[key]?.imports ?? []), ...(manifest[key]?.dynamicImports ?? [])]) visit(next);
  };
  visit("portal.html");
  expect([...reached].some((key) => key.startsWith("src/portal/pages/"))).toBe(true);
  expect([...reached].filter((key) => key.startsWith("src/console/"))).toEqual([]);
});
