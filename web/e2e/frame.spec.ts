import type { Page } from "@playwright/test";
import { type Demo, expect, expectAccessible, keep, ready, test } from "./harness/test";

const at = (demo: Demo, path: string) => `/console/f/${demo.fabric}/${path}`;

async function open(page: Page, path: string) {
  await page.goto(path);
  await ready(page);
}

/** Presses the keys of a shortcut, one after the other. */
async function press(page: Page, ...keys: string[]) {
  for (const key of keys) await page.keyboard.press(key);
}

test("keys open pages, the filter and their list, and can be turned off", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  await open(page, at(demo, "overview"));
  await press(page, "g", "t");
  await expect(page).toHaveURL(/\/tenants$/);
  await ready(page);
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
  await press(page, "/");
  await expect(page.locator("[data-filter]").first()).toBeFocused();
  await page.keyboard.type("g t"); // in a field, keys are text
  await expect(page).toHaveURL(/tenants\?filter=g/);

  await page.getByRole("heading", { level: 1 }).focus();
  await press(page, "?");
  const help = page.getByRole("dialog", { name: "Help and shortcuts" });
  await expect(help.getByRole("row", { name: /Devices/ })).toContainText("gd");
  await expectAccessible(page);
  await help.getByLabel("Use shortcuts of one key").uncheck();
  await press(page, "Escape");
  await expect(help).toBeHidden();
  await press(page, "g", "d", "?");
  await page.reload();
  await ready(page);
  await press(page, "g", "d");
  await page.keyboard.press("Control+k"); // needs no single key
  await expect(page.getByRole("combobox")).toBeFocused();
  expect(page.url()).toContain("/tenants");
  await expect(help).toHaveCount(0);
});

test("each page is offered as a request that the service answers", async ({ page, demo, signIn }) => {
  test.setTimeout(240_000);
  const check = async (path: string) => {
    await open(page, path);
    await page.getByRole("button", { name: "Copy as" }).click();
    const text = page.locator("[role=dialog] pre").last();
    await text.waitFor();
    const curl = (await text.textContent()) ?? "";
    const [, method = "GET", request = ""] = /(?:-X (\w+) )?-H .*'http[^/]*\/\/[^/]+(\/api\/.*)'$/s.exec(curl) ?? [];
    expect(request, curl).not.toBe("");
    if (method === "GET" && !curl.includes("--json"))
      expect((await page.request.get(request)).status(), curl).toBe(200);
  };
  const places = async (who: "operator" | "tenant", paths: string[]) => {
    await signIn(page, who);
    for (const path of paths) await test.step(path, () => check(path));
  };
  const pages = [
    "overview",
    "map",
    "tenants",
    "tenants/gold",
    "policies",
    "plans",
    "rollouts",
    "rollouts/2",
    "devices",
  ];
  await places("operator", [
    ...[...pages, "what-if", "alerts"].map((path) => at(demo, path)),
    ...["audit", "people?tab=mine", "settings"].map((path) => `/console/${path}`),
  ]);
  const own = `/portal/f/${demo.fabric}/t/${demo.tenant.tenant}`;
  await places(
    "tenant",
    ["share", "history", "endpoints", "classes", "notices", "members"].map((path) => `${own}/${path}`),
  );
});

test("a session that ends soon says so and is extended", async ({ page, demo, proxied }) => {
  const proxy = await proxied();
  const me = await (await page.request.get(`${proxy.url}/api/v1/me`)).json();
  const session = { ...me.session, idle_expires_at: new Date(Date.now() + 200_000).toISOString() };
  proxy.on(/\/api\/v1\/me$/, { status: 200, type: "application/json", body: JSON.stringify({ ...me, session }) });
  await open(page, `${proxy.url}${at(demo, "overview")}`);
  const warning = page.getByRole("status").filter({ hasText: "Your session ends in 3 min" });
  await expect(warning).toBeVisible();
  await expectAccessible(page);
  proxy.heal();
  await warning.getByRole("button", { name: "Stay signed in" }).click();
  await expect(page.getByText("Your session ends in")).toHaveCount(0);
  expect(proxy.recorded.filter((r) => r.path.endsWith("/me/session/extend")).map((r) => r.status)).toEqual([200]);
});

