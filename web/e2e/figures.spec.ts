import type { Page } from "@playwright/test";
import { consolePlaces, portalPlaces } from "./harness/routes";
import { expect, ready, test } from "./harness/test";

/** The cells of columns in percent. */
const percentCells = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("main .fl-table-box table")].flatMap((table) => {
      const heads = [...table.querySelectorAll("thead th")];
      return heads.flatMap((head, i) =>
        head.querySelector(".fl-unit")?.textContent?.trim() === "%"
          ? [...table.querySelectorAll("tbody tr")].map((row) => ({
              head: head.textContent ?? "",
              text: row.children[i]?.textContent ?? "",
            }))
          : [],
      );
    }),
  );

test("a column in percent has the sign in its header alone", async ({ page, newPage, demo, signIn }) => {
  test.setTimeout(120_000);
  await signIn(page, "operator");
  const tenant = await newPage();
  await signIn(tenant, "tenant");
  const found: string[] = [];
  for (const [reader, places] of [
    [page, await consolePlaces(demo)],
    [tenant, portalPlaces(demo)],
  ] as const)
    for (const { name, path } of places) {
      await reader.goto(path);
      await ready(reader);
      for (const { head, text } of await percentCells(reader)) found.push(`${name}, ${head}: ${text}`);
    }
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((cell) => /: .*%/.test(cell))).toEqual([]);
});

for (const width of [1280, 1440])
  test(`the tenants table shows a cap and fits ${width} px`, async ({ page, demo, signIn }) => {
    await page.setViewportSize({ width, height: 900 });
    await signIn(page, "operator");
    const before = await demo.declared(demo.fabric);
    try {
      await demo.changeTenant(demo.fabric, "gold", { cap_bps: 40e9 });
      await page.goto(`/console/f/${demo.fabric}/tenants`);
      await ready(page);
      const table = page.locator(".fl-table-box").first();
      await expect(table.getByRole("columnheader", { name: /^Cap/ })).toBeVisible();
      expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth)).toBeLessThanOrEqual(0);
    } finally {
      await demo.declare(demo.fabric, before);
    }
  });

test("a cap that determines the entitlement says who set it, in one press", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  const before = await demo.declared(demo.fabric);
  try {
    await demo.changeTenant(demo.fabric, "gold", { cap_bps: 5e9 });
    await page.route("**/tenants/gold/now", async (route) => {
      const answer = await route.fetch(); // as after a rollout of the cap
      await route.fulfill({ response: answer, json: { ...(await answer.json()), entitled_bps: 5e9 } });
    });
    await page.goto(`/console/f/${demo.fabric}/tenants/gold`);
    await ready(page);
    const set = page.locator("[data-cap-set]");
    const seq = await set.getAttribute("data-cap-set");
    await set.getByRole("link", { name: /^Cap set by/ }).click();
    await expect(page).toHaveURL(new RegExp(`audit\\?seq=${seq}`));
    await expect(page.locator("[data-entry] [data-field=cap]")).toContainText("5 Gbit/s");
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("the figures of the last hour begin with a change of the entitlement, and say so", async ({
  page,
  demo,
  signIn,
}) => {
  await signIn(page, "operator");
  await page.route("**/tenants/gold/now", async (route) => {
    const answer = await route.fetch();
    const now = await answer.json();
    const since = new Date(Date.parse(now.at) - 720_000).toISOString();
    await route.fulfill({ response: answer, json: { ...now, hour: { ...now.hour, since } } });
  });
  await page.goto(`/console/f/${demo.fabric}/tenants/gold`);
  await ready(page);
  await expect(page.locator("[data-fact=hour]")).toContainText("in the 12 min since its entitlement changed");
});

test("the plan in force is compared with the plan before", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  const at = `/fabrics/${demo.fabric}`;
  const { plan } = await demo.api<{ plan: { name: string } }>("GET", `${at}/overview`);
  const before = await demo.declared(demo.fabric);
  try {
    await demo.changeTenant(demo.fabric, "gold", { weight: 9 });
    const other = await demo.api<{ name: string }>("POST", `${at}/plans`, {});
    await page.route(/\/rollouts\?/, async (route) => {
      const answer = await route.fetch(); // as if the other plan had been rolled out before
      const list = await answer.json();
      const ended = { ...list.items.at(-1), state: "succeeded", repair: false, stages: ["settings"] };
      const items = [
        { ...ended, id: 2, plan: plan.name },
        { ...ended, id: 1, plan: other.name },
      ];
      await route.fulfill({ response: answer, json: { ...list, items } });
    });
    await page.goto(`/console/f/${demo.fabric}/plans/${plan.name}?tab=changes`);
    await ready(page);
    await expect(page.locator("[data-before]")).toHaveAttribute("data-before", other.name);
    await expect(page.locator("[data-before] [data-difference]")).toContainText("2 tenants gain, 1 loses");
  } finally {
    await demo.declare(demo.fabric, before);
  }
});

test("the picture of a control table has values on both axes", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  const { items } = await demo.api<{ items: { id: string; kind: string }[] }>("GET", `/fabrics/${demo.fabric}/devices`);
  const adapter = items.find((d) => d.kind === "ca");
  await page.goto(`/console/f/${demo.fabric}/devices/${encodeURIComponent(adapter?.id ?? "")}?tab=settings`);
  await ready(page);
  await expect(page.locator('[data-ticks] [data-tick-y="0.001"]')).toHaveText("1/1,000");
  expect(await page.locator("[data-tick-x]").count()).toBeGreaterThan(1);
});
