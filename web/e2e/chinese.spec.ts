import type { Page } from "@playwright/test";
import { SimFabric, secondWriter } from "./harness/fabric";
import { consolePlaces, type Place, portalPlaces } from "./harness/routes";
import { type Demo, expect, ready, test } from "./harness/test";
import { untranslated } from "./harness/untranslated";

// The list of texts says all; traces of so many pages would take half of the time.
test.use({ language: "zh", trace: "off", screenshot: "off", actionTimeout: 30_000 });

type Rollout = { id: number; state: string; phase: string };
type Device = { id: string; name: string; state: string };

/** A fabric for what the demo's own must not keep: devices that fail, drift and are quarantined. */
const lab = "lab";

/** Waits until a rollout of the lab has ended, or `until` holds. */
async function follow(demo: Demo, id: number, until = (r: Rollout) => r.state !== "running") {
  await expect
    .poll(async () => until(await demo.api<Rollout>("GET", `/fabrics/${lab}/rollouts/${id}`)), { timeout: 90_000 })
    .toBe(true);
}

const devices = async (demo: Demo, fabric: string) =>
  (await demo.api<{ items: Device[] }>("GET", `/fabrics/${fabric}/devices?read=true`)).items;

/** Fills the lab: a rollout that succeeds, one that fails, a roll-back, drift, a quarantine, and a device that is off. */
async function fillLab(demo: Demo, sim: SimFabric) {
  const at = `/fabrics/${lab}`;
  await sim.declare(demo, lab);
  const plan = async () => (await demo.api<{ name: string }>("POST", `${at}/plans`, {})).name;
  const start = async (options: object, stages?: string[]) =>
    (await demo.api<Rollout>("POST", `${at}/rollouts`, { plan: await plan(), options, ...(stages ? { stages } : {}) }))
      .id;

  await follow(demo, await start({}, ["settings"]));
  await demo.changeTenant(lab, "blue", { weight: 2 });
  const unconfirmed = await start({ confirm_window_s: 600 }, ["settings"]);
  await follow(demo, unconfirmed, (r) => r.phase === "confirming");
  await demo.api("POST", `${at}/rollouts/${unconfirmed}/roll-back`, {});
  await follow(demo, unconfirmed);

  await demo.api(
    "PUT",
    `${at}/drift-policy`,
    { policy: "report", interval_s: 0, quarantine_after: 1 },
    { "If-Match": "*" },
  );
  await secondWriter(sim.address, "host-003", 4242);
  await devices(demo, lab);
  await sim.off("host-002");
  await follow(demo, await start({ attempts: 1 }, ["settings"]));
  const all = await devices(demo, lab);
  await demo.api(
    "PUT",
    `${at}/devices/${encodeURIComponent(all[0]?.id ?? "")}`,
    { policy: "repair" },
    { "If-Match": "*" },
  );
  return all;
}

/** Leaves an entry of most kinds at the demo's own fabric and at the service. */
async function fillDemo(demo: Demo) {
  const at = `/fabrics/${demo.fabric}`;
  await demo.api("PUT", `${at}/objectives/gold`, { bound: 0.9, target: 0.98 });
  await demo.api("DELETE", `${at}/objectives/gold`);
  await demo.api("PUT", `${at}/policies/1/label`, { label: "first" });
  const ends = new Date(Date.now() + 600_000).toISOString();
  await demo.api("POST", "/silences", { matchers: ["fabric=none"], ends_at: ends, comment: "a planned repair" });
  const { plan } = await demo.api<{ plan: { name: string } }>("GET", `${at}/overview`);
  const { id } = await demo.api<{ id: number }>("POST", "/simulations", { fabric: demo.fabric, plan: plan.name });
  await demo.api("POST", `/simulations/${id}/cancel`);
  await fetch(`${demo.url}/api/v1/sign-in`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: "nobody", password: "wrong" }),
  });
}

/** Opens the details of the first row of each table, at one instant: live rows come and go. */
async function openDetails(page: Page) {
  await page.evaluate(() => {
    for (const table of document.querySelectorAll("main table"))
      table.querySelector<HTMLElement>('tbody button[aria-expanded="false"]')?.click();
  });
}

/** Places at the lab: what failed, drifted and was undone. */
function labPlaces(rollouts: Rollout[], all: Device[]): Place[] {
  const at = (name: string, path: string) => ({ name: `lab: ${name}`, path: `/console/f/${lab}/${path}` });
  const device = (name: string, tab: string) => {
    const { id = "" } = all.find((d) => d.name.startsWith(name)) ?? {};
    return at(`device ${name}, ${tab}`, `devices/${encodeURIComponent(id)}?tab=${tab}`);
  };
  return [
    ...["overview", "rollouts", "devices", "policies"].map((path) => at(path, path)),
    ...rollouts.map(({ id }) => at(`rollout ${id}`, `rollouts/${id}`)),
    ...["settings", "baseline", "log"].map((tab) => device("host-002", tab)),
    ...["host-003", "leaf1"].map((name) => device(name, "reasons")),
    ...["declaration", "settings", "log"].map((tab) => at(`tenant, ${tab}`, `tenants/red?tab=${tab}`)),
    at("refused", `what-if?edits=${encodeURIComponent("weight:nosuch=8")}`),
    ...["members", "access"].map((tab) => ({ name: `people, ${tab}`, path: `/console/people?tab=${tab}` })),
    ...["1", "20"].map((seq) => ({ name: `entry ${seq}`, path: `/console/audit?seq=${seq}` })),
  ];
}

/** Visits places, and returns their texts with English. */
async function walk(page: Page, places: Place[], names: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const { name, path } of places) {
    await test.step(name, async () => {
      await page.goto(path);
      await ready(page);
      await openDetails(page);
      found.push(...(await untranslated(page, names)).map((text) => `${name}: ${text}`));
    });
  }
  return found;
}

test("no text on any route is in English", async ({ page, demo, signIn, newPage, guards }) => {
  test.setTimeout(180_000);
  guards.allow(/status of 4\d\d/);
  const sim = await SimFabric.start(`fairlane-e2e-zh-${process.pid}`);
  try {
    await fillDemo(demo);
    await signIn(page, "operator");
    const tenant = await newPage();
    await signIn(tenant, "tenant");
    const { items: users } = await demo.api<{ items: { name: string }[] }>("GET", "/users");
    const names = [demo.fabric, lab, "gold", "silver", "bronze", "red", "blue", ...users.map((u) => u.name), "admin"];
    const [all, ...found] = await Promise.all([
      fillLab(demo, sim), // meanwhile
      walk(page, await consolePlaces(demo), names),
      walk(tenant, portalPlaces(demo), names),
    ]);
    const { items: rollouts } = await demo.api<{ items: Rollout[] }>("GET", `/fabrics/${lab}/rollouts`);
    found.push(await walk(page, labPlaces(rollouts, all), names));
    await page.goto("about:blank"); // before its fabric goes
    await demo.api("DELETE", `/fabrics/${lab}?keep_settings=true`, undefined, { "If-Match": "*" });
    expect(found.flat().join("\n"), "English on pages").toBe("");
  } finally {
    await sim.stop();
  }
});
