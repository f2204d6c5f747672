import type { Page } from "@playwright/test";
import { detailLooks } from "./harness/looks";
import { expect, expectAccessible, keep, ready, test } from "./harness/test";

type Group = { id: string; kind: string; tier: number; name: string; switches: number; hosts: number; state: string };
type Map = {
  groups: Group[];
  edges: { a: string; b: string; links: number }[];
  tenants_meeting: { link: string; a: string; b: string; tenants: { tenant: string }[] }[];
};
type Path = { hops: { name: string; distance: number; tenants: { tenant: string }[] }[] };

const address = (fabric: string, query = "") => `/console/f/${fabric}/map${query}`;
const cursor = (page: Page) => page.locator("[data-map-cursor]");
const leafWithContention = "switch:0x0200000100010300";

for (const { theme, language } of detailLooks.filter((look) => look.width > 1000)) {
  test.describe(`${theme}, ${language}`, () => {
    test.use({ theme, language });

    test("map, matrix and table are accessible", async ({ page, demo, signIn }) => {
      await signIn(page, "operator");
      await page.goto(address(demo.fabric, `?group=${leafWithContention}&src=host-001&dst=host-016&find=host-014`));
      await ready(page);
      await expect(page.locator("[data-path]")).toBeVisible();
      await expectAccessible(page);
      await keep(page, "map", { fullPage: true });
      for (const view of ["matrix", "table"]) {
        await page.goto(address(demo.fabric, `?view=${view}`));
        await ready(page);
        await expectAccessible(page);
        await keep(page, `map-${view}`);
      }
    });
  });
}

test("tables hold what the API returns", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(address(demo.fabric, "?view=table"));
  await ready(page);
  const map = await demo.api<Map>("GET", `/fabrics/${demo.fabric}/map`);
  const groups = page.getByRole("table", { name: "Groups", exact: true });
  const cells = await groups
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((r) => [...r.children].slice(0, 5).map((c) => c.textContent)));
  expect(cells).toEqual(
    map.groups.map((g) => [
      g.kind === "host" ? `Hosts of ${g.name}` : g.name,
      g.kind,
      String(g.tier),
      String(g.switches),
      String(g.hosts),
    ]),
  );
  const links = page.getByRole("table", { name: "Links between groups" }).locator("tbody tr");
  await expect(links).toHaveCount(map.edges.length);
  await page.getByRole("link", { name: "Hosts of leaf4", exact: true }).click();
  await expect(page.getByRole("region", { name: "Hosts of leaf4" })).toContainText("4 hosts");
});

test("contended links name the tenants that meet there", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  let meeting: Map["tenants_meeting"][number] = { link: "", a: "", b: "", tenants: [] };
  // On a busy machine the latest measurement may be too old for a moment.
  await expect(async () => {
    const { tenants_meeting } = await demo.api<Map>("GET", `/fabrics/${demo.fabric}/map`);
    expect(tenants_meeting[0]?.tenants.length).toBeGreaterThan(0);
    meeting = tenants_meeting[0] as typeof meeting;
  }).toPass({ timeout: 30_000 });
  await page.goto(address(demo.fabric, `?link=${encodeURIComponent(meeting.link)}`));
  await ready(page);
  await expect(page.locator(".fl-question")).toContainText(meeting.link);
  const panel = page.locator("[data-map-panel]");
  for (const { tenant } of meeting.tenants) {
    await expect(panel.getByRole("link", { name: tenant, exact: true })).toBeVisible();
    await expect(
      page.getByRole("row", { name: new RegExp(` ${tenant} [0-9.]+ [0-9.]+ [0-9.]+ `) }).first(),
    ).toBeVisible();
  }
  await panel.getByRole("button", { name: "Close" }).press("Escape");
  await expect(panel).toHaveCount(0);
});

