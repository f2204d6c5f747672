import { detailLooks } from "./harness/looks";
import { type Demo, expect, expectAccessible, keep, ready, test } from "./harness/test";

type Tenant = { weight: number };
type Plan = { name: string; findings: unknown[]; tenants: { tenant: string; predicted_bps: number }[] };
type Difference = { tenants?: { tenant: string; settings?: { count: number }[] }[]; settings?: { count: number }[] };
type Rollout = { id: number; state: string; phase: string };

const fabric = (demo: Demo) => `/fabrics/${demo.fabric}`;
const console_ = (demo: Demo) => `/console/f/${demo.fabric}`;

const compile = (demo: Demo) => demo.api<Plan>("POST", `${fabric(demo)}/plans`, {});

/** Follows a rollout until `until` holds. */
async function follow(demo: Demo, id: number, until: (r: Rollout) => boolean): Promise<Rollout> {
  let last: Rollout | undefined;
  await expect
    .poll(
      async () => {
        last = await demo.api<Rollout>("GET", `${fabric(demo)}/rollouts/${id}`);
        return until(last);
      },
      { timeout: 40_000 },
    )
    .toBe(true);
  return last as Rollout;
}

const ended = (demo: Demo, id: number) => follow(demo, id, (r) => r.state !== "running");

/** Restores the weights of the demo and a plan that was in force. */
async function restore(demo: Demo, plan: string) {
  for (const [tenant, weight] of [["gold", 4] as const, ["silver", 2] as const]) {
    const now = await demo.api<Tenant>("GET", `${fabric(demo)}/tenants/${tenant}`);
    if (now.weight !== weight) await demo.changeTenant(demo.fabric, tenant, { weight });
  }
  const overview = await demo.api<{ plan?: { name: string } }>("GET", `${fabric(demo)}/overview`);
  if (overview.plan?.name === plan) return;
  const { id } = await demo.api<Rollout>("POST", `${fabric(demo)}/rollouts`, { plan });
  expect((await ended(demo, id)).state).toBe("succeeded");
}

async function inForce(demo: Demo): Promise<string> {
  const overview = await demo.api<{ plan?: { name: string } }>("GET", `${fabric(demo)}/overview`);
  return overview.plan?.name ?? "";
}

