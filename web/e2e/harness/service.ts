import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Page } from "@playwright/test";
import { program, results } from "./places";

export type SignIn = { user: string; password: string; tenant?: string };

/** Origins of what this worker started: pages may request nothing from others. */
export const ownOrigins = new Set<string>();

/** A free TCP port of this machine. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** A process of the program, with its output in results/logs. */
class Process {
  private child: ChildProcess | undefined;
  private tail = "";

  constructor(
    private readonly name: string,
    private readonly args: string[],
    private readonly dir: string,
  ) {}

  start() {
    mkdirSync(`${results}/logs`, { recursive: true });
    const log = createWriteStream(`${results}/logs/${this.name}.log`, { flags: "a" });
    const child = spawn(program, this.args, {
      cwd: this.dir,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, FAIRLANE_LANG: "en" },
    });
    for (const out of [child.stdout, child.stderr]) {
      out.on("data", (bytes: Buffer) => {
        log.write(bytes);
        this.tail = (this.tail + bytes.toString()).slice(-4000);
      });
    }
    const last = () => child.kill("SIGKILL"); // of a worker that ends without its fixtures
    process.on("exit", last);
    child.on("exit", () => {
      process.off("exit", last);
      log.end();
      if (this.child === child) this.child = undefined;
    });
    this.child = child;
  }

  /** Waits until a check succeeds. Fails when the process ends, or after `limit` milliseconds. */
  async until<T>(what: string, limit: number, check: () => Promise<T | undefined> | T | undefined): Promise<T> {
    for (const end = Date.now() + limit; Date.now() < end; await wait(50)) {
      if (!this.child) throw new Error(`${program} ${this.args[0]} ended:\n${this.tail}`);
      const got = await check();
      if (got !== undefined) return got;
    }
    throw new Error(`no ${what} of ${program} ${this.args[0]} after ${limit / 1000} s:\n${this.tail}`);
  }

  /** Ends the process: by SIGTERM, or at once by SIGKILL. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM") {
    const { child } = this;
    if (!child) return;
    const gone = new Promise<void>((resolve) => child.on("exit", () => resolve()));
    child.kill(signal);
    const limit = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await gone;
    clearTimeout(limit);
  }
}

/** The fields of a tenant that a change replaces. */
type TenantFields = {
  name: string;
  weight: number;
  guarantee_bps: number;
  cap_bps: number;
  pkey: string;
  classes: { name: string; weight: number }[];
  attachments: { port: string; sl?: number }[];
};

type TenantAnswer = TenantFields & { version: number; created_at: string; updated_at: string };

/** Tenants and flows of a fabric. */
export type Declared = { tenants: TenantFields[]; flows: Record<string, unknown>[] };

/** A tenant of an answer, without what a request must not contain. */
function accepted({ version: _, created_at: __, updated_at: ___, attachments, ...kept }: TenantAnswer): TenantFields {
  return { ...kept, attachments: attachments.map(({ port, sl }) => ({ port, ...(sl === undefined ? {} : { sl }) })) };
}

/** A running service: its address, and requests to its API outside of any browser. */
export abstract class Service {
  abstract readonly url: string;
  /** An administrator's token. */
  abstract readonly token: string;

  /** Sends a request with the administrator's token. Throws when the answer is not 2xx. */
  async api<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** What is declared on a fabric: its tenants and flows, as the service accepts them back. */
  async declared(fabric: string): Promise<Declared> {
    const { items } = await this.api<{ items: TenantAnswer[] }>("GET", `/fabrics/${fabric}/tenants`);
    const { flows } = await this.api<{ flows: Record<string, unknown>[] }>("GET", `/fabrics/${fabric}/flows`);
    return {
      tenants: items.map(accepted),
      flows: flows.map(({ src_name: _, dst_name: __, ...flow }) => flow),
    };
  }

  /** Replaces everything that is declared on a fabric. */
  async declare(fabric: string, declared: Declared) {
    await this.api("PUT", `/fabrics/${fabric}/tenants?prune=true`, declared, { "If-Match": "*" });
  }

  /** Changes fields of a tenant and keeps the others. */
  async changeTenant(fabric: string, tenant: string, fields: Partial<TenantFields>) {
    const path = `/fabrics/${fabric}/tenants/${tenant}`;
    const { name: _, ...kept } = accepted(await this.api<TenantAnswer>("GET", path));
    await this.api("PUT", path, { ...kept, ...fields }, { "If-Match": "*" });
  }

