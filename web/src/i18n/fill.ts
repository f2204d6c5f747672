// Templates of the service's catalogue (internal/i18n/catalogue): {name}, {name@set} and {name:one|other}.

const slot = /\{([a-z0-9_-]+)(?:@([a-z0-9_-]+)|:([^|}]*)\|([^|}]*))?\}/g;

/**
 * The template with its values; {name@set} stands for the word of a value, the text `word.SET.VALUE`. Braces that name no value stay.
 * Chinese gets a space beside Latin words and none beside Chinese.
 */
export function fill(
  template: string,
  textOf: (id: string) => string | undefined,
  valueFor: (name: string) => string | undefined,
): string {
  let out = "";
  let from = 0;
  for (const m of template.matchAll(slot)) {
    out = meet(out, template.slice(from, m.index), false);
    from = m.index + m[0].length;
    const value = valueFor(m[1] ?? "");
    if (value === undefined) out += m[0];
    else if (m[3] !== undefined) out += value === "1" ? m[3] : m[4];
    else out = meet(out, (m[2] && textOf(`word.${m[2]}.${value}`)) ?? value, true);
  }
  return meet(out, template.slice(from), false);
}

/** The names of a template's values. */
export function names(template: string): string[] {
  return [...new Set([...template.matchAll(slot)].map((m) => m[1] ?? ""))];
}

const han = /^\p{Script=Han}$/u;
const isHan = (c: string) => han.test(c);
const isChinese = (c: string) => isHan(c) || /^[\u3000-\u303f\uff00-\uffef]$/u.test(c);
const isLatin = (c: string) => /^[A-Za-z0-9]$/.test(c);
const last = (s: string) => Array.from(s.slice(-2)).at(-1) ?? "";
const first = (s: string) => String.fromCodePoint(s.codePointAt(0) ?? 0);

function meet(out: string, part: string, isValue: boolean): string {
  if (out === "" || part === "") return out + part;
  const left = last(out);
  const right = first(part);
  if (left === " " && isValue && isChinese(right))
    return isChinese(last(out.slice(0, -1))) ? out.slice(0, -1) + part : out + part;
  if (right === " " && !isValue && isChinese(left))
    return part.length > 1 && isChinese(first(part.slice(1))) ? out + part.slice(1) : out + part;
  if ((isValue && isHan(left) && isLatin(right)) || (!isValue && isLatin(left) && isHan(right)))
    return `${out} ${part}`;
  return out + part;
}
