import { use, useCallback, useEffect } from "react";
import { type Language, useLanguage } from ".";
import { fill, names } from "./fill";

/** A sentence of the service: the id of its template and the values for it (Phrase of the contract). */
export type Phrase = { id: string; params?: Record<string, unknown> };

/** The templates of a language, by id. */
export type Templates = Record<string, string>;

const loads = new Map<Language, Promise<Templates>>();
const loaded = new Map<Language, Templates>();

/** Loads the templates of a language once. */
export function loadTemplates(language: Language): Promise<Templates> {
  let load = loads.get(language);
  if (!load) {
    load = (language === "zh" ? import("messages:zh") : import("messages:en")).then((m) => {
      loaded.set(language, m.default);
      return m.default;
    });
    loads.set(language, load);
    load.catch(() => loads.delete(language)); // the next page that needs them tries again
  }
  return load;
}

/**
 * Loads the templates of the reader's language beforehand: without them, the first problem or finding would hide the whole
 * page for a moment, and take the focus from the form that caused it.
 */
export function usePreloadedTemplates() {
  const language = useLanguage();
  useEffect(() => void loadTemplates(language).catch(() => undefined), [language]);
}

/**
 * Characters around what a sentence quotes in English (the sentence `quoted`, which is no quotation in English): the isolates of
 * Unicode, which no page shows. `ui/Said` makes quotations of them.
 */
const [quoteStart, quoteEnd] = ["\u2068", "\u2069"];
const quotations = new RegExp(`(${quoteStart}[^${quoteEnd}]*${quoteEnd})`);

/** The parts of a text of `say` in their order: what it quotes in English, without its quotation marks, and the rest. */
export function marked(text: string): { text: string; quoted: boolean }[] {
  return text
    .split(quotations)
    .filter((part) => part !== "")
    .map((part) =>
      part.startsWith(quoteStart)
        ? { text: plain(part).replace(/^“|”$/g, ""), quoted: true }
        : { text: plain(part), quoted: false },
    );
}

/** A text of `say` without the marks of quotations, for files. */
export const plain = (text: string) => text.replaceAll(quoteStart, "").replaceAll(quoteEnd, "");

/** `say(phrase, english)`: the sentence in the reader's language; the English text where its template is unknown. */
export function useSay(): (phrase: unknown, english: string) => string {
  const language = useLanguage();
  const templates = loaded.get(language) ?? use(loadTemplates(language));
  return useCallback((phrase, english) => say(templates, language, phrase, english), [templates, language]);
}

/** Words a sentence with templates. */
export function say(templates: Templates, language: Language, phrase: unknown, english: string): string {
  return isPhrase(phrase) && known(templates, phrase) ? new Writer(templates, language).text(phrase) : english;
}

function isPhrase(value: unknown): value is Phrase {
  return typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";
}

function known(templates: Templates, phrase: Phrase): boolean {
  const template = textOf(templates, phrase.id);
  return template !== undefined && names(template).every((name) => phrase.params && name in phrase.params);
}

function textOf(templates: Templates, id: string): string | undefined {
  return Object.hasOwn(templates, id) ? templates[id] : undefined;
}

/** Fairlane's sentences need less than a hundredth of these parts; one from elsewhere may be built to double. */
const maxParts = 10_000;

/** The deepest nesting that the service decodes (internal/phrase). */
const maxDepth = 32;

class Writer {
  private left = maxParts;
  private depth = 0;

  constructor(
    private readonly templates: Templates,
    private readonly language: Language,
  ) {}

  text(phrase: Phrase): string {
    if (this.left === 0 || this.depth === maxDepth || phrase.id === "") return "";
    this.left--;
    this.depth++;
    const text = this.quoted(phrase.id, this.filled(phrase));
    this.depth--;
    return text;
  }

  private quoted(id: string, text: string): string {
    return id === "quoted" && this.language !== "en" ? quoteStart + plain(text) + quoteEnd : text;
  }

  private filled(phrase: Phrase): string {
    const template = this.templates[phrase.id];
    const params = phrase.params ?? {};
    if (template === undefined) {
      const values = Object.keys(params)
        .sort()
        .map((name) => `${name}: ${this.value(params[name])}`);
      return values.length ? `${phrase.id} (${values.join(", ")})` : phrase.id;
    }
    return fill(
      template,
      (id) => textOf(this.templates, id),
      (name) => (name in params ? this.value(params[name]) : undefined),
    );
  }

  private value(value: unknown): string {
    if (typeof value === "string") return value.replaceAll("\n", "; ");
    if (typeof value === "number") return String(value);
    if (Array.isArray(value)) return value.map(String).join(this.language === "zh" ? "、" : ", ");
    if (isPhrase(value)) return this.text(value);
    if (typeof value !== "object" || value === null) return String(value);
    if ("texts" in value && Array.isArray(value.texts)) {
      const join = "join" in value && typeof value.join === "string" && value.join ? value.join : "list.semicolon";
      return value.texts
        .filter(isPhrase)
        .map((t) => this.text(t))
        .join(this.templates[join] ?? "; ");
    }
    if ("bps" in value) return scaled(Number(value.bps), rates);
    if ("ps" in value) return scaled(Number(value.ps), times);
    if ("percent" in value) return `${Number(value.percent)} %`;
    return JSON.stringify(value);
  }
}

const rates: [number, string][] = [
  [1e12, "Tbit/s"],
  [1e9, "Gbit/s"],
  [1e6, "Mbit/s"],
  [1e3, "kbit/s"],
  [1, "bit/s"],
];
const times: [number, string][] = [
  [1e12, "s"],
  [1e9, "ms"],
  [1e6, "us"],
  [1e3, "ns"],
  [1, "ps"],
];

/** A quantity in the largest unit that it reaches, with up to three decimals, as the service writes it (internal/quantity). */
function scaled(n: number, units: [number, string][]): string {
  const size = Math.abs(n);
  const [divisor, unit] = units.find(([d]) => size >= d) ?? units[units.length - 1] ?? [1, ""];
  return `${n < 0 ? "-" : ""}${thousandths(size / divisor)} ${unit}`;
}

/** Rounded to three decimals, an exact half to the even one, as Go does. */
function thousandths(value: number): number {
  const low = Math.floor(value * 1000);
  const half = value * 1000 - low === 0.5;
  return (half ? low + (low % 2) : Math.round(value * 1000)) / 1000;
}
