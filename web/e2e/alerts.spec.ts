import type { Page, Request } from "@playwright/test";
import { detailLooks } from "./harness/looks";
import { type Demo, expect, expectAccessible, keep, ready, test } from "./harness/test";

type Objective = { tenant?: string; bound: number; target: number; source: string };
type Objectives = { default: Objective; items: Objective[] };
type Silence = { id: number; matchers: string[]; ends_at: string; comment: string; author: string; state: string };
type Alert = { labels: Record<string, string>; state: string };

const address = (demo: Demo, query = "") => `/console/f/${demo.fabric}/alerts${query}`;
const objectives = (demo: Demo) => demo.api<Objectives>("GET", `/fabrics/${demo.fabric}/objectives`);
const silences = async (demo: Demo) => (await demo.api<{ items: Silence[] }>("GET", "/silences?expired=true")).items;
const percent = (part: number) => `${(part * 100).toFixed(1)} %`;

async function open(page: Page, demo: Demo, query = "") {
  await page.goto(address(demo, query));
  await ready(page);
}

test("budgets and alerts are those of the service", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await open(page, demo);
  const { items, default: standard } = await objectives(demo);
  const table = page.getByRole("table", { name: "Error budgets" });
  await expect(table.locator("tbody tr")).toHaveCount(items.length);
  for (const o of items) {
    const row = table.getByRole("row").filter({ has: page.getByRole("link", { name: o.tenant, exact: true }) });
    await expect(row).toContainText(`${percent(o.target)} of contended seconds at ${percent(o.bound)} or more`);
    const cells = await row.locator("td").allTextContents();
    expect(cells.length).toBeGreaterThan(6);
    expect(cells).not.toContain(""); // what was not measured is said
  }
  await expect(page.getByText(/By default, .* of the contended seconds/)).toContainText(percent(standard.target));

  // Alerts of a busy machine come and go; the page reads them again every 15 s.
  await expect(async () => {
    const { data } = await demo.api<{ data: { alerts: Alert[] } }>("GET", "/prometheus/api/v1/alerts");
    const ours = data.alerts.filter((a) => !a.labels.fabric || a.labels.fabric === demo.fabric);
    const firing = ours.filter((a) => a.state === "firing").length;
    expect(await page.locator(".fl-question").textContent()).toMatch(
      firing === 0 ? /^No alert fires/ : new RegExp(`^${firing} alerts? fires?`),
    );
    const rows = page.getByRole("table", { name: "Active alerts" }).locator("tbody tr");
    expect(await rows.count()).toBe(ours.length);
    expect(await page.getByText("No active alert").count()).toBe(ours.length === 0 ? 1 : 0);
  }).toPass({ timeout: 40_000 });
  await keep(page, "alerts");
});

test("filter, order, tenant and range of the burn rates are in the address", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await open(page, demo);
  const table = page.getByRole("table", { name: "Error budgets" });
  const byTenant = table.getByRole("button", { name: "Tenant", exact: true });
  await byTenant.click();
  await expect(page).toHaveURL(/sort=tenant/);
  const names = (await objectives(demo)).items.map((o) => o.tenant ?? "").sort();
  await expect(table.locator("tbody th")).toHaveText(names);
  await byTenant.click();
  await expect(table.locator("tbody th")).toHaveText(names.toReversed());
  await page.getByLabel("Filter tenants").fill("gold");
  await expect(page).toHaveURL(/filter=gold/);
  const show = page.getByRole("button", { name: "Show the burn rates of gold" });
  await show.click();
  await expect(show).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Last 24 h" }).click();
  await expect(page).toHaveURL(/last=24h/);
  await page.reload();
  await ready(page);
  await expect(table.locator("tbody th")).toHaveText(["gold"]);
  await expect(page.getByRole("heading", { name: "Burn rates of gold" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Last 24 h" })).toHaveAttribute("aria-pressed", "true");
  await show.click();
  await expect(page.getByRole("heading", { name: "Burn rates of gold" })).toHaveCount(0);
  await open(page, demo, "?tenant=<img src=x onerror=alert(1)>&last=ever&sort=nosuch");
  await expect(page.getByRole("heading", { name: "Burn rates of <img src=x" })).toBeVisible();
  expect(await page.locator("img[src=x]").count()).toBe(0);
});

test("an objective is previewed, set and removed; a value out of range is refused by its field", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 422.*objectives\/gold:0/); // what the form words
  const before = await objectives(demo);
  await signIn(page, "operator");
  await open(page, demo);
  await page.getByRole("button", { name: "Change an objective" }).click();
  const dialog = page.getByRole("dialog", { name: "Change an objective" });
  await dialog.getByRole("combobox", { name: "Objective of" }).selectOption("gold");
  const set = dialog.getByRole("button", { name: "Set the objective of gold" });
  await expect(set).toBeDisabled();
  const target = dialog.getByRole("textbox", { name: "Good seconds" });
  await target.fill("");
  await set.click();
  await expect(dialog.locator("[data-problem=invalid]")).toContainText("/target");
  await expect(target).toHaveAttribute("aria-invalid", "true");
  expect(await objectives(demo)).toEqual(before);

  await target.fill("97.5");
  const old = before.default;
  await expect(dialog.getByRole("status")).toHaveText(
    `${percent(old.target)} of seconds at ${percent(old.bound)} becomes 97.5 % of seconds at ${percent(old.bound)}.`,
  );
  await set.click();
  await expect(dialog).toBeHidden();
  const row = page.getByRole("table", { name: "Error budgets" }).getByRole("row").filter({ hasText: "gold" });
  await expect(row).toContainText("97.5 % of contended seconds");
  const gold = async () => (await objectives(demo)).items.find((o) => o.tenant === "gold");
  expect(await gold()).toMatchObject({ target: 0.975, bound: old.bound, source: "tenant" });

  await page.getByRole("button", { name: "Change an objective" }).click();
  await dialog.getByRole("combobox", { name: "Objective of" }).selectOption("gold");
  await dialog.getByRole("button", { name: `Use the default again: ${percent(old.target)}` }).click();
  await expect(dialog).toBeHidden();
  await expect(row).toContainText(`${percent(old.target)} of contended seconds`);
  expect(await objectives(demo)).toEqual(before);
});

