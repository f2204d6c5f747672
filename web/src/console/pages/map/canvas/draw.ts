import type { Colours } from "./colours";

/** A ring around a group: the selected one, the one that contains the device searched for, or a stop of the path. */
export type Ring = "selected" | "found" | "path";

type Point = { x: number; y: number; size: number };

export type NodeData = Point & {
  label?: string | null;
  name?: string;
  sign?: string;
  rings?: Ring[];
  square?: boolean;
};

/** What the labels are drawn with; `gap` is the distance of neighbours on the screen, in pixels. */
export type Pen = { colours: Colours; gap: number; labelSize: number };

/** Draws the sign of the state on a group, its rings and its name below it. */
export function drawNode(c: CanvasRenderingContext2D, d: NodeData, pen: Pen) {
  const { colours } = pen;
  c.textAlign = "center";
  if (d.sign) {
    c.font = `700 ${Math.max(10, Math.round(d.size * 1.25))}px ${colours.font}`;
    c.fillStyle = colours.inverse;
    c.textBaseline = "middle";
    c.fillText(d.sign, d.x, d.y + 0.5);
  }
  drawRings(c, d, colours);
  const space = pen.gap - 4;
  if (!d.label || space < 24) return;
  c.font = `${pen.labelSize}px ${colours.font}`;
  c.textBaseline = "top";
  const text = fitting(c, d.label, d.name ?? d.label, space);
  const y = d.y + d.size + 5 + 4 * (d.rings?.length ?? 0);
  c.strokeStyle = colours.ground;
  c.lineWidth = 4;
  c.lineJoin = "round";
  c.strokeText(text, d.x, y);
  c.fillStyle = colours.ink;
  c.fillText(text, d.x, y);
}

function drawRings(c: CanvasRenderingContext2D, d: NodeData, colours: Colours) {
  let radius = d.size + 3;
  for (const ring of d.rings ?? []) {
    c.beginPath();
    c.setLineDash(ring === "path" ? [3, 2] : []);
    c.strokeStyle = ring === "path" ? colours.path : ring === "found" ? colours.info : colours.ink;
    c.lineWidth = ring === "selected" ? 2.5 : 2;
    c.arc(d.x, d.y, radius, 0, 2 * Math.PI);
    c.stroke();
    radius += 4;
  }
  c.setLineDash([]);
}

/** Draws the words of an edge at its middle, on a ground that keeps them readable. */
export function drawEdge(c: CanvasRenderingContext2D, label: string, a: Point, b: Point, pen: Pen) {
  if (label === "") return; // asked for edges between two names too
  const x = a.x + (b.x - a.x) / 2;
  const y = a.y + (b.y - a.y) / 2;
  c.font = `600 ${pen.labelSize}px ${pen.colours.font}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  const width = c.measureText(label).width;
  c.fillStyle = pen.colours.ground;
  c.fillRect(x - width / 2 - 3, y - pen.labelSize / 2 - 2, width + 6, pen.labelSize + 4);
  c.fillStyle = pen.colours.ink;
  c.fillText(label, x, y);
}

/** The label, or the name alone, or the end of the name: there names of one kind differ. In pixels. */
function fitting(c: CanvasRenderingContext2D, label: string, name: string, width: number): string {
  for (const text of [label, name]) if (c.measureText(text).width <= width) return text;
  let low = 0;
  let high = name.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(`…${name.slice(-middle)}`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `…${name.slice(-low)}`;
}
