import { client, data } from "./client";
import { Problem } from "./problem";

/** One series of a range: labels without the metric's name, times in seconds since 1970, values by time. */
export type Series = { labels: Record<string, string>; times: number[]; values: (number | null)[] };

/** One value of an instant query. */
export type Sample = { labels: Record<string, string>; time: number; value: number };

type Result = { metric?: Record<string, string>; value?: [number, string]; values?: [number, string][] };

/** Escapes a value for use between double quotes in PromQL. */
export function quoted(value: string): string {
  return JSON.stringify(value);
}

/** Evaluates PromQL at one instant: now, unless `at` (seconds since 1970) is given. */
export async function instant(query: string, at?: number, signal?: AbortSignal): Promise<Sample[]> {
  const body = { query, ...(at === undefined ? {} : { time: String(at) }) };
  return results(await data(client.POST("/api/v1/prometheus/api/v1/query", { ...form(body), signal }))).flatMap((r) =>
    r.value ? [{ labels: r.metric ?? {}, time: r.value[0], value: Number(r.value[1]) }] : [],
  );
}

/** Evaluates PromQL from `from` to `to` (seconds since 1970), a value each `step` seconds. A step without a value is null: a gap. */
export async function range(
  query: string,
  from: number,
  to: number,
  step: number,
  signal?: AbortSignal,
): Promise<Series[]> {
  const body = { query, start: String(from), end: String(to), step: String(step) };
  const times: number[] = [];
  for (let t = from; t <= to; t += step) times.push(t);
  return results(await data(client.POST("/api/v1/prometheus/api/v1/query_range", { ...form(body), signal }))).map(
    (r) => {
      const values: (number | null)[] = times.map(() => null);
      for (const [t, v] of r.values ?? []) {
        const i = Math.round((t - from) / step);
        if (i >= 0 && i < values.length) values[i] = Number.isFinite(Number(v)) ? Number(v) : null;
      }
      return { labels: r.metric ?? {}, times, values };
    },
  );
}

/** A step that gives at most `points` values: 15 s, or a multiple of it. */
export function stepOf(from: number, to: number, points = 600): number {
  return Math.max(15, Math.ceil((to - from) / points / 15) * 15);
}

function form(body: Record<string, string>) {
  return {
    body: body as never,
    bodySerializer: (b: unknown) => new URLSearchParams(b as Record<string, string>),
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  };
}

function results(answer: unknown): Result[] {
  const got = answer as { status?: string; data?: { result?: Result[] } };
  if (got.status !== "success" || !Array.isArray(got.data?.result)) throw new Problem("garbled", 200);
  return got.data.result.map(({ metric, ...rest }) => {
    const { __name__: _, ...labels } = metric ?? {};
    return { metric: labels, ...rest };
  });
}
