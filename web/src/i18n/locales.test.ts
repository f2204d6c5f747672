import { readdirSync, readFileSync } from "node:fs";
import IntlMessageFormat from "intl-messageformat";
import { describe, expect, it } from "vitest";

const folder = "src/i18n/locales";
const namespaces = readdirSync(`${folder}/en`);
const read = (language: string, name: string): Record<string, string> =>
  JSON.parse(readFileSync(`${folder}/${language}/${name}`, "utf8"));

/** The names of a message's values. Chinese may write a number plainly where English counts. */
function values(message: string): string[] {
  const out = new Set<string>();
  const walk = (parts: ReturnType<IntlMessageFormat["getAst"]>) => {
    for (const part of parts) {
      if (part.type === 0 || part.type === 7) continue;
      if ("value" in part) out.add(String(part.value));
      if ("options" in part) for (const option of Object.values(part.options)) walk(option.value);
      if ("children" in part) walk(part.children);
    }
  };
  walk(new IntlMessageFormat(message, "en").getAst());
  return [...out].sort();
}

describe("catalogues", () => {
  it("have the same files", () => expect(readdirSync(`${folder}/zh`)).toEqual(namespaces));

  it.each(namespaces)("of %s have the same keys and values", (name) => {
    const [en, zh] = [read("en", name), read("zh", name)];
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    for (const [key, message] of Object.entries(en)) expect(values(zh[key] ?? ""), key).toEqual(values(message));
  });

  it.each(namespaces)("of %s write Chinese as the service does", (name) => {
    for (const [key, message] of Object.entries(read("zh", name))) {
      if (key.startsWith("formula.")) continue; // notation, the same in every language but for its words
      expect(message, `${key}: full-width marks after Chinese`).not.toMatch(/\p{Script=Han}[,;:!?()]/u);
      expect(message, `${key}: a space between Chinese and Latin`).not.toMatch(
        /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u,
      );
      expect(message, `${key}: no space beside full-width marks`).not.toMatch(
        /[，。；：！？（）、] | [，。；：！？（）、]/u,
      );
      expect(message, `${key}: the service's terms (internal/i18n/wording_test.go)`).not.toMatch(
        /漂移|回滚|已确认|金丝雀|批次/,
      );
      expect(message, `${key}: no space between Chinese characters`).not.toMatch(/\p{Script=Han} +\p{Script=Han}/u);
    }
  });

  it("count in both languages", () => {
    const one = (language: string, n: number) =>
      new IntlMessageFormat(read(language, "shell.json")["palette-count"] ?? "", language).format({ n });
    expect([one("en", 1), one("en", 2), one("zh", 2)]).toEqual(["1 match", "2 matches", "2 项匹配"]);
  });
});
