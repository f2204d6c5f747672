import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { parse } from "yaml";
import { wordsOf } from "./tools/words.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Modules `messages:LANG`: the templates of the service's own sentences (internal/i18n/catalogue), by id. Modules `words:LANG`: the words
 * among them for states and the like, by SET.VALUE.
 */
function messages(): Plugin {
  const form = /^\0?(messages|words):([a-z]+)$/;
  return {
    name: "fairlane-messages",
    resolveId: (id) => (form.test(id) ? `\0${id}` : undefined),
    load(id) {
      const [, what, language] = form.exec(id) ?? [];
      if (!what || !language) return undefined;
      const path = here(`../internal/i18n/catalogue/messages.${language}.yaml`);
      this.addWatchFile(path);
      const texts: Record<string, string> = parse(readFileSync(path, "utf8"));
      const exported = what === "words" ? wordsOf(texts) : texts;
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(exported))});`;
    },
  };
}

/**
 * A script that the browser runs before it paints, since modules run after it: without it, a saved theme that differs from the system's
 * shows the other ground for a moment.
 */
function savedTheme(): Plugin {
  const source = `try {
  const theme = localStorage.getItem("fairlane.theme");
  if (theme === "light" || theme === "dark") document.querySelector("meta[name=color-scheme]").content = theme;
} catch {}
`;
  const fileName = `assets/theme-${createHash("sha256").update(source).digest("hex").slice(0, 8)}.js`;
  return {
    name: "fairlane-saved-theme",
    apply: "build",
    generateBundle() {
      this.emitFile({ type: "asset", fileName, source });
    },
    transformIndexHtml: () => [{ tag: "script", attrs: { src: `/${fileName}` }, injectTo: "head" }],
  };
}

/** Writes NAME.gz and NAME.br beside every text file, for the server to send as they are: after Vite's last change to them. */
function precompressed(): Plugin {
  return {
    name: "fairlane-precompressed",
    apply: "build",
    async writeBundle({ dir }, bundle) {
      const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
      for (const name of Object.keys(bundle)) {
        if (!dir || !/\.(js|css|svg|json)$/.test(name)) continue;
        const path = join(dir, name);
        const source = await readFile(path);
        await writeFile(`${path}.gz`, await promisify(gzip)(source, { level: 9 }));
        await writeFile(`${path}.br`, await promisify(brotliCompress)(source, brotli));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), messages(), savedTheme(), precompressed()],
  base: "/",
  publicDir: false,
  build: {
    target: "es2023",
    outDir: "dist",
    emptyOutDir: false, // the placeholder stays; tools/clean.mjs removes the rest
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "assets/manifest.json",
    rollupOptions: { input: { console: here("console.html"), portal: here("portal.html") } },
  },
  test: {
    environment: "happy-dom",
    env: { TZ: "Asia/Shanghai" }, // local times differ from UTC
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
  },
});