test("a silence is refused for a wrong matcher, added, and ended after a question", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 422.*silences:0/); // what the form words
  const before = await silences(demo);
  await signIn(page, "operator");
  await open(page, demo);
  await page.getByRole("button", { name: "Add a silence" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a silence" });
  const matchers = dialog.getByRole("textbox", { name: "Matchers" });
  await expect(matchers).toHaveValue(`fabric=${demo.fabric}`);
  const add = dialog.getByRole("button", { name: /^Silence for/ });
  await expect(add).toBeDisabled();
  await dialog.getByRole("textbox", { name: "Comment" }).fill("<img src=x onerror=alert(1)>");
  await matchers.fill('tenant=gold\nalertname=~"("');
  await add.click();
  await expect(dialog.locator("[data-problem=invalid]")).toContainText("/matchers");
  expect(await silences(demo)).toEqual(before);

  await matchers.fill(`fabric=${demo.fabric}\n\n alertname=~"FairlaneShare.*"`);
  await dialog.getByRole("combobox", { name: "Length" }).selectOption("1 hour");
  const pressed = Date.now();
  await dialog.getByRole("button", { name: "Silence for 1 hour" }).click();
  await expect(dialog).toBeHidden();
  const [made] = (await silences(demo)).filter((s) => !before.some((b) => b.id === s.id));
  expect(made).toMatchObject({
    matchers: [`fabric="${demo.fabric}"`, 'alertname=~"FairlaneShare.*"'],
    author: demo.operator.user,
    state: "active",
  });
  const length = Date.parse(made?.ends_at ?? "") - pressed;
  expect(Math.abs(length - 3_600_000)).toBeLessThan(30_000);
  const row = page.getByRole("table", { name: "Silences" }).getByRole("row").filter({ hasText: "onerror" });
  await expect(row).toContainText("active");
  expect(await page.locator("img[src=x]").count()).toBe(0);

  await row.getByRole("button", { name: "End now" }).click();
  const question = page.getByRole("dialog", { name: "End the silence" });
  await expect(question).toContainText('alertname=~"FairlaneShare.*"');
  await question.getByRole("button", { name: "Cancel" }).click();
  expect((await silences(demo)).find((s) => s.id === made?.id)?.state).toBe("active");
  await row.getByRole("button", { name: "End now" }).click();
  await question.getByRole("button", { name: "End the silence now" }).click();
  await expect(row).toContainText("expired");
  await expect(row.locator("td").last()).toBeEmpty();
  expect((await silences(demo)).find((s) => s.id === made?.id)?.state).toBe("expired");
});

test("a silence whose answer was lost is added once", async ({ page, demo, signIn, guards }) => {
  guards.allow(/ERR_CONNECTION_FAILED.*silences:0/); // the lost answer
  const before = await silences(demo);
  await signIn(page, "operator");
  await open(page, demo);
  await page.getByRole("button", { name: "Add a silence" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a silence" });
  await dialog.getByRole("textbox", { name: "Comment" }).fill("answer lost");
  const sent: Request[] = [];
  page.on("request", (r) => {
    if (r.method() === "POST" && r.url().endsWith("/api/v1/silences")) sent.push(r);
  });
  await page.route(
    "**/api/v1/silences",
    async (route) => {
      await route.fetch();
      await route.abort("connectionfailed");
    },
    { times: 1 },
  );
  const add = dialog.getByRole("button", { name: /^Silence for/ });
  await add.click();
  await expect(dialog.locator("[data-problem=unreachable]")).toBeVisible();
  await add.click();
  await expect(dialog).toBeHidden();
  expect(new Set(sent.map((r) => r.headers()["idempotency-key"])).size).toBe(1);
  expect(sent).toHaveLength(2);
  const made = (await silences(demo)).filter((s) => !before.some((b) => b.id === s.id));
  expect(made.map((s) => s.comment)).toEqual(["answer lost"]);
  await demo.api("DELETE", `/silences/${made[0]?.id}`);
});

for (const { theme, language } of detailLooks.filter((look) => look.width > 1000)) {
  test.describe(`${theme}, ${language}`, () => {
    test.use({ theme, language });

    test("chart and dialogs are accessible", async ({ page, demo, signIn }) => {
      await signIn(page, "operator");
      await open(page, demo, "?tenant=gold");
      await expect(page.locator("canvas").first()).toBeVisible();
      await expectAccessible(page);
      for (const [name, button] of [
        ["alerts-objective", page.getByRole("button", { name: "更改目标" })],
        ["alerts-silence", page.getByRole("button", { name: "添加静默" })],
      ] as const) {
        await button.click();
        await expect(page.getByRole("dialog")).toBeVisible();
        await expectAccessible(page);
        await keep(page, name);
        await page.keyboard.press("Escape");
        await expect(page.getByRole("dialog")).toBeHidden();
      }
    });
  });
}
