import type { Series } from "../../../api/prom";
import type { ChartBand, Hatched } from "../../../ui/chart/types";

type Values = (number | null)[];

/** A tenant over time: rates in bit/s, and the state at each time. Null is "not measured". */
export type History = {
  times: number[];
  entitled: Values;
  delivered: Values;
  predicted: Values;
  /** Delivered over what the tenant may have, on the link on which it receives the least. */
  received: Values;
  states: (string | null)[];
};

/** Sorts the series of the joined query. */
export function historyOf(series: Series[], from: number, to: number, step: number): History {
  const times =
    series[0]?.times ?? Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
  const gaps = (): Values => times.map(() => null);
  const h: History = {
    times,
    entitled: gaps(),
    delivered: gaps(),
    predicted: gaps(),
    received: gaps(),
    states: times.map(() => null),
  };
  for (const { labels, values } of series) {
    const what = labels.what ?? "";
    values.forEach((v, i) => {
      if (v === null) return;
      if (what === "state") {
        if (v === 1) h.states[i] = labels.state ?? null;
      } else if (what === "received") h.received[i] = Math.min(v, h.received[i] ?? v);
      else if (what === "entitled" || what === "delivered" || what === "predicted") h[what][i] = v;
    });
  }
  return h;
}

/** What a contending tenant may have now, with the bound of the plan: delivered over received, so that the line and the band are comparable. */
export function entitledNow(h: History): Values {
  return h.times.map((_, i) => {
    const [delivered, received] = [h.delivered[i] ?? null, h.received[i] ?? null];
    return delivered === null || received === null || received <= 0 ? null : delivered / received;
  });
}

/** The band of a line with a relative bound to each side. */
export function bandOf(label: string, values: Values, bound: number): ChartBand {
  const times = (by: number) => values.map((v) => (v === null ? null : v * by));
  return { label, upper: times(1 + bound), lower: times(Math.max(0, 1 - bound)) };
}

/** The times in which a tenant was measured and did not contend, as ranges; each value holds for a step. */
export function hatchedOf(h: History, step: number, label: (states: string[]) => string): Hatched[] {
  const out: (Omit<Hatched, "label"> & { states: Set<string> })[] = [];
  h.times.forEach((at, i) => {
    const state = h.states[i];
    if (!state || state === "contending" || state === "not-measured") return;
    const last = out.at(-1);
    if (last && last.to >= at - step / 2) {
      last.to = at + step / 2;
      last.states.add(state);
    } else out.push({ from: at - step / 2, to: at + step / 2, states: new Set([state]) });
  });
  return out.map(({ from, to, states }) => ({ from, to, label: label([...states]) }));
}