  /** Gives the page's browser context a session, without a form. `at` is the origin to sign in at: the service's, or a proxy's. */
  async signIn(page: Page, who: SignIn, at = this.url) {
    const response = await page.request.post(`${at}/api/v1/sign-in`, {
      data: { name: who.user, password: who.password },
    });
    if (!response.ok()) throw new Error(`sign-in of ${who.user}: ${response.status()} ${await response.text()}`);
  }

  protected async ready(): Promise<true | undefined> {
    const response = await fetch(`${this.url}/api/v1/ready`).catch(() => undefined);
    return response?.ok ? true : undefined;
  }
}

/** `fairlane demo`: a live simulated fabric with tenants, a plan in force, an operator and a tenant's administrator. */
export class Demo extends Service {
  url = "";
  token = "";
  fabric = "";
  operator: SignIn = { user: "", password: "" };
  tenant: SignIn = { user: "", password: "" };
  private readonly dir = mkdtempSync(join(tmpdir(), "fairlane-e2e-"));
  private readonly file = join(this.dir, "sign-ins.json");
  private readonly process: Process;

  constructor(name: string, args: string[] = []) {
    super();
    this.process = new Process(name, ["demo", "--listen", "127.0.0.1:0", "--sign-ins", this.file, ...args], this.dir);
  }

  async start() {
    const signIns = await this.begin().catch((cause: unknown) => {
      // The demo measures shares in real time, and ends when the machine was too busy for that.
      if (!/bound missed/.test(String(cause))) throw cause;
      return this.begin();
    });
    Object.assign(this, signIns);
    ownOrigins.add(this.url);
    await this.process.until("answer", 30_000, () => this.ready());
  }

  private begin() {
    this.process.start();
    return this.process.until("sign-ins", 80_000, () => {
      try {
        return JSON.parse(readFileSync(this.file, "utf8")) as { url: string };
      } catch {
        return undefined; // not yet, or not yet all of it
      }
    });
  }

  async stop() {
    await this.process.stop();
    ownOrigins.delete(this.url);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** `fairlane serve` on an empty store, with an administrator and an operator of the installation. */
export class FreshService extends Service {
  readonly admin: SignIn = { user: "first-admin", password: "browser-test-admin" };
  readonly operator: SignIn = { user: "first-operator", password: "browser-test-operator" };
  readonly token = `e2e-${crypto.randomUUID()}`;
  readonly url: string;
  private readonly dir = mkdtempSync(join(tmpdir(), "fairlane-e2e-"));
  private readonly process: Process;

  private constructor(name: string, port: number, settings: string[]) {
    super();
    this.url = `http://127.0.0.1:${port}`;
    writeFileSync(join(this.dir, "admin.token"), `${this.token}\n`, { mode: 0o600 });
    const config = [
      `listen: 127.0.0.1:${port}`,
      `database: ${this.store}`,
      `admin_token_file: ${join(this.dir, "admin.token")}`,
      ...settings,
    ];
    writeFileSync(join(this.dir, "fairlane.yaml"), `${config.join("\n")}\n`);
    this.process = new Process(name, ["serve", "--config", join(this.dir, "fairlane.yaml")], this.dir);
  }

  /** Starts a service; `settings` gives further lines of its configuration, by its address. */
  static async create(name: string, settings?: (url: string) => Promise<string[]>): Promise<FreshService> {
    const port = await freePort();
    const service = new FreshService(name, port, (await settings?.(`http://127.0.0.1:${port}`)) ?? []);
    ownOrigins.add(service.url);
    await service.start();
    await service.api("POST", "/users", {
      name: service.admin.user,
      password: service.admin.password,
      roles: [{ role: "fabric-admin" }],
    });
    await service.api("POST", "/users", {
      name: service.operator.user,
      password: service.operator.password,
      roles: [{ role: "operator" }],
    });
    return service;
  }

  /** The file of the store. */
  get store() {
    return join(this.dir, "fairlane.db");
  }

  /** Starts the process, again on the same port and store. */
  async start() {
    this.process.start();
    await this.process.until("answer", 30_000, () => this.ready());
  }

  /** Ends the process, and keeps the store. SIGKILL leaves open requests without an answer. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM") {
    await this.process.stop(signal);
  }

  async remove() {
    await this.stop();
    ownOrigins.delete(this.url);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
