import type { Page } from "@playwright/test";
import { detailLooks } from "./harness/looks";
import type { Demo } from "./harness/service";
import { expect, expectAccessible, keep, ready, test } from "./harness/test";

type Overview = {
  verdict: string;
  measured_at?: string;
  tenant_states: { state: string; tenants: number }[];
  contended: { name: string; use: number }[];
  devices: { state: string; devices: number }[];
};

const at = (demo: Demo, path: string) => `/console/f/${demo.fabric}/${path}`;

async function open(page: Page, path: string) {
  await page.goto(path);
  await ready(page);
}

/** The overview, once it has a measurement with contention: a busy machine measures late. */
async function measured(demo: Demo): Promise<Overview> {
  let o: Overview | undefined;
  await expect
    .poll(
      async () => {
        o = await demo.api<Overview>("GET", `/fabrics/${demo.fabric}/overview`);
        return o.measured_at !== undefined && o.contended.length > 0;
      },
      { timeout: 40_000 },
    )
    .toBe(true);
  return o as Overview;
}

for (const { theme, language, width } of detailLooks) {
  test.describe(`${theme}, ${language}, ${width} px`, () => {
    test.use({ theme, language, viewport: { width, height: 900 } });

    test("overview, tenants and a tenant are accessible", async ({ page, signIn, demo }) => {
      await signIn(page, "operator");
      const places: [string, string][] = [
        ["overview", "overview"],
        ["tenants", "tenants"],
        ["tenants-add", "tenants?add=yes"],
        ["tenant", `tenants/${demo.tenant.tenant}`],
        ["tenant-edit", `tenants/${demo.tenant.tenant}?edit=yes&tab=declaration`],
        ["tenant-settings", `tenants/${demo.tenant.tenant}?tab=settings`],
        ["tenant-log", `tenants/${demo.tenant.tenant}?tab=log`],
      ];
      const found: string[] = [];
      for (const [name, path] of places) {
        await open(page, at(demo, path));
        if (name === "tenant") await expect(page.locator("canvas").first()).toBeVisible();
        if (name === "tenants-add") await expect(page.getByRole("dialog")).toBeVisible();
        await keep(page, name, { fullPage: true });
        await expectAccessible(page).catch((cause: unknown) => found.push(String(cause)));
      }
      expect(found.join("\n")).toBe(""); // of all pages at once
    });
  });
}

test("the overview's verdict and figures are those of the API", async ({ page, signIn, demo }) => {
  await signIn(page, "operator");
  await measured(demo);
  const answered = page.waitForResponse((r) => /\/api\/v1\/.*\/overview$/.test(r.url()) && r.ok());
  await page.goto(at(demo, "overview"));
  const o = (await (await answered).json()) as Overview;
  await ready(page);
  await expect(page.locator("[data-verdict]")).toHaveAttribute("data-verdict", o.verdict);
  const contending = o.tenant_states.find((s) => s.state === "contending")?.tenants ?? 0;
  expect(["served", "below-share"]).toContain(o.verdict);
  await expect(page.locator("[data-verdict]")).toContainText(
    o.verdict === "served" ? `All ${contending} tenants` : `${contending} tenants contend`,
  );
  expect([o.devices.length, o.contended.length]).not.toContain(0);
  for (const s of o.devices)
    await expect(page.locator(`[data-devices="${s.state}"]`)).toContainText(`${s.devices} device`);
  for (const l of o.contended)
    await expect(page.locator(`[data-part=contended] [data-link="${l.name}"]`)).toContainText(
      `${(l.use * 100).toFixed(1)} %`,
    );
  await page.locator("[data-devices=in-sync] a").click();
  await expect(page).toHaveURL(/devices\?state=in-sync/);
});

