import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FreshService, ownOrigins } from "./harness/service";
import { expect, expectAccessible, test } from "./harness/test";

const source = fileURLToPath(new URL("../../tools/oidcserver", import.meta.url));

/** Builds and starts the provider of tools/oidcserver, and returns its issuer. */
async function startProvider(dir: string, redirect: string): Promise<{ issuer: string; process: ChildProcess }> {
  const path = join(dir, "oidcserver");
  const built = spawnSync("go", ["build", "-o", path, "."], { cwd: source, encoding: "utf8" });
  if (built.error) throw new Error(`this test needs Go to build tools/oidcserver: ${built.error.message}`);
  if (built.status !== 0) throw new Error(`build tools/oidcserver: ${built.stderr}`);
  const child = spawn(path, ["-redirect", redirect], { stdio: ["pipe", "pipe", "inherit"] });
  const issuer = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (line: Buffer) => resolve(line.toString().trim()));
    child.once("exit", () => reject(new Error("the provider ended")));
  });
  ownOrigins.add(new URL(issuer).origin);
  return { issuer, process: child };
}

test("a tenant signs in at the provider of its organisation", async ({ page, guards }, info) => {
  test.setTimeout(180_000);
  guards.allow(/status of 401/);
  const dir = mkdtempSync(join(tmpdir(), "fairlane-e2e-oidc-"));
  let provider: Awaited<ReturnType<typeof startProvider>> | undefined;
  const service = await FreshService.create(`service-${info.testId}`, async (url) => {
    provider = await startProvider(dir, `${url}/api/v1/sign-in/oidc/callback`);
    writeFileSync(join(dir, "secret"), "client-secret\n", { mode: 0o600 });
    return [
      `public_url: ${url}`,
      "oidc:",
      `  issuer: ${provider.issuer}`,
      "  client_id: fairlane",
      `  client_secret_file: ${join(dir, "secret")}`,
      "  name: staff",
      "  roles: [red-team=tenant-admin@lab/red]",
    ];
  });
  try {
    await service.api("POST", "/fabrics", { name: "lab", source: "ibsim:unix:star" });
    await service.api("POST", "/fabrics/lab/tenants", { name: "red", weight: 1 });
    await page.goto(`${service.url}/portal/`);
    await expect(page.getByRole("link", { name: "Sign in with staff" })).toBeVisible();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Sign in with staff" }).click();
    await page.waitForURL(/login\/username/);
    const { issuer } = provider as unknown as { issuer: string };
    const id = new URL(page.url()).searchParams.get("authRequestID") ?? "";
    const form = { id, username: "rob", password: "secret-rob" };
    const answer = await page.request.post(new URL("login/username", issuer).href, { form, maxRedirects: 0 });
    await page.goto(new URL(answer.headers().location ?? "", issuer).href);
    await expect(page).toHaveURL(`${service.url}/portal/f/lab/t/red/share`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("red · My share");
    const links = page.getByRole("navigation", { name: "Navigation" }).getByRole("link");
    await expect(links).toHaveCount(6);
    await page.getByRole("link", { name: "Members and tokens" }).click();
    await expect(page.getByRole("tab", { name: "Password" })).toHaveCount(0); // the provider has it
  } finally {
    await page.close(); // it would report the end of the service
    await service.remove();
    provider?.process.stdin?.end();
    rmSync(dir, { recursive: true, force: true });
  }
});
