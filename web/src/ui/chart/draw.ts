import type uPlot from "uplot";
import type { Colours } from "./colours";
import { markerPaths } from "./marker";
import type { Look } from "./series";
import type { ChartMark, Hatched } from "./types";

/** Least distance between two markers on a line, in CSS pixels. */
const markerSpace = 90;
const hatchSpace = 8;

function inside(u: uPlot, draw: (ctx: CanvasRenderingContext2D, ratio: number) => void) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx, devicePixelRatio || 1);
  ctx.restore();
}

/** Hatches times over the whole height, with their label at the foot where it fits. */
export function drawHatched(u: uPlot, hatched: Hatched[], colours: Colours) {
  inside(u, (ctx, ratio) => {
    const { top, height, left, width } = u.bbox;
    for (const h of hatched) {
      const x0 = Math.max(left, u.valToPos(h.from, "x", true));
      const x1 = Math.min(left + width, u.valToPos(h.to, "x", true));
      if (!(x1 > x0)) continue;
      ctx.save();
      ctx.beginPath();
      ctx.rect(x0, top, x1 - x0, height);
      ctx.clip();
      ctx.strokeStyle = colours.hatch;
      ctx.globalAlpha = 0.45;
      ctx.lineWidth = ratio;
      ctx.beginPath();
      const space = hatchSpace * ratio;
      // Lines start at multiples of the space, so that two times beside each other join.
      for (let x = Math.floor((x0 - height) / space) * space; x < x1; x += space) {
        ctx.moveTo(x, top + height);
        ctx.lineTo(x + height, top);
      }
      ctx.stroke();
      ctx.restore();
      plate(ctx, h.label, (x0 + x1) / 2, top + height - 12 * ratio, x1 - x0, colours, ratio, "center");
    }
  });
}

/** Least distance between two numbers, and between two lines of marks, in CSS pixels. */
const numberSpace = 22;
const lineSpace = 4;

type Placed = { x: number; n: number; label: string };

/** Marks from left to right, in groups that begin at least `space` apart: more lines would hide what they mark. */
export function grouped(marks: Placed[], space: number): Placed[][] {
  const groups: Placed[][] = [];
  for (const m of marks.toSorted((a, b) => a.x - b.x)) {
    const last = groups.at(-1);
    if (last?.[0] && m.x - last[0].x < space) last.push(m);
    else groups.push([m]);
  }
  return groups;
}

/** The numbers of a group: "3", or "3 to 9" as a range. */
function numbers(group: Placed[]): string {
  const all = group.map((m) => m.n);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return low === high ? String(low) : `${low}–${high}`;
}

/** Vertical lines with the numbers under which the events are listed, and the label of a single one where it fits. */
export function drawMarks(
  u: uPlot,
  marks: ChartMark[],
  now: { at: number; label: string } | undefined,
  colours: Colours,
) {
  inside(u, (ctx, ratio) => {
    const { top, height, left, width } = u.bbox;
    const placed = marks
      .map((m, i) => ({ x: Math.round(u.valToPos(m.at, "x", true)), n: i + 1, label: m.label }))
      .filter((m) => m.x >= left && m.x <= left + width);
    for (const [first] of grouped(placed, lineSpace * ratio)) {
      if (first) line(ctx, first.x, top, height, [], colours.ink, ratio);
    }
    const groups = grouped(placed, numberSpace * ratio);
    groups.forEach((group, i) => {
      const x = group[0]?.x ?? left;
      const room = (groups[i + 1]?.[0]?.x ?? left + width) - x - 4 * ratio;
      const label = group.length === 1 ? group[0]?.label : undefined;
      if (label && plate(ctx, `${numbers(group)} ${label}`, x, top + 10 * ratio, room, colours, ratio, "start")) return;
      const align = room < 20 * ratio ? "end" : "start";
      plate(ctx, numbers(group), x, top + 10 * ratio, Number.POSITIVE_INFINITY, colours, ratio, align);
    });
    if (!now) return;
    const x = Math.round(u.valToPos(now.at, "x", true));
    line(ctx, x, top, height, [2 * ratio, 4 * ratio], colours.soft, ratio);
    plate(ctx, now.label, x, top + 28 * ratio, Number.POSITIVE_INFINITY, colours, ratio, "end");
  });
}

function line(
  ctx: CanvasRenderingContext2D,
  x: number,
  top: number,
  height: number,
  dash: number[],
  colour: string,
  ratio: number,
) {
  ctx.beginPath();
  ctx.setLineDash(dash);
  ctx.strokeStyle = colour;
  ctx.lineWidth = ratio;
  ctx.moveTo(x, top);
  ctx.lineTo(x, top + height);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Text on the ground's colour. Draws nothing and returns false when it is wider than `room`. */
function plate(
  ctx: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  room: number,
  colours: Colours,
  ratio: number,
  align: "start" | "center" | "end",
): boolean {
  ctx.font = `${11 * ratio}px ${colours.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const width = ctx.measureText(text).width + 8 * ratio;
  if (width > room) return false;
  const from = align === "center" ? x - width / 2 : align === "end" ? x - width : x;
  ctx.globalAlpha = 0.9;
  ctx.fillStyle = colours.ground;
  ctx.fillRect(from, y - 8 * ratio, width, 16 * ratio);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colours.ink;
  ctx.fillText(text, from + 4 * ratio, y);
  return true;
}

/** Markers along a line, and on each value that stands alone between gaps, where there is no line to see. */
export function drawMarkers(u: uPlot, at: number, look: Look, colours: Colours) {
  const values = u.data[at] as (number | null)[];
  const times = u.data[0] as number[];
  const { d, fill } = markerPaths[look.marker === "none" ? "circle" : look.marker];
  const colour = colours.series[look.colour - 1] ?? colours.ink;
  inside(u, (ctx, ratio) => {
    const path = new Path2D(d);
    // Lines in the same place differ in where their markers stand, so that none hides another.
    let next = u.bbox.left + ((at * 23) % markerSpace) * ratio;
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value === null || value === undefined) continue;
      const x = u.valToPos(times[i] as number, "x", true);
      const alone = (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
      if (!alone && (look.marker === "none" || x < next)) continue;
      if (!alone) next = x + markerSpace * ratio;
      ctx.save();
      ctx.setLineDash([]);
      ctx.translate(x, u.valToPos(value, "y", true));
      ctx.scale(ratio, ratio);
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.8;
      ctx.fillStyle = fill ? colour : colours.ground;
      if (fill || look.marker === "ring") ctx.fill(path);
      ctx.stroke(path);
      ctx.restore();
    }
  });
}
