import { type BrowserContext, expect, type Request } from "@playwright/test";
import { ownOrigins } from "./service";

/** Watches contexts for what no page may do: errors in the console, uncaught exceptions, violations of the policy, requests to other origins. */
export class Guards {
  private readonly found: string[] = [];
  private readonly allowed: RegExp[] = [];
  private over = false;

  /** Expects errors that match, such as the browser's line for an answer 503 that the test caused. */
  allow(...patterns: RegExp[]) {
    this.allowed.push(...patterns);
  }

  async watch(context: BrowserContext) {
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (e) => {
        // biome-ignore lint/suspicious/noConsole: how a page reports to the guards
        console.error(
          `policy violation: ${e.effectiveDirective} blocked ${e.blockedURI || "inline"} at ${e.sourceFile}:${e.lineNumber}`,
        );
      });
    });
    context.on("console", (message) => {
      if (message.type() !== "error") return;
      const { url, lineNumber } = message.location();
      if (url.endsWith("/favicon.ico")) return; // browsers request it by themselves for a page that names no icon
      // How pages learn that the reader is not signed in.
      if (/status of 401/.test(message.text()) && new URL(url).pathname.startsWith("/api/")) return;
      this.note(`console error: ${message.text()} (${url}:${lineNumber})`);
    });
    context.on("weberror", (e) => this.note(`uncaught exception: ${e.error().stack ?? e.error().message}`));
    context.on("request", (request) => this.checkOrigin(request));
  }

  /** Everything that was not allowed. */
  violations(): string[] {
    return this.found.filter((text) => !this.allowed.some((pattern) => pattern.test(text)));
  }

  /** Ends the watch: what a fixture started goes away, and pages that are still open lose their connections. */
  end() {
    this.over = true;
  }

  private note(text: string) {
    if (!this.over && !this.found.includes(text)) this.found.push(text);
  }

  private checkOrigin(request: Request) {
    const { protocol, origin } = new URL(request.url());
    if (protocol === "data:" || protocol === "blob:" || ownOrigins.has(origin)) return;
    this.note(`request to another origin: ${request.url()}`);
  }
}

/** The fixture of guards: fails the test on errors in any page that they watch. */
// biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern
export async function guarded({}: object, use: (guards: Guards) => Promise<void>) {
  const guards = new Guards();
  await use(guards);
  expect(guards.violations().join("\n"), "errors in pages").toBe("");
}