test("a path lists the links that the API returns", async ({ page, demo, signIn, guards }) => {
  guards.allow(/status of 422/);
  await signIn(page, "operator");
  await page.goto(address(demo.fabric));
  await ready(page);
  await page.getByRole("combobox", { name: "From port" }).fill("host-001");
  await page.getByRole("combobox", { name: "To port" }).fill("host-013");
  // By keys: the table above the field may grow with a measurement, and move the options away from the pointer.
  await expect(page.getByRole("option", { name: /host-013/ })).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Trace path" }).click();
  await expect(page).toHaveURL(/src=host-001&dst=host-013/);
  const path = await demo.api<Path>("GET", `/fabrics/${demo.fabric}/path?src=host-001&dst=host-013`);
  const rows = page.getByRole("table", { name: "Links of the path" }).locator("tbody tr th");
  await expect(rows).toHaveText(path.hops.map((h) => h.name));
  await page.getByRole("combobox", { name: "To port" }).fill("host-099");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Trace path" }).click();
  await expect(page.getByText(/no such port/)).toBeVisible();
  await page.goBack();
  await expect(rows).toHaveText(path.hops.map((h) => h.name));
});

test("the keyboard opens and expands a group, and back restores the map", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(address(demo.fabric));
  await ready(page);
  await cursor(page).focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"])
    await page.keyboard.press(key);
  await expect(cursor(page)).toHaveAccessibleName(/^Hosts of leaf4: host, 4 members/);
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("0");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Hosts of leaf4" })).toBeFocused();
  const expand = page.getByRole("button", { name: "Expand", exact: true });
  for (let i = 0; i < 4 && !(await expand.evaluate((b) => b === document.activeElement)); i++)
    await page.keyboard.press("Tab"); // past "Close", and the reason of the use where it was measured
  await expect(expand).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("navigation", { name: "Part of the fabric" })).toContainText(
    "Members of: Hosts of leaf4",
  );
  await ready(page);
  await expect(page.getByRole("img", { name: /5 groups/ })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("region", { name: "Hosts of leaf4" })).toBeVisible();
  await expect(page.getByRole("img", { name: /10 groups/ })).toBeVisible();
  await page.getByLabel("Hide hosts").check();
  await expect(page.getByRole("img", { name: /6 groups/ })).toBeVisible();
  await page.reload();
  await ready(page);
  await expect(page.getByRole("img", { name: /6 groups/ })).toBeVisible();
});

test("arrows move in the heat matrix", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(address(demo.fabric, "?view=matrix"));
  await ready(page);
  const grid = page.getByRole("grid");
  await expect(grid.getByRole("gridcell")).toHaveCount(8);
  await grid.getByRole("gridcell").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await expect(grid.getByRole("gridcell", { name: /^leaf2 – spine2: 1 link/ })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "leaf2 – spine2" })).toBeVisible();
});

test("the palette finds a device and the map shows its group", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await page.goto(address(demo.fabric));
  await ready(page);
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Find pages and objects" });
  await field.fill("host-014");
  await expect(page.getByRole("option", { name: /Host host-014/ })).toHaveAttribute("aria-selected", "true");
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/map\?find=0x/);
  await expect(page.getByText("host-014 is in the group: Hosts of leaf4.")).toBeVisible();
  await page.getByRole("button", { name: "Expand to the device" }).click();
  await expect(page.getByText("host-014 is marked with a ring.")).toBeVisible();
});

test("without WebGL the page says so and shows the tables", async ({ page, demo, signIn }) => {
  await page.addInitScript(() => {
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement, kind: string, ...rest: unknown[]) {
      return kind.startsWith("webgl") ? null : (original as (...all: unknown[]) => unknown).call(this, kind, ...rest);
    } as typeof original;
  });
  await signIn(page, "operator");
  await page.goto(address(demo.fabric));
  await ready(page);
  await expect(page.getByText("This browser cannot draw the map")).toBeVisible();
  await expect(page.getByRole("table", { name: "Groups", exact: true })).toBeVisible();
});