test("a weight is raised: preview, difference, start with a canary, confirmation", async ({ page, demo, signIn }) => {
  const before = await inForce(demo);
  await signIn(page, "operator");
  try {
    await demo.changeTenant(demo.fabric, "silver", { weight: 5 });
    await page.goto(`${console_(demo)}/plans`);
    await ready(page);
    await page.getByRole("button", { name: "Compile plan" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText(/1 tenant gains, 2 lose/)).toBeVisible();
    await expect(dialog.getByText("2 → 5")).toBeVisible();
    await dialog.getByRole("button", { name: /^Store plan [0-9a-f]{12}$/ }).click();
    await expect(page).toHaveURL(/\/plans\/[0-9a-f]{64}/);
    await ready(page);
    const plan = page.url().split("/").at(-1) ?? "";

    const d = await demo.api<Difference>("GET", `${fabric(demo)}/plans/${plan}/diff`);
    const changes = [...(d.settings ?? []), ...(d.tenants ?? []).flatMap((x) => x.settings ?? [])];
    const settings = changes.reduce((n, c) => n + c.count, 0);
    await expect(page.locator("[data-answer]")).toContainText(`${settings} settings on 14 devices change`);
    await expect(page.locator("[data-answer]")).toContainText("1 tenant gains, 2 lose");
    await expect(page.getByRole("row").filter({ hasText: "silver" }).first()).toContainText("+75.0");

    await page.getByRole("tab", { name: "Settings by device" }).click();
    await page.getByLabel("Filter devices, kinds and tenants").fill("silver");
    await page.getByRole("button", { name: /^Details of host-002/ }).click();
    await expect(page.getByText("product-rule").first()).toBeVisible();

    await page.getByRole("button", { name: "Start rollout" }).click();
    await expect(dialog.getByText("20 devices in 8 waves")).toBeVisible();
    await expect(dialog.locator("[data-waves]").getByRole("row").nth(1)).toContainText("canary");
    await keep(page, "plan-start");
    await dialog.getByRole("button", { name: `Send ${settings} settings to 14 devices` }).click();
    await expect(page).toHaveURL(/\/rollouts\/\d+/);
    const id = Number(/\/rollouts\/(\d+)/.exec(page.url())?.[1]);
    const rollout = await follow(demo, id, (r) => r.phase === "confirming" || r.state !== "running");
    expect(rollout).toMatchObject({ phase: "confirming", plan });
    await demo.api("POST", `${fabric(demo)}/rollouts/${rollout.id}/confirm`);
    expect((await ended(demo, rollout.id)).state).toBe("succeeded");
    expect(await inForce(demo)).toBe(plan);
  } finally {
    await restore(demo, before);
  }
});

test("a weight out of reach: the plan names tenant, link, predicted share and fix before anything is sent", async ({
  page,
  demo,
  signIn,
}) => {
  const before = await inForce(demo);
  const { items } = await demo.api<{ items: Rollout[] }>("GET", `${fabric(demo)}/rollouts`);
  await signIn(page, "operator");
  try {
    await demo.changeTenant(demo.fabric, "silver", { weight: 0.001 });
    await page.goto(`${console_(demo)}/plans?compile=now`);
    const dialog = page.getByRole("dialog");
    const finding = dialog.locator('[data-code="weight-unreachable"]');
    await expect(finding).toContainText("entitled to");
    await expect(finding).toContainText("predicted to get");
    await expect(finding.getByRole("link", { name: "silver" })).toBeVisible();
    await expect(finding.getByRole("link", { name: "leaf4/P4 -> host-016/P1" })).toBeVisible();
    await expect(dialog.locator('[data-code="cct-limit-clamps"]')).toContainText("give the tenant more weight");
    await keep(page, "plan-infeasible");
    await dialog.getByRole("button", { name: /^Store plan/ }).click();
    await ready(page);
    await expect(page.locator("[data-answer]")).toContainText("1 tenant misses its share");
    const after = await demo.api<{ items: Rollout[] }>("GET", `${fabric(demo)}/rollouts`);
    expect(after.items).toHaveLength(items.length);
  } finally {
    await restore(demo, before);
  }
});

test("a revision is restored with a preview, and its plan follows", async ({ page, demo, signIn }) => {
  const before = await inForce(demo);
  await signIn(page, "operator");
  try {
    await demo.changeTenant(demo.fabric, "gold", { weight: 8 });
    await compile(demo);
    const list = await demo.api<{ items: { revision: number }[] }>("GET", `${fabric(demo)}/policies`);
    const latest = Math.max(...list.items.map((p) => p.revision));
    await page.goto(`${console_(demo)}/policies?revision=1`);
    await ready(page);
    await page.getByRole("button", { name: "Restore revision 1" }).click();
    const dialog = page.getByRole("dialog");
    await expect(
      dialog.locator("[data-policy-difference]").getByRole("row").filter({ hasText: "weight" }),
    ).toContainText("84");
    await expect(dialog.locator("[data-preview]")).toBeVisible();
    await keep(page, "policy-restore");
    await dialog.getByRole("button", { name: "Restore revision 1" }).click();
    await expect(dialog.getByText(`Revision 1 was restored as revision ${latest + 1}`)).toBeVisible();
    expect((await demo.api<Tenant>("GET", `${fabric(demo)}/tenants/gold`)).weight).toBe(4);
    await dialog.getByRole("button", { name: "Compile plan" }).click();
    await expect(page.getByRole("dialog").getByText("Nothing changes: this is the plan in force.")).toBeVisible();
  } finally {
    await restore(demo, before);
  }
});

test("two revisions are compared, and one is labelled", async ({ page, demo, signIn }) => {
  const before = await inForce(demo);
  await signIn(page, "operator");
  try {
    await demo.changeTenant(demo.fabric, "gold", { weight: 6 });
    await page.goto(`${console_(demo)}/policies`);
    await ready(page);
    const ticks = page.getByRole("checkbox", { name: /^Select \d+$/ });
    await ticks.nth(0).check();
    await page.getByRole("checkbox", { name: "Select 1", exact: true }).check();
    await expect(page).toHaveURL(/against=1/);
    await expect(page.locator("[data-policy-difference]")).toContainText("gold");
    await page.getByRole("button", { name: "Edit label" }).click();
    await page.getByRole("dialog").getByLabel("Label").fill("trial");
    await page.getByRole("dialog").getByRole("button", { name: "Save label" }).click();
    await expect(page.getByRole("cell", { name: "trial" })).toBeVisible();
  } finally {
    await restore(demo, before);
  }
});

test("two operators change compiler options: the second merges by field, nothing is lost", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 412/);
  const path = `${fabric(demo)}/options`;
  const put = (options: object) => demo.api("PUT", path, options, { "If-Match": "*" });
  const before = await demo.api<object>("GET", path);
  await signIn(page, "operator");
  try {
    await page.goto(`${console_(demo)}/policies`);
    await ready(page);
    const preview = page.getByRole("button", { name: "Preview and save options" });
    const save = page.getByRole("dialog").getByRole("button", { name: "Save options as a new revision" });
    await page.getByLabel("Entries of the control table").fill("256");
    await put({ ...before, vl_arbitration: true });
    await preview.click();
    await save.click();
    await expect(page.locator("[data-merge]")).toContainText("Allow virtual-lane arbitration");
    await expect(page.getByLabel("Entries of the control table")).toHaveValue("256");
    await expect(page.getByLabel("Allow virtual-lane arbitration")).toBeChecked();
    await preview.click();
    await save.click();
    await expect(page.getByRole("dialog")).toBeHidden();
    await expect(page.locator("[data-merge]")).toHaveCount(0);
    expect(await demo.api("GET", path)).toEqual({ ...before, vl_arbitration: true, table_entries: 256 });
  } finally {
    await put(before);
  }
});