test("a drag across a chart zooms, a double click resets, and the range is in the address", async ({
  page,
  demo,
  signIn,
}) => {
  await signIn(page, "operator");
  await open(page, at(demo, "tenants/gold"));
  const plot = page.locator(".fl-plot .u-over").first();
  await plot.scrollIntoViewIfNeeded();
  const drag = async () => {
    const box = await plot.boundingBox();
    if (!box) throw new Error("the plot has no place");
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 5 });
    await page.mouse.up();
  };
  await drag();
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  const length = () => {
    const { searchParams: s } = new URL(page.url());
    return Number(s.get("to")) - Number(s.get("from"));
  };
  const zoomed = length();
  expect(zoomed).toBeGreaterThan(30);
  await page.reload();
  await ready(page);
  expect(length()).toBe(zoomed);
  await page.getByRole("button", { name: "Zoom out" }).first().click();
  await expect.poll(length).toBeGreaterThan(zoomed * 1.5);
  await plot.dblclick();
  await expect.poll(length).toBe(zoomed); // the range from before the first zoom of this visit
  await expect(page.getByText(/^Times in UTC/).first()).toBeVisible();
});

/** Sets the spacing that WCAG 2.2, 1.4.12 names, by the object model: the policy of the page allows no style element. */
const spaceText = (page: Page) =>
  page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }",
    );
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  });

/** Makes the words of the page 40 % longer, as a translation may be. Names, codes and figures stay. */
const lengthenText = (page: Page) =>
  page.evaluate(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.nodeValue ?? "";
      if (
        node.parentElement?.closest("style, script, code, pre, time, .fl-mono, .fl-number") ||
        !/[a-z]{3}/i.test(text)
      )
        continue;
      node.nodeValue = text.replace(/[a-z]{3,}/gi, (word) => word + "ä".repeat(Math.round(word.length * 0.4)));
    }
  });

const crowded = ["overview", "tenants", "tenants/gold", "plans", "rollouts/2", "devices", "alerts"];

/** Expects that no text of the page is cut off, and that the page does not scroll sideways. */
async function expectRoom(page: Page, path: string) {
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main :is(button, a, h1, h2, .fl-state, th, td, label, p)")]
      .filter((e) => getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1)
      .map((e) => `${e.tagName}.${e.className}: ${e.textContent?.slice(0, 40)}`),
  );
  expect(cut, path).toEqual([]);
  const wide = await page.evaluate(() =>
    document.documentElement.scrollWidth <= innerWidth
      ? []
      : [...document.querySelectorAll<HTMLElement>("body *")]
          .filter(
            (e) =>
              e.getBoundingClientRect().right > innerWidth + 1 &&
              !e.closest(".fl-table-box") &&
              e.childElementCount === 0,
          )
          .map((e) => `${e.tagName}.${e.className}: ${e.textContent?.slice(0, 40)}`),
  );
  expect(wide, `${path} scrolls sideways`).toEqual([]);
}

test("text with more spacing is not cut off", async ({ page, demo, signIn }) => {
  await signIn(page, "operator");
  for (const path of crowded) {
    await open(page, at(demo, path));
    await spaceText(page);
    await expectRoom(page, path);
    await keep(page, `spaced-${path.replace("/", "-")}`);
  }
});

for (const width of [1280, 390])
  test(`texts that are 40 % longer are not cut off at ${width} px`, async ({ page, demo, signIn }) => {
    await page.setViewportSize({ width, height: 900 });
    await signIn(page, "operator");
    for (const path of crowded) {
      await open(page, at(demo, path));
      await lengthenText(page);
      await expectRoom(page, path);
      await keep(page, `longer-${width}-${path.replace("/", "-")}`);
    }
  });

