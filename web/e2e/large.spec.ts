import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, test as base, expect, type Page } from "@playwright/test";
import { type Guards, guarded } from "./harness/guards";
import { ready } from "./harness/page";
import { results } from "./harness/places";
import { FreshService } from "./harness/service";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const audits = Number(process.env.LARGE_AUDIT ?? 1_000_000);
const tenants = 2000;

/** A leaf-spine fabric as a fabric file. */
function leafSpine(name: string, leaves: number, hostsPerLeaf: number, spines: number): string {
  const count = (n: number) => Array.from({ length: n }, (_, i) => i + 1);
  const hosts = count(leaves * hostsPerLeaf);
  const cable = (a: string, b: string) => `  - {a: "${a}", b: "${b}", rate: 100Gbit/s}`;
  const ofHost = (h: number) =>
    cable(`host-${h}:1`, `leaf${Math.ceil(h / hostsPerLeaf)}:${((h - 1) % hostsPerLeaf) + 1}`);
  return [
    "version: 1",
    `name: ${name}`,
    "nodes:",
    ...count(leaves).map((l) => `  - {name: leaf${l}, kind: switch, ports: ${hostsPerLeaf + spines}}`),
    ...count(spines).map((s) => `  - {name: spine${s}, kind: switch, ports: ${leaves}}`),
    ...hosts.map((h) => `  - {name: host-${h}, kind: host}`),
    "links:",
    ...hosts.map(ofHost),
    ...count(leaves).flatMap((l) => count(spines).map((s) => cable(`leaf${l}:${hostsPerLeaf + s}`, `spine${s}:${l}`))),
    "",
  ].join("\n");
}

type Services = {
  /** A service with fabrics of 10,000 hosts and of 40,000 links, and 2,000 tenants. */
  service: FreshService;
  /** A service with a long audit log. */
  audited: FreshService;
};

async function withService(
  name: string,
  prepare: (service: FreshService) => Promise<void>,
  use: (service: FreshService) => Promise<void>,
) {
  const service = await FreshService.create(name);
  try {
    await prepare(service);
    await use(service);
  } finally {
    await service.remove();
  }
}

async function declareLarge(service: FreshService) {
  const fabrics = { hosts: leafSpine("hosts", 250, 40, 32), links: leafSpine("links", 250, 80, 80) };
  for (const [name, text] of Object.entries(fabrics)) {
    writeFileSync(join(dirname(service.store), `${name}.yaml`), text);
    await service.api("POST", "/fabrics", { name, source: `file:./${name}.yaml` });
    await service.api("POST", `/fabrics/${name}/discover`);
  }
  const names = Array.from({ length: tenants }, (_, i) => `tenant-${String(i + 1).padStart(4, "0")}`);
  const declared = names.map((name, i) => ({ name, weight: (i % 8) + 1 }));
  await service.api("PUT", "/fabrics/hosts/tenants", { tenants: declared }, { "If-Match": "*" });
}

async function fillAudit(service: FreshService) {
  await service.stop();
  const fill = ["run", "-trimpath", "./test/fillaudit", service.store, String(audits)];
  execFileSync("go", fill, { cwd: repository });
  await service.start();
}

/** No demo runs beside these services: it would take time of the processor. */
const test = base.extend<{ guards: Guards; open: (at: FreshService, cpu?: number) => Promise<Page> }, Services>({
  service: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern
    ({}, use) => withService("large", declareLarge, use),
    { scope: "worker", timeout: 300_000 },
  ],

  audited: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern
    ({}, use) => withService("large-audit", fillAudit, use),
    { scope: "worker", timeout: 1_800_000 },
  ],

  guards: [guarded, { auto: true }],

  /** A signed-in page of a browser context of its own, with nothing cached, on a processor that is `cpu` times slower. */
  open: async ({ browser, guards }, use) => {
    const pages: Page[] = [];
    await use(async (service, cpu = 1) => {
      const page = await fresh(browser, guards);
      pages.push(page);
      await service.signIn(page, service.admin);
      const session = await page.context().newCDPSession(page);
      await session.send("Emulation.setCPUThrottlingRate", { rate: cpu });
      return page;
    });
    guards.end();
    for (const page of pages) await page.context().close();
  },
});

async function fresh(browser: Browser, guards: Guards): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, timezoneId: "UTC" });
  await guards.watch(context);
  return context.newPage();
}

/** Milliseconds from the start of the navigation until the selector matches something visible. */
async function shown(page: Page, url: string, selector: string): Promise<number> {
  await page.goto(url, { waitUntil: "commit" });
  const at = await page.waitForFunction(
    (s) => {
      const found = document.querySelector(s)?.checkVisibility();
      return found ? performance.now() : undefined;
    },
    selector,
    { polling: "raf", timeout: 60_000 },
  );
  return (await at.jsonValue()) ?? Number.NaN;
}

