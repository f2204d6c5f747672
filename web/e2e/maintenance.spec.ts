import type { Page } from "@playwright/test";
import { type Demo, expect, expectAccessible, ready, test } from "./harness/test";

type Maintenance = { id: string; state: string; touches: string[]; text: { en?: string } };

const list = (demo: Demo) => `/fabrics/${demo.fabric}/maintenance`;
const notices = (demo: Demo) => `/portal/f/${demo.fabric}/t/${demo.tenant.tenant}/notices`;

/** A text that would do harm if it were rendered as markup, with marks that would turn the writing direction. */
const hostile = "<img src=x onerror=alert(1)> \u202Efirmware";

/** Cancels what a test announced. */
async function cancelAll(demo: Demo) {
  const { items } = await demo.api<{ items: Maintenance[] }>("GET", list(demo));
  for (const m of items) await demo.api("DELETE", `${list(demo)}/${m.id}`, undefined, { "If-Match": "*" });
}

/** The part of the console's page about maintenance. */
async function openConsole(page: Page, demo: Demo) {
  await page.goto(`/console/f/${demo.fabric}/alerts`);
  await ready(page);
}

test("an operator announces, changes and cancels maintenance, and the tenant that it affects sees it", async ({
  page,
  newPage,
  demo,
  signIn,
}) => {
  test.setTimeout(120_000);
  const own = demo.tenant.tenant ?? "";
  try {
    await signIn(page, "operator");
    await openConsole(page, demo);
    await page.getByRole("button", { name: "Announce maintenance" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Text in English").fill(hostile);
    await dialog.getByRole("textbox", { name: /^Tenants/ }).fill(own);
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Preview" }).click();
    await expect(dialog.getByRole("status")).toContainText(`It affects 1 tenant: ${own}`);
    const before = await demo.api<{ items: Maintenance[] }>("GET", list(demo));
    expect(before.items).toEqual([]); // a preview announces nothing
    await dialog.getByLabel("Start").press("Enter"); // previews again
    await expect(dialog.getByRole("status")).toContainText(`It affects 1 tenant: ${own}`);
    expect(await demo.api("GET", list(demo))).toEqual(before);
    await dialog.getByRole("button", { name: "Announce to 1 tenant" }).click();
    await expect(dialog).toBeHidden();
    const row = page.getByRole("table", { name: "Maintenance" }).getByRole("row", { name: /firmware/ });
    await expect(row).toContainText("planned");
    await expect(page.locator("img[src=x]")).toHaveCount(0);
    await row.getByRole("button", { name: /Why: Affected tenants/ }).click();
    await expect(page.getByRole("dialog", { name: "Why: Affected tenants" })).toContainText(own);
    await page.keyboard.press("Escape");

    const tenant = await newPage();
    await signIn(tenant, "tenant");
    await tenant.goto(notices(demo));
    await ready(tenant);
    const seen = tenant.locator("[data-notices]");
    await expect(seen.getByRole("row", { name: /firmware/ })).toContainText("planned");
    await expect(seen).toContainText("<img src=x onerror=alert(1)>");
    await expect(tenant.locator("img[src=x]")).toHaveCount(0);
    await expect(tenant.locator("main")).toContainText("maintenance was announced from");
    await expectAccessible(tenant);

    await row.getByRole("button", { name: /^Change maintenance of/ }).click();
    await dialog.getByLabel("Text in English").fill("Switches get new firmware");
    await dialog.getByRole("button", { name: "Preview" }).click();
    await dialog.getByRole("button", { name: "Change for 1 tenant" }).click();
    await expect(dialog).toBeHidden();
    await expect(seen.getByRole("row", { name: /Switches get/ })).toBeVisible(); // by the event of the stream

    await page
      .getByRole("row", { name: /Switches get/ })
      .getByRole("button", { name: /^Cancel maintenance of/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel maintenance" }).click();
    await expect(page.getByRole("dialog")).toBeHidden();
    await expect(seen.getByRole("row", { name: /Switches get/ })).toContainText("canceled");
  } finally {
    await cancelAll(demo);
  }
});

test("two operators change one announcement: the second merges by field, and no change is lost (F10)", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 412/); // the browser's own line
  try {
    const later = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const first = {
      starts_at: later(2),
      ends_at: later(4),
      text: { en: "Cables are replaced", zh: "更换线缆" },
      scope: {},
    };
    const { id } = await demo.api<Maintenance>("POST", list(demo), first);
    await signIn(page, "operator");
    await openConsole(page, demo);
    await page
      .getByRole("row", { name: /Cables are/ })
      .getByRole("button", { name: /^Change maintenance of/ })
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Text in English").fill("Cables of leaf1 are replaced");
    const other = { ...first, text: { en: "Optics are replaced", zh: "更换光模块" } };
    await demo.api("PUT", `${list(demo)}/${id}`, other, { "If-Match": "*" });
    await dialog.getByRole("button", { name: "Preview" }).click();
    const merge = dialog.locator("[data-merge]");
    await expect(merge).toContainText("Text in Chinese"); // taken over
    await expect(dialog.getByLabel("Text in Chinese")).toHaveValue("更换光模块");
    await expect(dialog.getByRole("button", { name: "Preview" })).toBeDisabled();
    await merge.getByRole("radio", { name: /^Yours/ }).check();
    await dialog.getByRole("button", { name: "Preview" }).click();
    await dialog.getByRole("button", { name: /^Change for/ }).click();
    await expect(dialog).toBeHidden();
    const { text } = await demo.api<Maintenance>("GET", `${list(demo)}/${id}`);
    expect(text).toEqual({ en: "Cables of leaf1 are replaced", zh: "更换光模块" });
  } finally {
    await cancelAll(demo);
  }
});

test("maintenance of others is not seen, and a text with a tenant's name is refused", async ({
  page,
  demo,
  signIn,
  guards,
}) => {
  guards.allow(/status of 422/); // the refusal
  const hour = (n: number) => new Date(Date.now() + n * 3_600_000).toISOString();
  try {
    await demo.api("POST", list(demo), {
      starts_at: hour(1),
      ends_at: hour(2),
      text: { en: "Silent work elsewhere" },
      scope: { tenants: ["silver"] },
    });
    await signIn(page, "operator");
    await openConsole(page, demo);
    await page.getByRole("button", { name: "Announce maintenance" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Text in English").fill("The hosts of silver are moved");
    await dialog.getByRole("button", { name: "Preview" }).click();
    await expect(dialog.getByRole("alert")).toContainText("contains the name of tenant silver");
    await page.context().clearCookies();
    await signIn(page, "tenant");
    await page.goto(notices(demo));
    await ready(page);
    const seen = page.locator("[data-notices]");
    await expect(seen.getByRole("table").or(seen.getByText("No maintenance that affects your tenant"))).toBeVisible();
    await expect(seen).not.toContainText("elsewhere");
  } finally {
    await cancelAll(demo);
  }
});
