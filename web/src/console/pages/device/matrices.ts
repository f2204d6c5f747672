import type { Schemas } from "../../../api/client";

type Settings = Schemas["DeviceSettings"];

/** A table of settings: rows by name, values by column. Columns are keys of texts. */
export type Matrix = {
  id: "sl" | "ca" | "switch" | "switch-port" | "nic" | "sender" | "nic-wrcc" | "queue" | "wrcc-port" | "wrcc-domain";
  columns: string[];
  rows: { name: string; values: Record<string, string> }[];
  /** Rows that say nothing: a port that follows the defaults of its switch. */
  quiet?: Set<string>;
};

const text = (v: unknown): string =>
  Array.isArray(v) ? ranges(v as number[]) : typeof v === "boolean" ? (v ? "yes" : "no") : String(v ?? "");

/** Numbers as a list of ranges: "1..4, 7". */
export function ranges(list: number[]): string {
  const out: string[] = [];
  let from: number | undefined;
  list.forEach((n, i) => {
    from ??= n;
    if (list[i + 1] === n + 1) return;
    out.push(from === n ? String(n) : `${from}..${n}`);
    from = undefined;
  });
  return out.join(", ") || "-";
}

const row = (name: string | number, values: Record<string, unknown>) => ({
  name: String(name),
  values: Object.fromEntries(Object.entries(values).map(([k, v]) => [k, text(v)])),
});

const table = (id: Matrix["id"], rows: Matrix["rows"], quiet?: Set<string>): Matrix[] =>
  rows.length > 0
    ? [{ id, columns: [...new Set(rows.flatMap((r) => Object.keys(r.values)))], rows, ...(quiet ? { quiet } : {}) }]
    : [];

/** The settings of a device as tables, whatever its kind. The control table of an adapter has a picture of its own. */
export function matrices(s: Settings | undefined): Matrix[] {
  if (!s) return [];
  return [...ofAdapter(s), ...ofSwitch(s), ...ofNic(s), ...ofQueues(s), ...ofFairRates(s)];
}

function ofAdapter({ ca }: Settings): Matrix[] {
  if (!ca) return [];
  return [
    ...table(
      "sl",
      ca.sls.map(({ ccti_timer, ccti_increase, trigger_threshold, ccti_min }, i) =>
        row(i, { ccti_timer, ccti_increase, trigger_threshold, ccti_min }),
      ),
    ),
    ...table("ca", [row("", { per_sl: ca.per_sl, ccti_limit: ca.ccti_limit })]),
  ];
}

function ofSwitch({ switch: sw }: Settings): Matrix[] {
  if (!sw) return [];
  const { cs_return_delay, victim_ports, credit_ports, ...defaults } = sw.defaults;
  const delay = cs_return_delay ? { cs_return_delay: `${cs_return_delay.shift}:${cs_return_delay.multiplier}` } : {};
  return [
    ...table("switch", [row("", { ...defaults, victim_ports, credit_ports, ...delay })]),
    ...table(
      "switch-port",
      sw.ports.map((p, i) => row(i, p)),
      new Set(sw.ports.flatMap((p, i) => (p.valid ? [] : [String(i)]))),
    ),
  ];
}

function ofNic({ nic }: Settings): Matrix[] {
  if (!nic) return [];
  const { senders = [], ...timing } = nic.wrcc ?? {};
  return [
    ...table("nic", [
      ...nic.params.map((p) => row(p.index === undefined ? p.name : `${p.name}[${p.index}]`, { value: p.value })),
      // Devices report shares as this parameter.
      ...(nic.shares ?? []).map((c) => row(c.class === 0 ? "tc_bw" : `tc_bw[${c.class}]`, { value: c.percent })),
    ]),
    ...(nic.wrcc ? table("nic-wrcc", [row("", timing)]) : []),
    ...table(
      "sender",
      senders.flatMap((x) => [
        row(x.name, { weight: x.weight }),
        ...(x.peers ?? []).map((p) => row(`${x.name} → ${p.port}`, { weight: p.weight })),
      ]),
    ),
  ];
}

function ofQueues({ queues }: Settings): Matrix[] {
  const rows = new Map<string, Record<string, unknown>>();
  for (const { port, queue, ...m } of [...(queues?.marking ?? []), ...(queues?.weights ?? [])]) {
    const name = `P${port} q${queue}`;
    rows.set(name, { ...rows.get(name), ...m });
  }
  return table(
    "queue",
    [...rows].map(([name, values]) => row(name, values)),
  );
}

const ofFairRates = ({ wrcc }: Settings): Matrix[] => [
  ...table(
    "wrcc-port",
    (wrcc?.ports ?? []).map(({ port, ...p }) => row(`P${port}`, p)),
  ),
  ...table(
    "wrcc-domain",
    (wrcc?.domains ?? []).map(({ port, ...p }) => row(`P${port}`, p)),
  ),
];

/** A table with the desired and the observed value of each cell; undefined where a side was not read or has no such row. */
export type Compared = {
  id: Matrix["id"];
  columns: string[];
  rows: {
    name: string;
    quiet: boolean;
    cells: { column: string; desired?: string; observed?: string; differs: boolean }[];
  }[];
};

/** Puts desired and observed settings side by side. */
export function compared(desired: Settings | undefined, observed: Settings | undefined): Compared[] {
  const want = matrices(desired);
  const have = matrices(observed);
  const ids = [...new Set([...want, ...have].map((m) => m.id))];
  return ids.map((id) => {
    const w = want.find((m) => m.id === id);
    const h = have.find((m) => m.id === id);
    const columns = [...new Set([...(w?.columns ?? []), ...(h?.columns ?? [])])];
    const names = [...new Set([...(w?.rows ?? []), ...(h?.rows ?? [])].map((r) => r.name))];
    const rows = names.map((name) => {
      const d = w?.rows.find((r) => r.name === name)?.values;
      const o = h?.rows.find((r) => r.name === name)?.values;
      const cells = columns.map((column) => ({
        column,
        desired: d?.[column],
        observed: o?.[column],
        differs: w !== undefined && h !== undefined && d?.[column] !== o?.[column],
      }));
      const quiet = (w ?? h)?.quiet?.has(name) === true && cells.every((c) => !c.differs);
      return { name, quiet, cells };
    });
    return { id, columns, rows };
  });
}

/** The fraction of the line rate at an entry of the control table: 1 over 1 plus the delay in packet times. */
export const rateAt = (e: Schemas["CCTEntry"]): number => 1 / (1 + e.multiplier / 2 ** e.shift);

/** The indices that the axis of a control table names: 0 and at most six more, at a round distance. */
export function indexTicks(entries: number): number[] {
  const steps = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];
  const step = steps.find((s) => entries / s <= 6) ?? 32_768;
  return Array.from({ length: Math.floor(Math.max(0, entries - 1) / step) + 1 }, (_, i) => i * step);
}
