import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { detailLooks } from "./harness/looks";
import { program } from "./harness/places";
import { expect, expectAccessible, keep, ready, type Service, test } from "./harness/test";

type Entry = { seq: number; actor: string; action: string; object: string };

const hostile = `<img src=x onerror=alert(1)>\u202eevil\u202c ${"long ".repeat(30)}`.slice(0, 200);
const password = "a-browser-test-password";

/** Adds a user with a role on all fabrics, and returns its sign-in. */
async function addUser(service: Service, name: string, role: string, display = "") {
  await service.api("POST", "/users", { name, display_name: display, password, roles: [{ role }] });
  return { user: name, password };
}

/** Runs a simulated fabric until the function ends. */
async function withSimulator<T>(name: string, run: () => Promise<T>): Promise<T> {
  const child = spawn(program, ["sim", "serve", "ib16", "--addr", `unix:${name}`], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, FAIRLANE_LANG: "en" },
  });
  try {
    await new Promise((answers, fails) => {
      child.stdout.once("data", answers);
      child.once("exit", fails);
    });
    return await run();
  } finally {
    child.kill();
  }
}

/** Saves the download that a press causes, and returns its text. */
async function saved(page: Page, button: string): Promise<string> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  return readFileSync(await (await download).path(), "utf8");
}

test("F1: an empty service leads to the first fabric", async ({ page, guards, freshService }) => {
  guards.allow(/status of 422.*fabrics:0/, /status of 502.*discover:0/); // what the form words
  await freshService.signIn(page, freshService.admin);
  await page.goto(`${freshService.url}/console/`);
  await ready(page);
  await expect(page.getByRole("heading", { name: "Welcome to Fairlane" })).toBeVisible();
  await expect(page.locator("[data-step]")).toHaveCount(3);
  await expect(page.locator("[data-part=simulator]")).toContainText("fairlane sim serve ib16 --addr unix:lab");
  await expectAccessible(page);
  await keep(page, "first-visit", { fullPage: true });

  const form = page.getByRole("form", { name: "Add a fabric" });
  const name = `e2e-${freshService.url.split(":").at(-1)}`;
  await form.getByLabel("Name", { exact: false }).first().fill("lab");
  await form.getByRole("textbox", { name: "Source" }).fill("file:/etc/passwd.yaml");
  await form.getByLabel("Time scale").fill("0.01");
  await form.getByRole("button", { name: "Add and discover lab" }).click();
  await expect(form.getByRole("alert")).toContainText("discovery.sources");

  await form.getByRole("textbox", { name: "Source" }).fill(`ibsim:unix:${name}`);
  await form.getByRole("button", { name: "Add and discover lab" }).click();
  await expect(form.locator("[data-problem=discovery-failed]")).toBeVisible();
  await expect(form.locator("[data-steps='done failed']")).toBeVisible();

  await withSimulator(name, async () => {
    await form.getByRole("button", { name: "Discover lab again" }).click();
    await expect(page.locator("[data-discovered=lab]")).toContainText("6 switches, 16 hosts");
    const fabric = await freshService.api<{ snapshot: { switches: number } }>("GET", "/fabrics/lab");
    expect(fabric.snapshot.switches).toBe(6);

    const part = page.locator("[data-part=import]");
    await part
      .getByRole("textbox")
      .fill(JSON.stringify({ tenants: [{ name: "gold", weight: 4, attachments: [{ port: "host-001" }] }] }));
    await part.getByRole("button", { name: "Check the declaration" }).click();
    await expect(part.getByText("1 tenant is new")).toBeVisible();
    expect(await freshService.api("GET", "/fabrics/lab/tenants")).toMatchObject({ items: [] });
    await part.getByRole("button", { name: "Declare 1 tenant on lab" }).click();
    await expect(part.getByText("1 tenant declared")).toBeVisible();
    await page.getByRole("button", { name: "Open fabric lab" }).click();
    await page.locator("[data-page=lab][data-ready]").waitFor();
    await page.goto("about:blank"); // the stream of the page ends before the service
  });
});