test.describe("dark", () => {
  test.use({ theme: "dark" });

  test("the saved theme holds before the page's modules run", async ({ newPage }) => {
    const page = await newPage({ theme: "dark" });
    await page.emulateMedia({ colorScheme: "light" });
    await page.route("**/assets/console-*.js", () => undefined); // never answered
    await page.goto("/console/", { waitUntil: "commit" });
    await expect(page.locator("meta[name=color-scheme]")).toHaveAttribute("content", "dark");
    await expect(page.locator("#root")).toBeEmpty();
  });

  test("a page is printed in light colours, and is dark again afterwards", async ({ page, demo, signIn }) => {
    await signIn(page, "tenant");
    await open(page, `/portal/f/${demo.fabric}/t/${demo.tenant.tenant}/history?view=report`);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    expect(dark).not.toBe("rgb(255, 255, 255)");
    await page.emulateMedia({ media: "print" });
    await expect.poll(ground).toBe("rgb(255, 255, 255)");
    await page.emulateMedia({ media: "screen" });
    await expect.poll(ground).toBe(dark);
  });
});

test("a long list is where it was after a look at another page", async ({ page, demo, proxied }) => {
  const proxy = await proxied();
  const { items } = await demo.api<{ items: Record<string, unknown>[] }>("GET", `/fabrics/${demo.fabric}/tenants`);
  const many = Array.from({ length: 400 }, (_, i) => ({ ...items[0], name: `tenant-${i}` }));
  const body = JSON.stringify({ items: many });
  proxy.on(/^\/api\/.*\/tenants(\?|$)/, { status: 200, type: "application/json", body });
  await open(page, `${proxy.url}${at(demo, "tenants")}`);
  const box = page.locator(".fl-table-box");
  await box.evaluate((b) => b.scrollTo(0, 6000));
  await expect(page.getByRole("row", { name: /tenant-2\d\d/ }).first()).toBeVisible();
  const place = await box.evaluate((b) => b.scrollTop);
  await page.getByRole("link", { name: "Devices" }).first().click();
  await expect(page).toHaveURL(/\/devices$/);
  await ready(page);
  await page.goBack();
  await ready(page);
  await expect.poll(() => box.evaluate((b) => b.scrollTop)).toBeCloseTo(place, -2);
});

/** What covers the focused element whole, "" for nothing (WCAG 2.2, 2.4.11). A focused field of a label is as large as the label. */
const covering = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return "";
    const box = (element.closest("label") ?? element).getBoundingClientRect();
    let above = "it is outside of the window";
    for (const x of [0.1, 0.5, 0.9])
      for (const y of [0.1, 0.5, 0.9]) {
        const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
        if (!hit) continue;
        if (element.contains(hit) || hit.contains(element) || hit.closest("label")?.contains(element)) return "";
        above = hit.className.toString() || hit.tagName;
      }
    return `${element.outerHTML.slice(0, 120)}: ${above}`;
  });

for (const { width, height } of [
  { width: 1280, height: 500 },
  { width: 390, height: 600 },
])
  test(`the focus is never covered at ${width} by ${height}`, async ({ newPage, demo }) => {
    test.setTimeout(120_000);
    const page = await newPage({ viewport: { width, height } });
    await demo.signIn(page, demo.operator);
    for (const path of ["tenants/gold", "devices"])
      await test.step(path, async () => {
        await open(page, at(demo, path));
        for (const key of ["Tab", "Shift+Tab"]) {
          const covered: string[] = [];
          for (let i = 0; i < 45; i++) {
            await page.keyboard.press(key);
            const found = await covering(page);
            if (found) covered.push(found);
          }
          expect(covered, `${key} on ${path}`).toEqual([]);
        }
      });
  });
