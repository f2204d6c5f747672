import type { Page } from "@playwright/test";
import { SimFabric, secondWriter } from "./harness/fabric";
import { detailLooks } from "./harness/looks";
import type { Service } from "./harness/service";
import { expect, expectAccessible, keep, ready, test } from "./harness/test";

type Rollout = {
  id: number;
  plan: string;
  state: string;
  phase: string;
  devices?: { name: string; state: string }[];
};

/** Changes a tenant's weight, and returns the name of the plan for it. */
async function planFor(service: Service, fabric: string, tenant: string, weight: number): Promise<string> {
  await service.changeTenant(fabric, tenant, { weight });
  return (await service.api<{ name: string }>("POST", `/fabrics/${fabric}/plans`, {})).name;
}

/** Starts a rollout, after clean-ups and repairs that run. */
async function start(service: Service, fabric: string, plan: string, options: object, stages?: string[]) {
  await idle(service, fabric);
  return service.api<Rollout>("POST", `/fabrics/${fabric}/rollouts`, { plan, options, ...(stages ? { stages } : {}) });
}

/** Waits until no rollout of a fabric runs. */
async function idle(service: Service, fabric: string) {
  await expect
    .poll(
      async () => {
        const { items } = await service.api<{ items: Rollout[] }>("GET", `/fabrics/${fabric}/rollouts?limit=3`);
        return items.filter((r) => r.state === "running").length;
      },
      { timeout: 30_000 },
    )
    .toBe(0);
}

/** The states of devices on the page, by name. */
async function shown(page: Page): Promise<Record<string, string>> {
  return page.evaluate(() => {
    const out: Record<string, string> = {};
    for (const badge of document.querySelectorAll<HTMLElement>("tbody [data-device-state]")) {
      const name = badge.closest("tr")?.querySelector("a")?.textContent;
      if (name) out[name] = badge.dataset.deviceState ?? "";
    }
    return out;
  });
}

const statesOf = async (service: Service, path: string): Promise<Record<string, string>> => {
  const ro = await service.api<Rollout>("GET", path);
  return Object.fromEntries((ro.devices ?? []).map((d) => [d.name, d.state]));
};

/** Compares page and service until a moment that `done` names. Nothing may be green on the page that the service has not verified. */
async function watch(page: Page, service: Service, path: string, done: (ro: Rollout) => boolean) {
  for (const end = Date.now() + 40_000; ; ) {
    const page_ = await shown(page);
    const ro = await service.api<Rollout>("GET", path); // later than the page: verified devices stay verified
    const states = Object.fromEntries((ro.devices ?? []).map((d) => [d.name, d.state]));
    const green = Object.entries(page_).filter(([, state]) => state === "in-sync");
    expect(
      green.filter(([name]) => states[name] !== "in-sync").map(([name]) => name),
      "verified on the page only",
    ).toEqual([]);
    if (done(ro)) break;
    expect(Date.now(), `rollout in phase ${ro.phase}`).toBeLessThan(end);
  }
  await expect.poll(() => shown(page)).toEqual(await statesOf(service, path));
}

/** Presses a button by keyboard. */
async function press(page: Page, name: RegExp) {
  await page.getByRole("button", { name }).press("Enter");
}