const middle = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** The median of five loads, each in a new context, as a line of the report. */
async function median(what: string, open: () => Promise<Page>, url: string, selector: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const page = await open();
    times.push(Math.round(await shown(page, url, selector)));
    await page.context().close();
  }
  report(what, `${middle(times)} ms, of ${times.join(", ")}`);
  return middle(times);
}

/** Prints a figure: these tests are run for them. */
function report(what: string, figure: string) {
  process.stdout.write(`${what}: ${figure}\n`);
  test.info().annotations.push({ type: what, description: figure });
}

for (const { cpu, limit } of [
  { cpu: 1, limit: 2000 },
  { cpu: 4, limit: 5000 },
]) {
  test(`the overview of 10,000 hosts answers in ${limit} ms at a processor ${cpu} times slower @soak`, async ({
    service,
    open,
  }) => {
    const url = `${service.url}/console/f/hosts/overview`;
    expect(await median(`overview, x${cpu}`, () => open(service, cpu), url, "[data-verdict]")).toBeLessThan(limit);
  });
}

for (const fabric of ["hosts", "links"]) {
  test(`the map of fabric "${fabric}" is drawn in 3 s @soak`, async ({ service, open }) => {
    const url = `${service.url}/console/f/${fabric}/map`;
    expect(await median(`map of ${fabric}`, () => open(service), url, '[data-ready="true"]')).toBeLessThan(3000);
  });
}

const depth = 1500;

/** Turns the wheel over a table down to row `depth`, and counts the frames that showed an empty place. */
async function scroll(page: Page): Promise<{ frames: number; blank: number }> {
  const box = page.locator(".fl-table-box").last();
  await box.hover();
  const seen = box.evaluate(async (element, depth) => {
    const seen = { frames: 0, blank: 0 };
    for (
      let row = 0;
      row < depth;
      row = Number([...element.querySelectorAll("tr[aria-rowindex]")].at(-1)?.ariaRowIndex)
    ) {
      await new Promise((next) => requestAnimationFrame(next));
      const { left, top, width, bottom } = element.getBoundingClientRect();
      const low = Math.min(bottom, innerHeight) - 8;
      const places = [top + 60, (top + low) / 2, low];
      const empty = (y: number) => document.elementFromPoint(left + width / 2, y)?.closest(".fl-spacer");
      seen.frames++;
      if (places.some(empty)) seen.blank++;
    }
    return seen;
  }, depth);
  let deep = false;
  void seen.finally(() => {
    deep = true;
  });
  while (!deep) await page.mouse.wheel(0, 300);
  return seen;
}

async function scrollsWithoutBlanks(name: string, page: Page, url: string) {
  report(`${name}, until ready`, `${Math.round(await shown(page, url, '[data-ready="true"]'))} ms`);
  const { frames, blank } = await scroll(page);
  report(`${name}, scrolled`, `to row ${depth}, ${blank} of ${frames} frames with a blank`);
  await page.screenshot({ path: `${results}/screens/large-${name}.png` });
  expect(blank).toBe(0);
}

test(`a list of ${tenants} tenants scrolls without blanks @soak`, async ({ service, open }) => {
  await scrollsWithoutBlanks("tenants", await open(service), `${service.url}/console/f/hosts/tenants`);
});

test(`an audit log of ${audits} entries scrolls without blanks @soak`, async ({ audited, open }) => {
  await scrollsWithoutBlanks("audit", await open(audited), `${audited.url}/console/audit`);
});

test("a page follows another in 300 ms @soak", async ({ service, open }) => {
  const page = await open(service);
  await page.goto(`${service.url}/console/f/hosts/overview`);
  await ready(page);
  const nav = page.getByRole("navigation").first();
  const places = ["Tenants", "Plans", "Policy", "Audit", "Overview"];
  for (const place of places) {
    await nav.getByRole("link", { name: place, exact: true }).click(); // loads its code
    await expect(page.locator("article[data-ready=true] h1")).toBeVisible();
  }
  const times: number[] = [];
  for (const place of places) {
    await page.evaluate(() => {
      addEventListener("click", () => performance.mark("click"), { once: true, capture: true });
    });
    await nav.getByRole("link", { name: place, exact: true }).click();
    const passed = await page.waitForFunction(
      (title) => {
        const there = document.title.startsWith(title) && document.querySelector("article[data-ready=true] h1");
        return there ? performance.now() - (performance.getEntriesByName("click").at(-1)?.startTime ?? 0) : undefined;
      },
      place,
      { polling: "raf" },
    );
    times.push(Math.round((await passed.jsonValue()) ?? Number.NaN));
  }
  report("route changes, warm", `${places.map((p, i) => `${p} ${times[i]} ms`).join(", ")}`);
  expect(Math.max(...times)).toBeLessThan(300);
});
