/** Most names that a set may stand for: the service admits a tenant with at most 1,000 ports. */
const mostPorts = 1000;

/**
 * The names behind what was typed: names, and sets such as `host-[001-004,007]`, separated by commas or spaces. A range keeps the
 * leading zeros of its first number. Returns undefined for a set that cannot be read or that stands for too many names.
 */
export function expandPorts(texts: string[]): string[] | undefined {
  const out = new Set<string>();
  for (const text of texts.flatMap(splitNames)) {
    const names = expand(text);
    if (!names) return undefined;
    for (const name of names) out.add(name);
    if (out.size > mostPorts) return undefined;
  }
  return [...out];
}

/** Splits at commas and spaces outside of brackets. */
export function splitNames(text: string): string[] {
  return text
    .split(/[\s,]+(?![^[\]]*\])/)
    .map((s) => s.trim())
    .filter(Boolean);
}

function expand(text: string): string[] | undefined {
  const set = /^([^[\]]*)\[([^[\]]*)\](.*)$/.exec(text);
  if (!set) return /[[\]]/.test(text) ? undefined : [text];
  const [, before = "", inside = "", after = ""] = set;
  const tails = expand(after);
  const numbers = inside.split(",").map((part) => numbersOf(part.trim()));
  if (!tails || numbers.length === 0 || numbers.some((n) => n === undefined)) return undefined;
  const heads = numbers.flatMap((n) => n ?? []);
  if (heads.length * tails.length > mostPorts) return undefined;
  return heads.flatMap((n) => tails.map((tail) => `${before}${n}${tail}`));
}

function numbersOf(part: string): string[] | undefined {
  const range = /^(\d+)-(\d+)$/.exec(part);
  if (!range) return /^\w+$/.test(part) ? [part] : undefined;
  const [, first = "", last = ""] = range;
  const [from, to] = [Number(first), Number(last)];
  if (!(to >= from) || to - from >= mostPorts) return undefined;
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i).padStart(first.length, "0"));
}