test("a rollout is watched, confirmed and rolled back (F3, F5)", async ({ page, demo, signIn }) => {
  test.setTimeout(120_000);
  const { fabric } = demo;
  const before = (await demo.api<{ plan: { name: string } }>("GET", `/fabrics/${fabric}/overview`)).plan.name;
  const plan = await planFor(demo, fabric, "silver", 3);
  await signIn(page, "operator");
  const { id } = await start(demo, fabric, plan, { confirm_window_s: 600 });
  const path = `/fabrics/${fabric}/rollouts/${id}`;
  await page.goto(`/console/f/${fabric}/rollouts/${id}`);
  await ready(page);
  await watch(page, demo, path, (ro) => ro.phase === "confirming");

  await expect(page.locator("[data-confirm]")).toContainText(/Confirm within \d/);
  await expect(page.locator("[data-wave]").first()).toContainText("canary");
  for (const wave of await page.locator("[data-wave]").all())
    await expect(wave).toHaveAttribute("data-state", "verified");
  await expect(page.locator("[data-gate]").first()).toBeVisible();
  await keep(page, "rollout-confirming", { fullPage: true });
  await press(page, /^Confirm: keep the new settings of 20 devices/);
  await expect(page.locator('[data-rollout-state="succeeded"]')).toBeVisible();
  await expect(page.getByText(`Rollout ${id} started`)).toBeVisible();
  const silver = page.getByRole("row").filter({ has: page.getByRole("link", { name: "silver" }) });
  await expect(silver).toContainText("37.5"); // 100 Gbit/s · 3/8
  await expect(silver).toContainText("28.6"); // before: 2/7
  await keep(page, "rollout-succeeded", { fullPage: true });

  await idle(demo, fabric); // the clean-up of settings that only the plan before needed
  await press(page, /^Roll back$/);
  const dialog = page.getByRole("dialog", { name: `Roll back rollout ${id}` });
  await expect(dialog.getByLabel(new RegExp(before.slice(0, 12)))).toBeChecked();
  await expect(dialog.locator("[data-difference]")).toContainText(/setting/);
  await expect(dialog.locator("[data-waves]")).toBeVisible();
  await expectAccessible(page);
  await keep(page, "roll-back");
  const go = dialog.getByRole("button", { name: /^Roll back: write 20 devices/ });
  await expect(go).toBeDisabled();
  await dialog.getByLabel(`Type ${fabric} to confirm`).fill(fabric);
  await dialog.getByLabel(`Type ${fabric} to confirm`).press("Enter");
  await expect(dialog).toBeVisible(); // Enter does not pass it
  await go.press("Enter");
  await expect(page).not.toHaveURL(new RegExp(`/rollouts/${id}\\b`));
  await expect(page.locator('[data-rollout-state="succeeded"]')).toBeVisible({ timeout: 40_000 });
  const now = await demo.api<{ plan: { name: string } }>("GET", `/fabrics/${fabric}/overview`);
  expect(now.plan.name).toBe(before);
  await planFor(demo, fabric, "silver", 2);
  await idle(demo, fabric);
});

test("a device restarts during a rollout, and the page tells the truth (F6)", async ({ page, freshService: s }) => {
  test.setTimeout(150_000);
  const sim = await SimFabric.start(`fairlane-e2e-f6-${process.pid}`);
  try {
    await sim.declare(s, "lab");
    const { name: plan } = await s.api<{ name: string }>("POST", "/fabrics/lab/plans", {});
    await s.signIn(page, s.operator);
    const { id } = await start(s, "lab", plan, { attempts: 30, confirm_window_s: 600 }, ["settings"]);
    await s.api("POST", `/fabrics/lab/rollouts/${id}/pause`); // at once: a page cannot be as fast as a small fabric
    const path = `/fabrics/lab/rollouts/${id}`;
    await page.goto(`${s.url}/console/f/lab/rollouts/${id}`);
    await ready(page);
    await expect(page.locator('[data-situation="paused"]')).toBeVisible({ timeout: 30_000 });
    await watch(page, s, path, () => true);
    const waiting = Object.entries(await shown(page)).flatMap(([name, state]) => (state === "pending" ? [name] : []));
    const victim = waiting.find((name) => /^host-00[2-4]/.test(name)) ?? "";
    expect(victim, "a host of the wave after the canary").not.toBe("");
    await keep(page, "rollout-paused", { fullPage: true });

    const node = victim.split("/")[0] ?? "";
    await sim.off(node);
    await press(page, /^Resume$/);
    const others = async () => Object.values(await statesOf(s, path)).filter((state) => state === "in-sync").length;
    const first = await others();
    await watch(page, s, path, (ro) => (ro.devices ?? []).filter((d) => d.state === "in-sync").length > first);
    expect((await shown(page))[victim]).not.toBe("in-sync");
    await press(page, /^Pause$/);
    await expect(page.locator('[data-situation^="paus"]')).toBeVisible();
    await keep(page, "rollout-device-off", { fullPage: true });
    await press(page, /^Resume$/);
    await sim.on(node); // with the settings of a restart
    await watch(page, s, path, (ro) => ro.phase === "confirming");
    expect((await shown(page))[victim]).toBe("in-sync");
    await press(page, /^Confirm: keep the new settings/);
    await expect(page.locator('[data-rollout-state="succeeded"]')).toBeVisible({ timeout: 20_000 });

    await sim.reboot(node); // after it was verified: the next reading says so
    await page.goto(`${s.url}/console/f/lab/devices`);
    await ready(page);
    await press(page, /^Read all \d+ devices now/);
    await expect(page.locator("[data-drift]")).toContainText(victim, { timeout: 30_000 });
    await expect.poll(async () => (await shown(page))[victim]).toBe("drifted");
  } finally {
    await page.goto("about:blank"); // before its service ends
    await sim.stop();
  }
});

