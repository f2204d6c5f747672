import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Language } from ".";
import { loadTemplates, marked, type Phrase, plain, say } from "./say";

type Golden = { said: Phrase; texts: Record<Language, string> };
const golden: Golden[] = JSON.parse(readFileSync("test/sentences.golden.json", "utf8"));

describe.each<Language>(["en", "zh"])("sentences of the service in %s", (language) => {
  it.each(golden.map((g) => [g.said.id, g] as const))("%s reads as the service writes it", async (_, g) => {
    expect(plain(say(await loadTemplates(language), language, g.said, "unknown"))).toBe(g.texts[language]);
  });
});

it("marks what a sentence quotes in English", async () => {
  const said = { id: "device.reading", params: { reason: { id: "quoted", params: { text: "no response" } } } };
  expect(marked(say(await loadTemplates("zh"), "zh", said, ""))).toEqual([
    { text: "读取：", quoted: false },
    { text: "no response", quoted: true },
  ]);
  expect(marked(say(await loadTemplates("en"), "en", said, ""))).toEqual([
    { text: "read: no response", quoted: false },
  ]);
});

describe("a sentence that cannot be worded", () => {
  it.each([
    ["is missing", undefined],
    ["has no template here", { id: "of.a-later-release" }],
    ["lacks a value", { id: "plan.as-entitled", params: { tenant: "gold" } }],
    ["is no sentence", "text"],
  ])("that %s leaves the English text", async (_, said) => {
    expect(say(await loadTemplates("zh"), "zh", said, "as it came")).toBe("as it came");
  });

  it("whose id is the name of a method leaves the English text", async () => {
    expect(say(await loadTemplates("en"), "en", { id: "constructor" }, "as it came")).toBe("as it came");
  });

  it("rounds halves as the service does", async () => {
    const said = { id: "verbatim", params: { text: { bps: 1_062_500 } } };
    expect(say(await loadTemplates("en"), "en", said, "")).toBe("1.062 Mbit/s");
  });

  it("that is nested 20,000 deep ends", async () => {
    let deep: unknown = "end";
    for (let i = 0; i < 20_000; i++) deep = { id: "verbatim", params: { text: deep } };
    expect(say(await loadTemplates("en"), "en", deep, "x")).toBe("");
  });

  it("that refers to itself a thousand times ends", async () => {
    let deep: unknown = "end";
    for (let i = 0; i < 30; i++) deep = { id: "joined", params: { first: deep, second: deep } };
    expect(say(await loadTemplates("en"), "en", deep, "").length).toBeGreaterThan(0);
  });
});
