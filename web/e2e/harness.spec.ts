import { expect, expectAccessible, keep, test } from "./harness/test";

const pages = ["/console/", "/portal/", "/console/f/demo/tenants/gold?range=6h"];

const header = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-";

for (const path of pages) {
  test(`${path} is sent with the headers that contain it`, async ({ request }) => {
    const answers = [await request.get(path), await request.get(path)];
    const nonces = new Set<string>();
    for (const answer of answers) {
      expect(answer.status()).toBe(200);
      const headers = answer.headers();
      expect(headers).toMatchObject({
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
      });
      const policy = headers["content-security-policy"] ?? "";
      expect(policy).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      const nonce = /'nonce-([A-Za-z0-9_-]{24})'/.exec(policy)?.[1];
      if (process.env.E2E_REQUIRE_PAGES) expect(policy, "the build has no pages").toContain(header);
      if (!nonce) continue; // the page of a program without the portal and the console is unstyled
      expect(await answer.text()).toContain(`content="${nonce}"`);
      nonces.add(nonce);
    }
    expect([0, 2]).toContain(nonces.size);
  });
}

test("assets are cached for good, and their names change", async ({ request }) => {
  const text = await (await request.get("/console/")).text();
  const assets = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((m) => m[1] as string);
  if (process.env.E2E_REQUIRE_PAGES) expect(assets).not.toHaveLength(0);
  for (const asset of assets) {
    const answer = await request.get(asset);
    expect(answer.status(), asset).toBe(200);
    expect(answer.headers()["cache-control"], asset).toBe("public, max-age=31536000, immutable");
  }
  expect((await request.get("/assets/none.js")).status()).toBe(404);
});

test("an unknown route of the API is a problem, not a page", async ({ request }) => {
  const answer = await request.get("/api/v1/none");
  expect(answer.status()).toBe(404);
  expect(answer.headers()["content-type"]).toContain("application/problem+json");
  expect(await answer.json()).toMatchObject({ code: "no-such-route", status: 404 });
});

test("the root leads to the portal", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveURL(/\/portal\//);
  await expect(page).toHaveTitle(/Fairlane/);
});

for (const theme of ["light", "dark"] as const) {
  for (const language of ["en", "zh"] as const) {
    test.describe(`${theme}, ${language}`, () => {
      test.use({ theme, language });

      test("the first page is accessible", async ({ page }) => {
        for (const path of ["/portal/", "/console/"]) {
          await page.goto(path);
          await expect(page.locator("h1").first()).toBeVisible();
          const built = (await page.locator('meta[name="csp-nonce"]').count()) > 0;
          // A program without the portal and the console serves a page whose links have the size of unstyled text.
          await expectAccessible(page, { exclude: built ? [] : ["a"] });
          await keep(page, `first-${path.split("/")[1]}`);
        }
        expect(
          await page.evaluate(() => [
            localStorage.getItem("fairlane.theme"),
            localStorage.getItem("fairlane.language"),
          ]),
        ).toEqual([theme, language]);
      });
    });
  }
}

test("sessions are separate, by role", async ({ page, newPage, signIn, demo }) => {
  const other = await newPage({ language: "zh" });
  await signIn(page, "operator");
  await signIn(other, "tenant");
  const name = async (p: typeof page) => ((await (await p.request.get("/api/v1/me")).json()) as { name: string }).name;
  expect(await name(page)).toBe(demo.operator.user);
  expect(await name(other)).toBe(demo.tenant.user);
  expect((await other.request.get(`/api/v1/fabrics/${demo.fabric}/overview`)).status()).toBe(403);
});

test("a new service keeps its users over a restart", async ({ freshService, page }) => {
  expect(await freshService.api("GET", "/fabrics")).toMatchObject({ items: [] });
  await freshService.signIn(page, freshService.operator);
  await freshService.stop("SIGKILL");
  await expect(page.request.get(`${freshService.url}/api/v1/me`)).rejects.toThrow(/ECONNREFUSED/);
  await freshService.start();
  expect((await page.request.get(`${freshService.url}/api/v1/me`)).status()).toBe(200);
});

test("the guards find what pages may not do", async ({ page, guards, startProxy }) => {
  await page.goto("/console/");
  await page.evaluate(() => {
    const style = document.createElement("style");
    style.textContent = "body { color: red }";
    document.head.append(style);
    setTimeout(() => {
      throw new Error("on purpose");
    });
    void fetch("http://127.0.0.1:9/").catch(() => undefined);
  });
  await expect.poll(() => guards.violations().join("\n")).toMatch(/on purpose/);
  await expect.poll(() => guards.violations().join("\n")).toMatch(/policy violation: style-src/);
  await expect.poll(() => guards.violations().join("\n")).toMatch(/127\.0\.0\.1:9/);
  guards.allow(/on purpose/, /policy violation/, /Content Security Policy/, /127\.0\.0\.1:9/, /status of 503/);
  expect(guards.violations()).toEqual([]);

  const faulty = await startProxy();
  faulty.on(/^\/portal/, { status: 503, retryAfter: 1 });
  await page.goto(`${faulty.url}/portal/`);
  expect(guards.violations()).toEqual([]);
});

test("axe finds what is wrong", async ({ page }) => {
  await page.goto("/portal/");
  await page.evaluate(() => document.body.append(document.createElement("button")));
  await expect(expectAccessible(page)).rejects.toThrow(/button-name \(critical\)[\s\S]*discernible text/);
});