test("a paused rollout is canceled: written devices keep the new settings, no other is written", async ({
  page,
  demo,
  signIn,
}) => {
  test.setTimeout(120_000);
  const { fabric } = demo;
  const before = (await demo.api<{ plan: { name: string } }>("GET", `/fabrics/${fabric}/overview`)).plan.name;
  await idle(demo, fabric);
  // A device after the other: the pause then takes effect between two of them.
  const slow = { confirm_window_s: 600, wave: 1, shard: 1, parallel: 1 };
  const { id } = await start(demo, fabric, await planFor(demo, fabric, "silver", 3), slow);
  const path = `/fabrics/${fabric}/rollouts/${id}`;
  const verified = async () => Object.values(await statesOf(demo, path)).filter((state) => state === "in-sync").length;
  await expect.poll(verified, { intervals: [20] }).toBeGreaterThan(1);
  await demo.api("POST", `${path}/pause`);
  await signIn(page, "operator");
  await page.goto(`/console/f/${fabric}/rollouts/${id}`);
  await ready(page);
  await expect(page.locator('[data-situation="paused"]')).toBeVisible({ timeout: 30_000 });
  const written = await verified();
  const open = Object.keys(await statesOf(demo, path)).length - written;
  expect(open, "devices that are not written").toBeGreaterThan(0);

  await press(page, /^Cancel the rollout$/);
  const dialog = page.getByRole("dialog", { name: `Cancel rollout ${id}` });
  await expect(dialog).toContainText(`${written} devices keep the new settings; ${open} are not written`);
  await expectAccessible(page);
  await keep(page, "rollout-cancel");
  await dialog.getByRole("button", { name: `Stop: leave ${open} devices unwritten` }).press("Enter");
  await expect(page.locator('[data-rollout-state="canceled"]')).toBeVisible({ timeout: 20_000 });
  await expect(page.locator(".fl-question")).toContainText(`${open} were not written`);
  await expect.poll(() => shown(page)).toEqual(await statesOf(demo, path));
  await keep(page, "rollout-canceled", { fullPage: true });

  await demo.changeTenant(fabric, "silver", { weight: 2 });
  await demo.api("POST", `${path}/roll-back`, { plan: before });
  await idle(demo, fabric);
});

