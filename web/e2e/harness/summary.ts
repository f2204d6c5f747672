import { existsSync, readdirSync } from "node:fs";
import { relative } from "node:path";
import type { FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { results } from "./places";

/** Ends the output with the counts, the failed and slowest tests, and the places of what they left. */
export default class Summary implements Reporter {
  private readonly ran: { name: string; result: TestResult; notes: TestCase["annotations"] }[] = [];

  onTestEnd(test: TestCase, result: TestResult) {
    this.ran.push({ name: test.titlePath().slice(2).join(" › "), result, notes: test.annotations });
  }

  onEnd(end: FullResult) {
    const count = (status: TestResult["status"]) => this.ran.filter((r) => r.result.status === status).length;
    const lines = [
      `browser tests: ${end.status}, ${count("passed")} passed, ${count("failed")} failed, ${count("timedOut")} timed out, ${count("skipped")} skipped, ${(end.duration / 1000).toFixed(0)} s`,
    ];
    for (const { name, result } of this.ran) {
      if (result.status !== "failed" && result.status !== "timedOut") continue;
      lines.push(`  ${result.status}: ${name}`);
      for (const a of result.attachments) if (a.path) lines.push(`    ${relative(".", a.path)}`);
    }
    for (const { name, notes } of this.ran)
      for (const n of notes) lines.push(`  ${n.type}: ${n.description} (${name})`);
    const slow = this.ran.filter((r) => r.result.duration > 5000).sort((a, b) => b.result.duration - a.result.duration);
    for (const { name, result } of slow.slice(0, 5)) lines.push(`  ${(result.duration / 1000).toFixed(1)} s: ${name}`);
    const screens = `${results}/screens`;
    if (existsSync(screens)) lines.push(`  ${readdirSync(screens).length} screenshots in ${relative(".", screens)}`);
    process.stdout.write(`\n${lines.join("\n")}\n`);
  }

  printsToStdio() {
    return true;
  }
}