test("a reader without the right to write sees what the first visit offers", async ({ page, freshService }) => {
  await freshService.signIn(page, await addUser(freshService, "eve", "auditor"));
  await page.goto(`${freshService.url}/console/`);
  await ready(page);
  const add = page.getByRole("button", { name: /^Add and discover/ });
  await expect(add).toHaveAttribute("aria-disabled", "true");
  await expect(add).toHaveAccessibleDescription("Your roles do not include this action.");
  await expectAccessible(page);
  await page.goto(`${freshService.url}/console/people?user=first-operator`);
  await expect(page.getByRole("button", { name: "Edit, disable or set a password" })).toHaveAttribute(
    "aria-disabled",
    "true",
  );
  await page.goto(`${freshService.url}/console/settings`);
  await ready(page);
  await expect(page.getByRole("button", { name: "Save settings" })).toHaveAttribute("aria-disabled", "true");
});

test("C11: the audit log shows the service's entries, checks the chain and exports text", async ({
  page,
  freshService,
}) => {
  const api = freshService;
  const ada = await addUser(api, "ada", "auditor", `=${hostile}`);
  for (let i = 0; i < 210; i++) await api.api("PUT", "/settings", { tasks: { keep: i + 1 } }, { "If-Match": "*" });
  await api.signIn(page, ada);
  await page.goto(`${api.url}/console/audit`);
  await ready(page);
  const { items } = await api.api<{ items: Entry[] }>("GET", "/audit?limit=1000");
  const table = page.getByRole("table", { name: "Entries" });
  await expect(page.getByText("200 entries loaded")).toBeVisible();
  await expect(table.getByRole("link").first()).toHaveText(String(items[0]?.seq));
  await page.getByRole("region", { name: "Entries" }).evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await expect(page.getByText(`${items.length} entries loaded`)).toBeVisible();

  await page.getByRole("button", { name: "Check the chain" }).click();
  const report = await api.api<{ ok: boolean; entries: number }>("GET", "/audit/verify");
  await expect(page.locator("[data-chain=whole]")).toHaveAttribute("data-entries", String(report.entries));

  await page.getByRole("combobox", { name: "Action" }).fill("user.");
  await page.getByRole("textbox", { name: "Object" }).fill("ada");
  await page.getByRole("button", { name: "Show entries" }).click();
  await expect(page).toHaveURL(/action=user\.&object=ada/);
  await expect(page.getByText("1 entry loaded")).toBeVisible();
  const csv = await saved(page, "Export CSV");
  expect(csv.trim().split("\r\n")).toHaveLength(2);
  expect(csv).toContain("<img src=x onerror=alert(1)>");
  expect(csv).not.toMatch(/(^|,)"?[=+@]/m);
  const lines = (await saved(page, "Export JSON lines")).trim().split("\n");
  expect(lines.map((l) => (JSON.parse(l) as Entry).object)).toEqual(["ada"]);

  await table.getByRole("link").first().click();
  const created = items.find((e) => e.object === "ada" && e.action === "user.created");
  await expect(page).toHaveURL(new RegExp(`seq=${created?.seq}$`));
  await expect(page.locator("[data-field=display_name]")).toContainText("<img src=x onerror=alert(1)>");
  expect(await page.locator("img[src=x]").count()).toBe(0);
  await expectAccessible(page);
  await keep(page, "audit-entry");
  await page.goto(`${api.url}/console/audit?seq=3`);
  await expect(page.locator("[data-entry='3']")).toContainText(items.find((e) => e.seq === 3)?.action ?? "");
  await page.goto(`${api.url}/console/audit?seq=999999`);
  await expect(page.locator("[data-state=not-found]")).toBeVisible();
});

test("C12: a user, a service account and a token whose secret is shown once", async ({
  page,
  guards,
  freshService,
}) => {
  guards.allow(/status of 412.*users\/bob:0/); // the lost race
  const api = freshService;
  await api.signIn(page, api.admin);
  await page.goto(`${api.url}/console/people`);
  await ready(page);
  await page.getByRole("button", { name: "Add a user" }).click();
  let dialog = page.getByRole("dialog", { name: "Add a user" });
  await dialog.getByLabel("User name").fill("bob");
  await dialog.getByLabel("Display name").fill(hostile);
  await dialog.getByLabel("Password", { exact: true }).fill(password);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Add user bob" }).click();
  await expect(page.locator("[data-user=bob]")).toContainText("<img src=x onerror=alert(1)>");
  expect(await page.locator("img[src=x]").count()).toBe(0);
  await expectAccessible(page);
  await keep(page, "people-user");

  // The API changes the user while the form is open: both changes survive.
  await page.getByRole("button", { name: "Edit, disable or set a password" }).click();
  dialog = page.getByRole("dialog", { name: "Edit user bob" });
  await dialog.getByLabel("Display name").fill("Bob by hand");
  await api.api(
    "PUT",
    "/users/bob",
    { display_name: "Bob by API", disabled: true, roles: [{ role: "auditor" }] },
    { "If-Match": "*" },
  );
  await dialog.getByRole("button", { name: "Save bob" }).click();
  await expect(dialog.locator("[data-merge='1']")).toBeVisible();
  await keep(page, "people-conflict");
  await expect(dialog.getByRole("button", { name: "Save bob" })).toBeDisabled(); // until a side is chosen
  await dialog.getByRole("radio", { name: "Yours: Bob by hand" }).check();
  await dialog.getByRole("button", { name: "Save bob" }).click();
  await expect(dialog).toBeHidden();
  expect(await api.api("GET", "/users/bob")).toMatchObject({ display_name: "Bob by hand", disabled: true });

  await page.getByRole("button", { name: "Delete the user" }).click();
  dialog = page.getByRole("dialog", { name: "Delete user bob" });
  const remove = dialog.getByRole("button", { name: /^Delete bob/ });
  await expect(remove).toBeDisabled();
  await dialog.getByRole("textbox").fill("bob");
  await remove.click();
  await expect(page.getByRole("link", { name: "bob" })).toBeHidden();
  await page.getByLabel("Filter users").fill("first-o");
  await page.getByRole("link", { name: "first-operator" }).click();
  await expect(page).toHaveURL(/people\?(?=.*filter=first-o)(?=.*user=first-operator)/);
  await expect(page.locator("[data-user=first-operator]")).toBeVisible();

  await page.goto(`${api.url}/console/people?tab=accounts`);
  await page.getByRole("button", { name: "Add a service account" }).first().click();
  dialog = page.getByRole("dialog", { name: "Add a service account" });
  await dialog.getByLabel("Name", { exact: true }).or(dialog.getByLabel("Name *")).first().fill("ci");
  await dialog.getByRole("button", { name: "Add service account ci" }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("row", { name: /ci/ }).getByRole("button").first().click();
  const tokens = page.locator("[data-tokens=ci]");
  await tokens.getByRole("button", { name: "Create a token" }).first().click();
  dialog = page.getByRole("dialog", { name: "Create a token for ci" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("runner");
  await dialog.getByRole("textbox", { name: "Scopes" }).fill("*:read");
  await dialog.getByRole("button", { name: "Create the token" }).click();
  await expect(page.locator("[data-secret]")).toBeVisible();
  const secret = (await page.locator("[data-secret] pre").textContent()) ?? "";
  expect(secret).toMatch(/^flt_/);
  await expectAccessible(page);
  const me = await page.request.get(`${api.url}/api/v1/me`, { headers: { Authorization: `Bearer ${secret}` } });
  expect(await me.json()).toMatchObject({ name: "ci@*", scopes: ["*:read"] });
  await page.getByRole("button", { name: "I have kept the secret" }).click();
  await expect(tokens).toContainText("runner");
  expect(await page.content()).not.toContain(secret);
  expect(page.url()).not.toContain("flt_");
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain("flt_");

  await tokens.getByRole("button", { name: "Revoke token runner" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke token runner" }).click();
  await expect(tokens).toContainText("No token");
});

test("C13: settings and fabrics keep what others changed", async ({ page, guards, freshService }) => {
  guards.allow(/status of 412.*settings:0/); // the lost race
  const api = freshService;
  await api.api("POST", "/fabrics", { name: "lab", source: "ibsim:unix:e2e-none" });
  await api.signIn(page, api.admin);
  await page.goto(`${api.url}/console/settings`);
  await ready(page);
  const version = await api.api<{ version: string }>("GET", "/version");
  await expect(page.getByText(`Version ${version.version};`)).toBeVisible();
  const diagnosis = page.locator("[data-doctor]");
  const { findings } = await api.api<{ findings: { code: string; status: string; remedy?: string }[] }>(
    "GET",
    "/doctor",
  );
  const problems = findings.filter((f) => f.status === "warning" || f.status === "fault");
  await expect(diagnosis).toHaveAttribute("data-doctor", String(problems.length));
  const away = diagnosis.locator("[data-code=fabric-away]");
  await expect(away).toContainText("fault");
  await expect(away).toContainText(problems.find((f) => f.code === "fabric-away")?.remedy ?? "no remedy");
  await expect(diagnosis.locator("[data-code=store-right]")).toHaveCount(0);
  await diagnosis.getByRole("button", { name: /^Show .* without a problem$/ }).click();
  await expect(diagnosis.locator("[data-code=store-right]")).toBeVisible();
  const form = page.getByRole("form", { name: "Runtime settings" });
  await form.getByLabel("Tasks at once").fill("50");
  await api.api("PUT", "/settings", { tasks: { keep: 7, limit: 60 } }, { "If-Match": "*" });
  await form.getByRole("button", { name: "Save 1 setting" }).click();
  await expect(form.locator("[data-merge='1']")).toContainText("Ended tasks kept");
  await form.getByRole("radio", { name: "Yours: 50" }).check();
  await form.getByRole("button", { name: "Save 1 setting" }).click();
  await expect.poll(() => api.api("GET", "/settings")).toMatchObject({ tasks: { keep: 7, limit: 50 } });
  await expect(form.getByText("Settings saved.")).toBeVisible();
  await expect(form.locator("[data-merge]")).toHaveCount(0);

  await page.getByRole("button", { name: "Edit fabric lab" }).click();
  let dialog = page.getByRole("dialog", { name: "Edit fabric lab" });
  await dialog.getByRole("textbox", { name: "Source" }).fill("ibsim:unix:e2e-other");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Save fabric lab" }).click();
  await expect(page.getByText("ibsim:unix:e2e-other")).toBeVisible();
  await page.getByRole("button", { name: "Delete fabric lab" }).click();
  dialog = page.getByRole("dialog", { name: "Delete fabric lab" });
  await dialog.getByRole("textbox").fill("lab");
  await dialog.getByRole("button", { name: "Delete fabric lab" }).click();
  await expect(page.getByText("No fabric", { exact: true })).toBeVisible();
});

for (const { theme, language } of detailLooks.filter((look) => look.width > 1000)) {
  test.describe(`${theme}, ${language}`, () => {
    test.use({ theme, language });

    test("the parts of the service's pages are accessible", async ({ page, demo, signIn }) => {
      await signIn(page, "operator");
      for (const path of ["audit?seq=1", "people?tab=members", "people?tab=mine", "people?tab=access", "settings"]) {
        await page.goto(`${demo.url}/console/${path}`);
        await ready(page);
        await expectAccessible(page);
        await keep(page, path.replace(/[?=]/g, "-"));
      }
    });
  });
}
