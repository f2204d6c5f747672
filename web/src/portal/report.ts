import { csv } from "../format/csv";
import { selector } from "./series";
import type { MyTenant } from "./tenants";

/** States of a tenant, in the order of a report's columns (command/remote/sharereport.go). */
export const states = [
  "contending",
  "demand",
  "idle",
  "cap",
  "own-port",
  "other-link",
  "path-down",
  "not-measured",
] as const;

const day = 86_400;

/** The report of a month for charge-back, as `fairlane share report` makes it. What was not measured is undefined. */
export type Report = {
  /** YYYY-MM, in UTC. */
  month: string;
  /** Seconds since 1970; `to` is the end of the month, or now. */
  from: number;
  to: number;
  contended_s?: number;
  bad_s?: number;
  /** Part of the contended seconds that were not bad. */
  good?: number;
  objective?: number;
  /** The average rate of each day times the time that its measurements stand for. */
  bits?: number;
  /** Measurements with a rate, out of those due. */
  measured?: number;
  /** Days without a measurement, YYYY-MM-DD. */
  missing: string[];
  /** Seconds in each state; undefined when no state is known. */
  state_s?: Record<string, number>;
};

/** Measurements of one day. Undefined: none. */
export type Day = {
  delivered?: number;
  /** Number of measurements with a rate. */
  measured: number;
  /** Number of measurements by state. */
  states: Record<string, number>;
  /** Number of measurements in which the counters rose. */
  contended?: number;
  bad?: number;
  objective?: number;
};

/** Begin and end of a month in UTC, in seconds since 1970, and its number of days. */
export function monthOf(month: string): { from: number; end: number; days: number } | undefined {
  const found = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month);
  if (!found) return undefined;
  const [year, m] = [Number(found[1]), Number(found[2])];
  const from = Date.UTC(year, m - 1, 1) / 1000;
  const end = Date.UTC(year, m, 1) / 1000;
  return { from, end, days: Math.round((end - from) / day) };
}

/** The month of a time in UTC, YYYY-MM. */
export const monthAt = (ms: number) => new Date(ms).toISOString().slice(0, 7);

/** The query for the time between two measurements, in seconds: a subquery without a step has that of the service. */
export const periodQuery =
  "(max_over_time(vector(time())[1h:]) - min_over_time(vector(time())[1h:])) / (count_over_time(vector(time())[1h:]) - 1)";

/** The queries of a report: each has a value at the end of each day. `period` is the time between two measurements, in seconds. */
export function reportQueries(m: MyTenant, period: number) {
  const span = `[${day * 1000}ms]`;
  const rises = (family: string) => {
    const of = `(${selector(family, m)}[${(day + period) * 1000}ms])`;
    return `changes${of} - resets${of}`; // increase() would extrapolate each counter in another way
  };
  return {
    delivered: `avg_over_time(${selector("fairlane_tenant_delivered_bits_per_second", m)}${span})`,
    measured: `count_over_time(${selector("fairlane_tenant_delivered_bits_per_second", m)}${span})`,
    states: `count_over_time(${selector("fairlane_tenant_state", m)}${span})`,
    contended: rises("fairlane_tenant_contended_seconds_total"),
    bad: rises("fairlane_tenant_share_bad_seconds_total"),
    objective: `last_over_time(${selector("fairlane_tenant_objective_ratio", m)}${span})`,
  };
}

