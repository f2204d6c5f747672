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

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Modules `messages:LANG`: the templates of the service's own sentences (internal/i18n/catalogue), by id. */
function messages(): Plugin {
  const prefix = "messages:";
  return {
    name: "fairlane-messages",
    resolveId: (id) => (id.startsWith(prefix) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(`\0${prefix}`)) return undefined;
      const path = here(`../internal/i18n/catalogue/messages.${id.slice(prefix.length + 1)}.yaml`);
      this.addWatchFile(path);
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(parse(readFileSync(path, "utf8"))))});`;
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
