import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { detailLooks } from "./harness/looks";
import { type Demo, expect, expectAccessible, keep, ready, test } from "./harness/test";

type Share = { tenant: string; weight: number; entitled_bps: number; predicted_bps: number };
type WhatIf = { before: { tenants: Share[] }; after: { tenants: Share[] }; difference: { from: string; to: string } };
type Simulation = { id: number; state: string; plan: string; seed: number };

const address = (demo: Demo, query = "") => `/console/f/${demo.fabric}/what-if${query}`;
const edited = (edits: string[]) => `?edits=${encodeURIComponent(edits.join("\n"))}`;
const whatIf = (demo: Demo, edits: string[]) =>
  demo.api<WhatIf>("POST", `/fabrics/${demo.fabric}/plans/what-if`, { edits });
const field = (page: Page) => page.getByRole("textbox", { name: "Changes, one a line" });
const compare = (page: Page) => page.getByRole("button", { name: "Compare" });

/** What the service stores that an edit could change. */
const stored = async (demo: Demo) => ({
  declared: await demo.declared(demo.fabric),
  plans: await demo.api("GET", `/fabrics/${demo.fabric}/plans`),
  policies: await demo.api("GET", `/fabrics/${demo.fabric}/policies`),
});

test("edits from the form show the shares that the service predicts, and nothing is stored", async ({
  page,
  demo,
  signIn,
}) => {
  const before = await stored(demo);
  await signIn(page, "operator");
  await page.goto(address(demo));
  await ready(page);
  await expect(page.getByText("Describe changes to see what each tenant would get.")).toBeVisible();
  await expect(compare(page)).toBeDisabled();

  await page.getByRole("combobox", { name: "Tenant" }).fill("gold");
  await page.keyboard.press("Escape");
  const add = page.getByRole("button", { name: "Add the change" });
  await expect(add).toBeDisabled();
  await page.getByRole("textbox", { name: "Weight" }).fill("8");
  await add.click();
  await page.getByRole("combobox", { name: "Change" }).selectOption("Remove a tenant");
  await page.getByRole("combobox", { name: "Tenant" }).fill("bronze");
  await page.keyboard.press("Escape");
  await add.click();
  const edits = ["weight:gold=8", "remove:bronze"];
  await expect(field(page)).toHaveValue(edits.join("\n"));
  await compare(page).click();
  await expect(page).toHaveURL(new RegExp(`\\${edited(edits).replaceAll("%20", "\\+")}$`));
  await expect(compare(page)).toBeFocused();

  const want = await whatIf(demo, edits);
  const table = page.getByRole("table", { name: "Predicted shares before and after" });
  await expect(table.getByRole("row").filter({ hasText: "gold" })).toContainText("4 → 8");
  await expect(page.locator("[data-difference]")).toHaveAttribute(
    "data-difference",
    `${want.difference.from.slice(0, 12)} ${want.difference.to.slice(0, 12)}`,
  );
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).first().click();
  expect(sharesOf(readFileSync(await (await download).path(), "utf8"))).toEqual(sharesOfAnswer(want));
  expect(want.after.tenants.map((x) => x.tenant)).not.toContain("bronze");
  await keep(page, "what-if");

  await page.getByRole("button", { name: "Copy as" }).click();
  await expect(
    page.getByText(`fairlane plan what-if --fabric ${demo.fabric} --edit weight:gold=8 --edit remove:bronze`),
  ).toBeVisible();
  await page.keyboard.press("Escape");
  await page.goBack();
  await expect(field(page)).toHaveValue("");
  await expect(table).toHaveCount(0);
  await page.goForward();
  await expect(field(page)).toHaveValue(edits.join("\n"));
  expect(await stored(demo)).toEqual(before);
});

/** Tenant, weight and rates in Gbit/s of the exported table; undefined for a tenant that a plan does not have. */
function sharesOf(csv: string) {
  const [head = "", ...rows] = csv.replace("\ufeff", "").trim().split("\r\n");
  expect(head).toMatch(/^Tenant,Weight,Entitled \(Gbit\/s\),Before \(Gbit\/s\),After \(Gbit\/s\),/);
  const number = (text: string | undefined) => (Number.isFinite(Number(text)) ? Number(text) : undefined);
  return Object.fromEntries(
    rows.map((row) => {
      const [tenant = "", weight, entitled, before, after] = row.split(",");
      return [tenant, [weight, entitled, before, after].map(number)];
    }),
  );
}

function sharesOfAnswer({ before, after }: WhatIf) {
  const gbps = (bps: number | undefined) => (bps === undefined ? undefined : Math.round(bps / 1e5) / 1e4);
  const names = new Set([...before.tenants, ...after.tenants].map((x) => x.tenant));
  return Object.fromEntries(
    [...names].map((name) => {
      const [a, b] = [before, after].map((plan) => plan.tenants.find((x) => x.tenant === name));
      return [name, [(b ?? a)?.weight, gbps(b?.entitled_bps), gbps(a?.predicted_bps), gbps(b?.predicted_bps)]];
    }),
  );
}

