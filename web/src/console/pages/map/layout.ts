/** What the layout needs of a group. */
export type Placed = { id: string; tier: number };

/** What the layout needs of an edge between groups. */
export type Joined = { a: string; b: string };

/** Place of a group: `line` counts from the hosts up, `column` within the line; x and y in pixels, y upwards. */
export type Place = { x: number; y: number; line: number; column: number };

export type Layout = {
  places: Map<string, Place>;
  /** Ids by line, from the hosts up, each from left to right. */
  lines: string[][];
  /** Of each tier, from the hosts up: y of its highest line. */
  tiers: { tier: number; top: number }[];
  width: number;
  height: number;
  /** Least distance of two groups in a line. */
  gap: number;
};

/** Distances between the lines of one tier and between tiers, in pixels. */
const lineGap = 58;
const tierGap = 110;
/** Least distance of groups in a line, in pixels: for a label, and for the symbol alone where a tier has many. */
const roomy = 76;
const tight = 44;

/** The positions of groups: tiers as rows, hosts below; a tier with many groups takes several lines. The same input gives the same picture. */
export function layOut(groups: readonly Placed[], edges: readonly Joined[], width: number): Layout {
  const tiers = ordered(groups, edges);
  const lines: string[][] = [];
  const places = new Map<string, Place>();
  const tops: Layout["tiers"] = [];
  let y = 0;
  let gap = width;
  for (const { tier, ids } of tiers) {
    const most = Math.max(4, Math.floor(width / (ids.length * roomy <= width * 2 ? roomy : tight)));
    const count = Math.ceil(ids.length / most);
    const length = Math.ceil(ids.length / count);
    if (lines.length > 0) y += tierGap;
    for (let i = 0; i < count; i++) {
      const line = ids.slice(i * length, (i + 1) * length);
      if (i > 0) y += lineGap;
      const step = width / length;
      gap = Math.min(gap, step);
      for (const [column, id] of line.entries())
        places.set(id, { x: (column + 0.5) * step, y, line: lines.length, column });
      lines.push(line);
    }
    tops.push({ tier, top: y });
  }
  return { places, lines, tiers: tops, width, height: y, gap };
}

/** The groups of each tier in an order with few crossings: that of their names, or a better one by barycentres. */
function ordered(groups: readonly Placed[], edges: readonly Joined[]): { tier: number; ids: string[] }[] {
  const byTier = new Map<number, string[]>();
  for (const g of groups) byTier.set(g.tier, [...(byTier.get(g.tier) ?? []), g.id]);
  const tiers = [...byTier].sort(([a], [b]) => a - b).map(([tier, ids]) => ({ tier, ids }));
  const level = new Map(tiers.flatMap(({ ids }, i) => ids.map((id) => [id, i] as const)));
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  const push = (map: Map<string, string[]>, from: string, to: string) => {
    const list = map.get(from);
    if (list) list.push(to);
    else map.set(from, [to]);
  };
  for (const e of edges) {
    const a = level.get(e.a);
    const b = level.get(e.b);
    if (a === undefined || b === undefined || Math.abs(a - b) !== 1) continue; // only neighbours can be put in order
    push(up, a < b ? e.a : e.b, a < b ? e.b : e.a);
    push(down, a < b ? e.b : e.a, a < b ? e.a : e.b);
  }
  let best = tiers.map((t) => t.ids);
  let least = crossings(best, up);
  let current = best;
  for (let sweep = 0; sweep < 6 && least > 0; sweep++) {
    current = swept(current, sweep % 2 === 0 ? down : up, sweep % 2 === 0);
    const found = crossings(current, up);
    if (found >= least) continue;
    least = found;
    best = current;
  }
  return tiers.map((t, i) => ({ tier: t.tier, ids: best[i] ?? t.ids }));
}

/** One pass of barycentres: each tier by the middle of its neighbours in the tier before, upwards or downwards. */
function swept(tiers: string[][], near: Map<string, string[]>, upwards: boolean): string[][] {
  const out = [...tiers];
  const order = tiers.map((_, i) => (upwards ? i : tiers.length - 1 - i));
  for (const [step, i] of order.entries()) {
    const before = out[order[step - 1] ?? -1];
    const ids = out[i];
    if (!before || !ids) continue;
    const at = new Map(before.map((id, k) => [id, (k + 0.5) / before.length]));
    const middles = new Map(
      ids.map((id, k) => {
        const list = (near.get(id) ?? []).flatMap((n) => at.get(n) ?? []);
        const middle = list.length ? list.reduce((sum, x) => sum + x, 0) / list.length : (k + 0.5) / ids.length;
        return [id, Math.round(middle * 1e6)]; // so that sums in another order are no other place
      }),
    );
    out[i] = [...ids].sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0));
  }
  return out;
}

/** The number of pairs of edges between neighbouring tiers that cross. */
export function crossings(tiers: string[][], up: Map<string, string[]>): number {
  let total = 0;
  for (const [i, ids] of tiers.entries()) {
    const above = tiers[i + 1];
    if (!above) break;
    const at = new Map(above.map((id, k) => [id, k]));
    const tree = new Int32Array(above.length + 1); // of Fenwick: ends of the edges seen, by their place
    let seen = 0;
    for (const id of ids) {
      const ends = (up.get(id) ?? []).flatMap((n) => at.get(n) ?? []);
      for (const end of ends) {
        let before = 0;
        for (let k = end + 1; k > 0; k -= k & -k) before += tree[k] ?? 0;
        total += seen - before;
      }
      for (const end of ends) {
        seen++;
        for (let k = end + 1; k < tree.length; k += k & -k) tree[k] = (tree[k] ?? 0) + 1;
      }
    }
  }
  return total;
}

export type Direction = "left" | "right" | "up" | "down";

/** The group beside another one, or the same at the border. */
export function neighbour(layout: Layout, id: string, to: Direction): string {
  const from = layout.places.get(id);
  if (!from) return layout.lines.at(-1)?.[0] ?? id;
  if (to === "left" || to === "right") return layout.lines[from.line]?.[from.column + (to === "left" ? -1 : 1)] ?? id;
  const line = layout.lines[from.line + (to === "up" ? 1 : -1)];
  if (!line) return id;
  const far = (other: string) => Math.abs((layout.places.get(other)?.x ?? 0) - from.x);
  return line.reduce((best, other) => (far(other) < far(best) ? other : best), line[0] ?? id);
}