/** Sums up the days of a month. `now` is in seconds since 1970, `period` in seconds. */
export function sumUp(month: string, days: Day[], period: number, now: number): Report {
  const span = monthOf(month) ?? { from: 0, end: 0 };
  const out: Report = { month, from: span.from, to: Math.min(span.end, Math.floor(now)), missing: [] };
  const stateSeconds: Record<string, number> = {};
  let made = 0;
  let allDue = 0;
  let judged = 0;
  days.forEach((x, i) => {
    const begin = span.from + i * day;
    const passed = Math.min(Math.max(now - begin, 0), day);
    if (passed === 0) return;
    const due = Math.max(passed / period, 1);
    const each = standsFor(x, due, period);
    made += Math.min(x.measured, due);
    allDue += due;
    out.objective = x.objective ?? out.objective;
    for (const [state, n] of Object.entries(x.states)) stateSeconds[state] = (stateSeconds[state] ?? 0) + n * each;
    if (x.delivered !== undefined) out.bits = (out.bits ?? 0) + x.delivered * x.measured * each;
    const [bad, of] = badOf(x);
    if (bad !== undefined) {
      judged += of * each;
      out.bad_s = (out.bad_s ?? 0) + bad * each;
    }
    if (x.measured === 0 && Object.keys(x.states).length === 0)
      out.missing.push(new Date(begin * 1000).toISOString().slice(0, 10));
  });
  if (Object.keys(stateSeconds).length > 0) {
    out.state_s = stateSeconds;
    out.contended_s = stateSeconds.contending ?? 0;
  }
  if (out.bits !== undefined) out.bits = Math.round(out.bits);
  if (allDue > 0) out.measured = made / allDue;
  if (judged > 0) out.good = 1 - (out.bad_s ?? 0) / judged;
  return out;
}

/** The seconds for which each measurement of a day stands: the period, or less where more were made than are due. */
function standsFor(x: Day, due: number, period: number): number {
  const made = Math.max(
    Object.values(x.states).reduce((a, b) => a + b, 0),
    x.measured,
  );
  return made <= due + 1 ? period : (period * due) / made; // the times of measurements vary
}

/** The number of bad measurements among those in which the tenant contended; the counters' ratio, since they miss some. */
function badOf(x: Day): [bad: number | undefined, of: number] {
  const of = x.states.contending ?? 0;
  if (Object.keys(x.states).length === 0) return [undefined, 0];
  if (of === 0) return [0, 0];
  if (x.bad === undefined || x.contended === undefined || x.contended <= 0) return [undefined, 0];
  return [Math.round(of * Math.min(x.bad / x.contended, 1)), of];
}

/** The report as the CSV of `fairlane share report --csv`: the same columns, in the same order. */
export function reportCsv(m: MyTenant, r: Report): string {
  const head = [
    ..."month fabric tenant from to contended_seconds bad_seconds good_ratio objective_ratio".split(" "),
    ..."delivered_bits_extrapolated measured_ratio coverage_ratio days_missing".split(" "),
    ...states.map((s) => `state_${s.replaceAll("-", "_")}_seconds`),
  ];
  const n = (v: number | undefined) => (v === undefined ? undefined : Math.round(v * 1e6) / 1e6);
  return csv(head, [
    [
      ...[r.month, m.fabric, m.tenant, isoSecond(r.from), isoSecond(r.to)],
      ...[r.contended_s, r.bad_s, r.good, r.objective].map(n),
      ...[r.bits === undefined ? undefined : BigInt(r.bits).toString(), n(r.measured), undefined, r.missing.length],
      ...states.map((s) => (r.state_s ? n(r.state_s[s] ?? 0) : undefined)),
    ],
  ]);
}

/** A time in whole seconds since 1970, as RFC 3339. */
export const isoSecond = (s: number) => new Date(s * 1000).toISOString().replace(".000Z", "Z");

/** A number of bits in the largest unit that gives at least one, with at most three decimals, as the CLI writes it. */
export function bitsText(bits: number, language: string): string {
  const units = ["bit", "kbit", "Mbit", "Gbit", "Tbit", "Pbit", "Ebit"];
  let x = bits;
  let i = 0;
  while (x >= 1000 && i < units.length - 1) {
    x /= 1000;
    i++;
  }
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: 3 }).format(x)} ${units[i]}`;
}

/** Days in order, successive ones as an interval of ISO 8601: "2026-11-01/2026-11-03". */
export function dayRanges(days: string[]): string[] {
  const out: [first: string, last: string][] = [];
  for (const d of days) {
    const open = out.at(-1);
    if (open && Date.parse(d) - Date.parse(open[1]) === day * 1000) open[1] = d;
    else out.push([d, d]);
  }
  return out.map(([first, last]) => (first === last ? first : `${first}/${last}`));
}
