import { type BrowserContext, type BrowserContextOptions, test as base, expect, type Page } from "@playwright/test";
import { type Guards, guarded } from "./guards";
import { FaultProxy } from "./proxy";
import { Demo, FreshService, type Service } from "./service";

export { expectAccessible, keep, ready } from "./page";
export type { Fault, FaultProxy, Recorded } from "./proxy";
export type { Demo, FreshService, Service, SignIn } from "./service";
export { expect };

export type Theme = "light" | "dark" | "auto";
export type Language = "en" | "zh";

/** Options of `test.use` and of projects. */
export type Options = {
  /** The saved choice of colours; undefined: none, as at the first visit. Also sets what the system prefers. */
  theme: Theme | undefined;
  /** The saved choice of language; undefined: none. Also sets the browser's language. */
  language: Language | undefined;
};

type Context = Partial<Options> & Pick<BrowserContextOptions, "viewport" | "reducedMotion" | "forcedColors">;

type Fixtures = {
  leftAsFound: undefined;
  /** Fails the test on errors in any page of it. `guards.allow(/pattern/)` expects some. */
  guards: Guards;
  /** Opens a page in a browser context of its own, for a second reader. */
  newPage: (context?: Context) => Promise<Page>;
  /** Signs in at the demo: gives the page's context a session, without a form. `at`: the origin, when not the demo's own, such as a proxy's. */
  signIn: (page: Page, who: "operator" | "tenant", at?: string) => Promise<void>;
  /** A service of this test alone, on an empty store; `stop` and `start` restart it. */
  freshService: FreshService;
  /** Starts a reverse proxy before a service, by default the demo, that causes faults and records answers. */
  startProxy: (target?: Service) => Promise<FaultProxy>;
  /** Starts a proxy before the demo, at which the page is signed in as the operator. */
  proxied: () => Promise<FaultProxy>;
};

const locale = (language: Language | undefined) => (language === "zh" ? "zh-CN" : "en-GB");
const colorScheme = (theme: Theme | undefined) => (theme === "dark" ? ("dark" as const) : ("light" as const));

/** Saves the choices, unless the page has saved others meanwhile. */
async function choose(context: BrowserContext, { theme, language }: Partial<Options>) {
  await context.addInitScript(
    (choices) => {
      for (const [key, value] of Object.entries(choices)) {
        try {
          if (value !== undefined && localStorage.getItem(key) === null) localStorage.setItem(key, value);
        } catch {
          return; // a page without storage, such as about:blank
        }
      }
    },
    { "fairlane.theme": theme, "fairlane.language": language },
  );
}

export const test = base.extend<Fixtures & Options, { demo: Demo }>({
  theme: ["light", { option: true }],
  language: ["en", { option: true }],
  locale: ({ language }, use) => use(locale(language)),
  colorScheme: ({ theme }, use) => use(colorScheme(theme)),

  /** The demo of this worker. Tests leave it as they found it. */
  demo: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern
    async ({}, use, worker) => {
      const demo = new Demo(`demo-${worker.workerIndex}`);
      try {
        await demo.start();
        await use(demo);
      } finally {
        await demo.stop();
      }
    },
    { scope: "worker", timeout: 180_000 },
  ],

  baseURL: ({ demo }, use) => use(demo.url),

  guards: [guarded, { auto: true }],

  /** Fails a test that leaves other tenants or flows at the demo than it found: the tests after it would see them. */
  leftAsFound: [
    async ({ demo }, use) => {
      const before = await demo.declared(demo.fabric);
      await use(undefined);
      expect(await demo.declared(demo.fabric), "tenants and flows of the demo after the test").toEqual(before);
    },
    { auto: true },
  ],

  context: async ({ context, guards, theme, language }, use) => {
    await guards.watch(context);
    await choose(context, { theme, language });
    await use(context);
  },

  newPage: async ({ browser, guards, theme, language, viewport, demo, contextOptions }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async ({ theme: itsTheme = theme, language: itsLanguage = language, ...rest } = {}) => {
      const places = {
        baseURL: demo.url,
        locale: locale(itsLanguage),
        colorScheme: colorScheme(itsTheme),
        timezoneId: "UTC",
      };
      const context = await browser.newContext({ ...contextOptions, viewport, ...places, ...rest });
      contexts.push(context);
      await guards.watch(context);
      await choose(context, { theme: itsTheme, language: itsLanguage });
      return context.newPage();
    });
    for (const context of contexts) await context.close();
  },

  signIn: ({ demo }, use) => use((page, who, at) => demo.signIn(page, demo[who], at)),

  freshService: async ({ guards }, use, test) => {
    const service = await FreshService.create(`service-${test.testId}`);
    try {
      await use(service);
    } finally {
      guards.end();
      await service.remove();
    }
  },

  startProxy: async ({ demo, guards }, use) => {
    const proxies: FaultProxy[] = [];
    await use(async (target = demo) => {
      const proxy = new FaultProxy(target.url);
      proxies.push(proxy);
      await proxy.up();
      return proxy;
    });
    guards.end();
    for (const proxy of proxies) await proxy.down();
  },

  proxied: ({ page, signIn, startProxy }, use) =>
    use(async () => {
      const proxy = await startProxy();
      await signIn(page, "operator", proxy.url);
      return proxy;
    }),
});