test("the link of an alert opens the tenant at its time, with the link selected (F9)", async ({
  page,
  signIn,
  demo,
}) => {
  await signIn(page, "operator");
  const tenant = demo.tenant.tenant as string;
  const o = await measured(demo);
  const link = o.contended[0]?.name as string;
  const since = new Date(Date.parse(o.measured_at as string) + 1_000).toISOString();
  await open(page, at(demo, `tenants/${tenant}?at=${encodeURIComponent(since)}&link=${encodeURIComponent(link)}`));
  await expect(page.locator("[data-at]")).toHaveAttribute("data-at", String(Math.round(Date.parse(since) / 1000)));
  const detail = page.locator(`[data-link="${link}"]`);
  await expect(detail).toBeVisible();
  await expect(detail.getByRole("link", { name: tenant, exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Return to now" }).click();
  await expect(page).not.toHaveURL(/at=/);
});

test("a number says why", async ({ page, signIn, demo }) => {
  await signIn(page, "operator");
  await open(page, at(demo, `tenants/${demo.tenant.tenant}`));
  const contended = page.locator(".fl-question");
  await expect(contended.getByRole("link", { name: "leaf4/P4 -> host-016/P1" })).toBeVisible();
  for (const other of ["silver", "bronze"]) await expect(contended.getByRole("link", { name: other })).toBeVisible();
  await page.locator("[data-fact=entitled-now] button").click();
  const why = page.getByRole("dialog");
  await expect(why).toContainText("· e / Σ e");
  await expect(why).toContainText("Revision");
  await expectAccessible(page);
});

test("two operators edit one tenant: the second merges by field, nothing is lost (F10)", async ({
  page,
  guards,
  signIn,
  demo,
}) => {
  guards.allow(/status of 412/); // the conflict
  await signIn(page, "operator");
  const path = `/fabrics/${demo.fabric}/tenants/bronze`;
  const before = await demo.declared(demo.fabric);
  try {
    await open(page, at(demo, "tenants/bronze?edit=yes"));
    await page.getByLabel("Weight", { exact: true }).fill("3");
    await page.getByLabel("Guarantee (Gbit/s)").fill("1");
    await page.getByRole("button", { name: "Preview the change" }).click();
    await expect(page.locator("[data-preview=edit]")).toContainText("2 fields change");
    await demo.changeTenant(demo.fabric, "bronze", { weight: 2, cap_bps: 80e9 });
    await page.getByRole("button", { name: "Save and compile a plan" }).click();
    const note = page.locator("[data-merge]");
    await expect(note).toHaveAttribute("data-merge", "1"); // both changed the weight
    await expect(note).toBeFocused();
    await expect(note).toContainText("Taken over from the newer version: Cap (Gbit/s)");
    await keep(page, "tenant-conflict", { fullPage: true });
    await expectAccessible(page);
    await expect(page.getByRole("button", { name: "Preview the change" })).toBeDisabled();
    await note.getByRole("radio", { name: "Yours: 3" }).check();
    await expect(page.getByLabel("Cap (Gbit/s)")).toHaveValue("80");
    await page.getByRole("button", { name: "Preview the change" }).click();
    await page.getByRole("button", { name: "Save and compile a plan" }).click();
    await expect(page).toHaveURL(/\/plans\/[0-9a-f]{64}/);
    expect(await demo.api("GET", path)).toMatchObject({ weight: 3, guarantee_bps: 1e9, cap_bps: 80e9 });
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("weights of several tenants change together, after a preview", async ({ page, signIn, demo }) => {
  await signIn(page, "operator");
  const before = await demo.declared(demo.fabric);
  await open(page, at(demo, "tenants?selected=gold,silver"));
  try {
    await page.getByRole("button", { name: "Change 2 weights" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Multiply by").click();
    await dialog.getByLabel("Factor").fill("2");
    await dialog.getByRole("button", { name: "Preview the shares" }).click();
    await expect(dialog.locator("[data-shares]")).toBeVisible();
    await keep(page, "tenants-bulk");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Save 2 weights" }).click();
    await expect(dialog).toContainText("Saved 2 of 2.");
    expect(await demo.api("GET", `/fabrics/${demo.fabric}/tenants/gold`)).toMatchObject({ weight: 8 });
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("an operator adds a tenant by keyboard, to a verified rollout, in 12 inputs (F2)", async ({
  page,
  signIn,
  demo,
}) => {
  test.slow();
  await signIn(page, "operator");
  await open(page, at(demo, "tenants"));
  const before = await demo.declared(demo.fabric);
  let inputs = 0;
  const press = async (key: string) => {
    inputs++;
    await page.keyboard.press(key);
  };
  const type = async (text: string) => {
    inputs++;
    await page.keyboard.type(text);
  };
  /** Tab only moves the focus; what is entered and pressed counts. */
  const to = async (focused: ReturnType<Page["locator"]>) => {
    for (let i = 0; i < 60 && !(await focused.evaluate((e) => e === document.activeElement)); i++)
      await page.keyboard.press("Tab");
    await expect(focused).toBeFocused();
  };
  try {
    await press("n");
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByLabel("Name")).toBeFocused();
    await type("fresh");
    await to(dialog.getByRole("combobox", { name: "Ports that send" }));
    await type("host-[008,012]");
    await to(dialog.getByRole("combobox", { name: "Ports that receive" }));
    await type("host-016");
    await to(dialog.getByRole("button", { name: "Preview: does it fit?" }));
    await press("Enter");
    await expect(dialog.locator("[data-verdict]")).toContainText("fresh would get");
    await keep(page, "tenants-admission");
    await expect(dialog.getByRole("button", { name: "Create fresh and compile a plan" })).toBeFocused();
    await press("Enter");
    await expect(page).toHaveURL(/\/plans\/[0-9a-f]{64}/);
    await ready(page);
    await to(page.getByRole("button", { name: "Start rollout" }));
    await press("Enter");
    const start = page.getByRole("dialog");
    const send = start.getByRole("button", { name: /^(Send|Write|Check)/ });
    await expect(send).toBeVisible();
    const typed = start.getByLabel(/Type .* to confirm/);
    if (await typed.count()) {
      await to(typed);
      await type(demo.fabric);
    }
    await expect(send).toBeEnabled({ timeout: 20_000 });
    await to(send);
    await press("Enter");
    await expect(page).toHaveURL(/\/rollouts\/\d+/);
    const confirm = page.getByRole("button", { name: /^Confirm/ });
    const ended = page.locator("[data-rollout-state=succeeded]").first();
    await expect(confirm.or(ended).first()).toBeVisible({ timeout: 60_000 });
    if (await confirm.count()) {
      await to(confirm);
      await press("Enter");
    }
    await expect(ended).toBeVisible({ timeout: 60_000 });
    expect(inputs).toBeLessThanOrEqual(12);
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("a hostile name is refused by its field and shown as text", async ({ page, signIn, demo }) => {
  await signIn(page, "operator");
  await open(page, at(demo, "tenants?add=yes"));
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("<img src=x onerror=alert(1)>");
  await dialog.getByRole("button", { name: "Preview: does it fit?" }).click();
  await expect(dialog.getByText("Use 1 to 63 lower-case letters")).toBeVisible();
  await expect(page.locator("img")).toHaveCount(0);
  await open(page, at(demo, "tenants?filter=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"));
  await expect(page.getByText("No row matches")).toBeVisible();
  await expect(page.locator("img")).toHaveCount(0);
});
