import { quoted, range, type Series } from "../api/prom";
import type { Hatched, TimeRange } from "../ui/chart/types";
import type { MyTenant } from "./tenants";

/** The series of a tenant in a range: rates in bit/s, null where they were not measured. */
export type OwnSeries = {
  range: TimeRange;
  /** Seconds since 1970. */
  times: number[];
  entitled: (number | null)[];
  delivered: (number | null)[];
  /** Part of the measurements before each time in which the tenant contended, 0 to 1; null without a state. */
  contended: (number | null)[];
};

/** The selector of a tenant's series. */
export function selector(family: string, m: MyTenant, more = ""): string {
  return `${family}{fabric=${quoted(m.fabric)},tenant=${quoted(m.tenant)}${more}}`;
}

/** Steps up to this length, in seconds, show single measurements; longer ones their average. */
const single = 60;

/** Reads a tenant's series from `from` to `to` (seconds since 1970), a value each `step` seconds. */
export async function ownSeries(m: MyTenant, r: TimeRange, step: number, signal?: AbortSignal): Promise<OwnSeries> {
  const to = Math.floor(r.to); // the last value is of the latest measurement, whatever the step
  const from = to - Math.floor((to - r.from) / step) * step;
  const mean = (family: string) =>
    step <= single ? selector(family, m) : `avg_over_time(${selector(family, m)}[${step}s])`;
  const states = selector("fairlane_tenant_state", m);
  const get = (query: string) => range(query, from, to, step, signal);
  const [entitled, delivered, state] = await Promise.all([
    get(mean("fairlane_tenant_entitled_bits_per_second")),
    get(mean("fairlane_tenant_delivered_bits_per_second")),
    get(step <= single ? states : `count_over_time(${states}[${step}s])`),
  ]);
  const times: number[] = [];
  for (let t = from; t <= to; t += step) times.push(t);
  const of = (list: Series[]) => times.map((_, i) => list.find((s) => s.values[i] != null)?.values[i] ?? null);
  return {
    range: { from: r.from, to: r.to },
    times,
    entitled: of(entitled),
    delivered: of(delivered),
    contended: contendedPart(state, times.length),
  };
}

/** The part of the states that is `contending`, by time. */
export function contendedPart(states: Series[], length: number): (number | null)[] {
  return Array.from({ length }, (_, i) => {
    let contending = 0;
    let sum = 0;
    for (const s of states) {
      const n = s.values[i] ?? 0;
      sum += n;
      if (s.labels.state === "contending") contending += n;
    }
    return sum > 0 ? contending / sum : null;
  });
}

/** The times at which a state is known and the tenant did not contend, joined. Each value stands for the step before it. */
export function notContended(s: OwnSeries, step: number, label: string): Hatched[] {
  const out: Hatched[] = [];
  s.times.forEach((t, i) => {
    if (s.contended[i] !== 0) return;
    const last = out.at(-1);
    if (last && last.to >= t - step) last.to = t;
    else out.push({ from: t - step, to: t, label });
  });
  return out;
}