test("drift by a second writer is shown and repaired with a preview (F7)", async ({ page, demo, signIn }) => {
  test.setTimeout(90_000);
  const { fabric } = demo;
  await idle(demo, fabric);
  const { source } = await demo.api<{ source: string }>("GET", `/fabrics/${fabric}`);
  await secondWriter(source.replace(/^ibsim:/, ""), "host-003", 4242);
  await signIn(page, "operator");
  await page.goto(`/console/f/${fabric}/devices`);
  await ready(page);
  await press(page, /^Read all 21 devices now/);
  const banner = page.locator("[data-drift]");
  await expect(banner).toContainText("1 device has drifted");
  await expect(page.locator(".fl-question")).toContainText("1 device has drifted: host-003/P1");
  await expectAccessible(page);
  await keep(page, "devices-drift", { fullPage: true });
  await press(page, /^Show the drifted devices/);
  await expect(page).toHaveURL(/state=drifted/);
  await page.getByRole("row").getByRole("link", { name: "host-003/P1" }).press("Enter");
  await ready(page);
  await press(page, /^Read now/);
  await expect(page.locator("[data-differences]")).toContainText("sl[3].timer");
  await expect(page.locator("[data-differences]")).toContainText("4242");
  await expect(page.locator("[data-settings=sl] [data-differs]")).toHaveCount(1);
  await keep(page, "device-drift", { fullPage: true });

  await press(page, /^Repair$/);
  const dialog = page.getByRole("dialog", { name: "Repair host-003/P1" });
  await expect(dialog.locator("[data-fields]")).toContainText("sl[3].timer");
  await expectAccessible(page);
  await keep(page, "repair");
  await dialog.getByRole("button", { name: "Repair: write 1 setting to host-003/P1" }).press("Enter");
  await expect(page).toHaveURL(/\/rollouts\/\d+/);
  await expect(page.locator('[data-rollout-state="succeeded"]')).toBeVisible({ timeout: 30_000 });
  expect(await shown(page)).toEqual({ "host-003/P1": "in-sync" });
  await page.getByRole("row").getByRole("link", { name: "host-003/P1" }).click();
  await ready(page);
  await press(page, /^Read now/);
  await expect(page.locator('[data-differences="0"]')).toContainText("verified");
});

// The flows above check dialogs in light and English; e2e/routes.spec.ts visits the pages themselves.
test("two operators change the drift policy: the second merges by field, nothing is lost", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 412/);
  type Policy = { policy: string; interval_s: number; quarantine_after: number; window_s: number; release_s: number };
  const path = `/fabrics/${demo.fabric}/drift-policy`;
  const read = async () => {
    const { policy, interval_s, quarantine_after, window_s, release_s } = await demo.api<Policy>("GET", path);
    return { policy, interval_s, quarantine_after, window_s, release_s };
  };
  const put = (policy: Policy) => demo.api("PUT", path, policy, { "If-Match": "*" });
  const before = await read();
  await signIn(page, "operator");
  try {
    await page.goto(`/console/f/${demo.fabric}/devices`);
    await ready(page);
    await page.getByRole("button", { name: "Change the drift policy" }).click();
    const dialog = page.getByRole("dialog");
    const save = dialog.getByRole("button", { name: /(drift of|Freeze) \d+ devices/ });
    await dialog.getByLabel("Incidents before quarantine").fill("7");
    await put({ ...before, window_s: 7200, quarantine_after: 9 });
    await save.click();
    const note = dialog.locator("[data-merge]");
    await expect(note).toHaveAttribute("data-merge", "1");
    await expect(save).toBeDisabled();
    await note.getByRole("radio", { name: "Yours: 7" }).check();
    await save.click();
    await expect(dialog).toBeHidden();
    expect(await read()).toEqual({ ...before, window_s: 7200, quarantine_after: 7 });
  } finally {
    await put(before);
  }
});

for (const { theme, language } of detailLooks.filter((look) => look.width > 1000)) {
  test(`dialogs and tabs of rollouts and devices are accessible, ${theme}, ${language}`, async ({
    newPage,
    demo,
    signIn,
  }) => {
    const page = await newPage({ theme, language });
    await signIn(page, "operator");
    const f = `/console/f/${demo.fabric}`;
    const places: [name: string, path: string, shown: string][] = [
      ["device-reasons", `${f}/devices/leaf4?tab=reasons`, "[data-reasons]"],
      ["device-capabilities", `${f}/devices/leaf4?tab=capabilities`, "[data-capabilities]"],
      ["device-baseline", `${f}/devices/leaf4?tab=baseline`, "[data-baseline]"],
      ["release", `${f}/rollouts?dialog=release`, "[data-release] table"],
      ["drift-policy", `${f}/devices?dialog=policy`, "[role=dialog] [role=status]"],
    ];
    for (const [name, path, shown] of places) {
      await page.goto(path);
      await ready(page);
      await page.locator(shown).first().waitFor();
      await expectAccessible(page);
      await keep(page, name, { fullPage: !path.includes("dialog") });
    }
  });
}
