import type { Schemas } from "../../../api/client";

export type Maintenance = Schemas["Maintenance"];

/** What the form holds: times as the browser's fields have them, lists with one name on each line. */
export type Draft = { starts: string; ends: string; en: string; zh: string; tenants: string; places: string };

const two = (n: number) => String(n).padStart(2, "0");

/** A time in the form of a field of date and time, in the reader's time zone. */
export function localOf(at: Date): string {
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A new announcement: from the next full hour but one, for two hours. */
export function newDraft(now: Date): Draft {
  const starts = new Date(now);
  starts.setHours(starts.getHours() + 2, 0, 0, 0);
  const ends = new Date(starts.getTime() + 2 * 3_600_000);
  return { starts: localOf(starts), ends: localOf(ends), en: "", zh: "", tenants: "", places: "" };
}

/** The form of an announcement that exists. */
export function draftOf(m: Maintenance): Draft {
  return {
    starts: localOf(new Date(m.starts_at)),
    ends: localOf(new Date(m.ends_at)),
    en: m.text.en ?? "",
    zh: m.text.zh ?? "",
    tenants: (m.scope.tenants ?? []).join("\n"),
    places: (m.scope.places ?? []).join("\n"),
  };
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** The request of a form; undefined while a time or every text is missing. */
export function requestOf(d: Draft): Schemas["MaintenancePut"] | undefined {
  const [starts, ends] = [new Date(d.starts), new Date(d.ends)];
  if (Number.isNaN(starts.getTime()) || Number.isNaN(ends.getTime())) return undefined;
  const [en, zh] = [d.en.trim(), d.zh.trim()];
  if (!en && !zh) return undefined;
  return {
    starts_at: starts.toISOString(),
    ends_at: ends.toISOString(),
    text: { ...(en ? { en } : {}), ...(zh ? { zh } : {}) },
    scope: { tenants: lines(d.tenants), places: lines(d.places) },
  };
}