test("a plan of an older revision says so, and a refused rollout says why", async ({ page, demo, signIn, guards }) => {
  const before = await inForce(demo);
  await signIn(page, "operator");
  try {
    await demo.changeTenant(demo.fabric, "silver", { weight: 3 });
    await page.goto(`${console_(demo)}/plans/${before}`);
    await ready(page);
    await expect(page.locator('[data-state="stale"]')).toContainText("compiled from policy revision");
    await expect(page.locator('[data-state="stale"]').getByRole("button", { name: "Compile again" })).toBeVisible();

    const other = await demo.api<Plan>("POST", `${fabric(demo)}/plans`, { options: { plane: "roce" } });
    await page.goto(`${console_(demo)}/plans/${other.name}`);
    await ready(page);
    await expect(page.getByRole("button", { name: "Start rollout" })).toHaveAccessibleDescription(/for comparison/);
    guards.allow(/status of 422/);
    await page.goto(`${console_(demo)}/plans/${other.name}?start=now`);
    await expect(page.getByRole("dialog").getByRole("alert")).toContainText(
      "plans of other planes are for comparison only",
    );
    await expect(page.getByRole("dialog").getByRole("button", { name: "Start rollout" })).toBeDisabled();
  } finally {
    await restore(demo, before);
  }
});

test("a simulation stands beside the prediction", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(`${console_(demo)}/plans/${await inForce(demo)}`);
  await ready(page);
  await page.getByRole("button", { name: "Simulate" }).click();
  await expect(page.locator('[data-simulation="succeeded"]')).toBeVisible({ timeout: 45_000 });
  await expect(page.locator("[data-simulation]")).toContainText("error bound");
  await expect(page.getByRole("columnheader", { name: /Simulated Gbit\/s/ })).toBeVisible();
});

for (const { theme, language, width } of detailLooks) {
  test.describe(`${theme}, ${language}, ${width} px`, () => {
    test.use({ theme, language, viewport: { width, height: 900 } });

    test("plans and policy are accessible", async ({ page, demo, signIn }) => {
      await signIn(page, "operator");
      const base = console_(demo);
      const plan = await inForce(demo);
      const pages = {
        plans: "/plans",
        plan: `/plans/${plan}`,
        "plan-settings": `/plans/${plan}?tab=settings`,
        "plan-reach": `/plans/${plan}?tab=reach`,
        policies: "/policies",
      };
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(base + path);
        await ready(page);
        if (name === "plan-reach") await page.locator("[data-waves]").waitFor();
        await expectAccessible(page);
        await keep(page, name, { fullPage: true });
      }
      await page.goto(`${base}/plans?compile=now`);
      await page.locator("[data-preview]").waitFor();
      await expectAccessible(page);
      await page.goto(`${base}/plans/${plan}?start=now`);
      await page.locator("[data-waves]").waitFor();
      await expectAccessible(page);
    });
  });
}