test("a wrong edit is refused with its place and stays in the form until it is corrected", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 4\d\d.*what-if:0/); // what the page words
  await signIn(page, "operator");
  const wrong = [
    { edits: ["weight:gold=8", "weight:nosuch=3"], pointer: "/edits", says: "nosuch" },
    { edits: ["make gold faster"], pointer: "/edits/0", says: "make gold faster" },
    { edits: ["weight:gold=-1"], pointer: "/edits/0", says: "weight:gold=-1" },
    { edits: ["fail:nowhere/P1"], pointer: "/edits", says: "nowhere" },
    { edits: ["<img src=x onerror=alert(1)>"], pointer: "/edits/0", says: "<img src=x onerror=alert(1)>" },
    { edits: Array.from({ length: 101 }, (_, i) => `weight:gold=${i + 1}`), pointer: "/edits", says: "100" },
  ];
  await page.goto(address(demo));
  for (const { edits, pointer, says } of wrong) {
    await field(page).fill(edits.join("\n"));
    await compare(page).click();
    await ready(page);
    const problem = page.locator("[data-problem]");
    await expect(problem.getByText(pointer, { exact: true }), edits[0]).toBeVisible();
    await expect(problem).toContainText(says);
    await expect(field(page)).toHaveValue(edits.join("\n"));
    await expect(page.locator("[data-shares]")).toHaveCount(0);
  }
  expect(await page.locator("img[src=x]").count()).toBe(0);
  await expectAccessible(page);
  await field(page).fill(" weight:gold=8 \n\n");
  await compare(page).click();
  await expect(page.locator("[data-shares]")).toBeVisible();
  await expect(page.locator("[data-problem]")).toHaveCount(0);
  await field(page).fill(" \n ");
  await expect(compare(page)).toBeDisabled();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page.locator("[data-shares]")).toHaveCount(0);
  await expect(page).toHaveURL(new RegExp(`${address(demo)}$`));
});

test("a simulation of the plan in force is started beside the edits, and listed", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 404.*simulations\/99999/);
  const { plan } = await demo.api<{ plan: { name: string } }>("GET", `/fabrics/${demo.fabric}/overview`);
  await signIn(page, "operator");
  await page.goto(address(demo, edited(["weight:gold=8"])));
  await ready(page);
  await page.getByRole("textbox", { name: "Seed" }).fill("7");
  await page.getByRole("button", { name: "Simulate the plan" }).click();
  await expect(page).toHaveURL(/edits=weight%3Agold%3D8&simulation=\d+$/);
  const id = Number(/simulation=(\d+)/.exec(page.url())?.[1]);
  await expect(page.locator('[data-simulation="succeeded"]')).toBeVisible({ timeout: 45_000 });
  expect(await demo.api<Simulation>("GET", `/simulations/${id}`)).toMatchObject({
    state: "succeeded",
    plan: plan.name,
    seed: 7,
  });
  await expect(page.getByText(/^The packet simulation gives .* with seed 7\.$/)).toBeVisible();

  const row = page
    .getByRole("table", { name: "Simulations" })
    .getByRole("row")
    .filter({ hasText: `Simulation ${id}` });
  await expect(row).toContainText(plan.name.slice(0, 12));
  await page.goto(address(demo, edited(["weight:gold=8"])));
  await ready(page);
  await row.getByRole("link", { name: `Simulation ${id}` }).click();
  await expect(page).toHaveURL(new RegExp(`edits=weight%3Agold%3D8&simulation=${id}$`));
  await expect(page.locator('[data-simulation="succeeded"]')).toBeVisible();

  await page.goto(address(demo, "?simulation=99999"));
  await expect(page.locator("[data-state=not-found]")).toBeVisible();
  await page.goto(address(demo, "?simulation=none"));
  await ready(page);
  await expect(page.getByRole("heading", { name: /^Simulation / })).toHaveCount(0);
});

for (const { theme, language } of detailLooks.filter((look) => look.width > 1000)) {
  test.describe(`${theme}, ${language}`, () => {
    test.use({ theme, language });

    test("edits of every kind are accessible", async ({ page, demo, signIn }) => {
      await signIn(page, "operator");
      await page.goto(address(demo, edited(["weight:gold=8", "add:new=3@host-001,host-016"])));
      await ready(page);
      await expect(page.locator("[data-shares]")).toBeVisible();
      for (const kind of ["add", "fail"]) {
        await page.locator("select").first().selectOption(kind);
        await expectAccessible(page);
      }
      await keep(page, "what-if-kinds");
    });
  });
}
