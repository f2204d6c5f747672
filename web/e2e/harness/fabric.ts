import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { results } from "./places";
import type { Service } from "./service";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../../..", import.meta.url));

let built: Promise<string> | undefined;

/** The program of test/simfabric; SIMFABRIC_BIN names one that is built already. */
function simfabric(): Promise<string> {
  built ??= (async () => {
    if (process.env.SIMFABRIC_BIN) return process.env.SIMFABRIC_BIN;
    const path = `${results}/simfabric`;
    await run("go", ["build", "-trimpath", "-o", path, "./test/simfabric"], { cwd: repository });
    return path;
  })();
  return built;
}

/** A second manager sets CCTI_Timer of SL 3 on a host's first port. `address` is what follows "ibsim:" in a fabric's source. */
export async function secondWriter(address: string, host: string, timer: number) {
  await run(await simfabric(), ["write", address, host, String(timer)]);
}

/** A simulated fabric of two leaves with four hosts each, host-001 to host-008, whose nodes a test can turn off and on. */
export class SimFabric {
  private constructor(
    readonly address: string,
    private readonly process: ChildProcess,
    private readonly lines: Interface,
  ) {}

  static async start(name: string): Promise<SimFabric> {
    const child = spawn(await simfabric(), ["serve", name], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const ready = await next(lines);
    return new SimFabric(ready.replace(/^ready /, ""), child, lines);
  }

  /** Creates the fabric at a service, with two tenants on its hosts. */
  async declare(s: Service, name: string) {
    await s.api("POST", "/fabrics", { name, source: `ibsim:${this.address}`, time_scale: 0.001 });
    await s.api("POST", `/fabrics/${name}/discover`);
    const hosts = Array.from({ length: 8 }, (_, i) => `host-00${i + 1}`);
    const tenants = ["red", "blue"].map((name, k) => ({
      name,
      weight: 3 - 2 * k,
      pkey: `0x800${k + 1}`,
      attachments: hosts.filter((_, i) => i % 2 === k).map((port) => ({ port })),
    }));
    const flows = hosts.slice(0, 6).map((src, i) => ({ tenant: i % 2 ? "blue" : "red", src, dst: hosts[6 + (i % 2)] }));
    await s.api("PUT", `/fabrics/${name}/tenants`, { tenants, flows });
  }

  /** The node does not answer. */
  off(node: string) {
    return this.send(`off ${node}`);
  }

  /** The node answers again, with the settings of a restart: congestion control is off. */
  on(node: string) {
    return this.send(`on ${node}`);
  }

  async reboot(node: string) {
    await this.off(node);
    await this.on(node);
  }

  async stop() {
    const gone = new Promise((resolve) => this.process.on("exit", resolve));
    this.process.stdin?.end();
    await gone;
  }

  private async send(command: string) {
    const answer = next(this.lines);
    this.process.stdin?.write(`${command}\n`);
    const got = await answer;
    if (got !== "ok") throw new Error(`${command}: ${got}`);
  }
}

const next = (lines: Interface) => new Promise<string>((resolve) => lines.once("line", resolve));
