import Graph from "graphology";
import Sigma from "sigma";
import { createEdgeCompoundProgram } from "sigma/rendering";
import type { Layout } from "../layout";
import type { State } from "../model";
import { type Colours, readColours, stateSign } from "./colours";
import { drawEdge, drawNode, type NodeData, type Pen, type Ring } from "./draw";
import { SquareProgram } from "./square";

export type DrawnGroup = {
  id: string;
  label: string;
  name: string;
  members: number;
  square: boolean;
  state: State;
  rings: Ring[];
};

export type DrawnEdge = {
  id: string;
  a: string;
  b: string;
  tone: "plain" | "contended" | "down" | "path";
  /** Highest use, for the width. */
  use?: number;
  /** Words at the edge; only where it is not plain. */
  label?: string;
  selected: boolean;
};

/** Everything that the picture shows. */
export type Drawing = { layout: Layout; groups: DrawnGroup[]; edges: DrawnEdge[] };

export type PictureEvents = {
  onGroup: (id: string) => void;
  onEdge: (id: string) => void;
  /** After each frame. */
  onFrame: () => void;
};

/** The map on a canvas: sigma with tiers as rows, and what a reader does with the camera. */
export class Picture {
  private readonly graph = new Graph({ type: "undirected", multi: false });
  private readonly sigma: Sigma;
  private pen: Pen;
  private drawing: Drawing | undefined;
  private structure = "";

  /** Throws when the browser cannot draw with WebGL. */
  constructor(
    private readonly box: HTMLElement,
    events: PictureEvents,
  ) {
    this.pen = { colours: readColours(box), gap: 60, labelSize: 12 };
    this.sigma = new Sigma(this.graph, box, {
      allowInvalidContainer: true,
      zIndex: true,
      renderEdgeLabels: true,
      enableEdgeEvents: true,
      enableCameraRotation: false,
      labelDensity: 100,
      labelGridCellSize: 20,
      labelRenderedSizeThreshold: 0,
      minEdgeThickness: 1,
      stagePadding: 0,
      minCameraRatio: 0.05,
      maxCameraRatio: 2,
      zoomDuration: reducedMotion() ? 0 : 150,
      nodeProgramClasses: { square: SquareProgram },
      // Sigma would compile four shaders for arrows, which the map has none of.
      edgeProgramClasses: { arrow: createEdgeCompoundProgram([]) },
      defaultDrawNodeLabel: (c, d) => drawNode(c, d as NodeData, this.pen),
      defaultDrawNodeHover: (c, d) => drawNode(c, d as NodeData, { ...this.pen, gap: 400 }),
      defaultDrawEdgeLabel: (c, e, a, b) => drawEdge(c, e.label ?? "", a, b, this.pen),
    });
    const canvas = this.sigma.getCanvases().nodes;
    if (!canvas?.getContext("webgl2") && !canvas?.getContext("webgl")) {
      this.sigma.kill();
      throw new Error("no WebGL");
    }
    this.sigma.on("clickNode", (e) => events.onGroup(e.node));
    this.sigma.on("clickEdge", (e) => events.onEdge(e.edge));
    this.sigma.on("beforeRender", () => this.measure());
    this.sigma.on("afterRender", events.onFrame);
    const pointer = (on: boolean) => () => {
      box.style.cursor = on ? "pointer" : "";
    };
    for (const name of ["enterNode", "enterEdge"] as const) this.sigma.on(name, pointer(true));
    for (const name of ["leaveNode", "leaveEdge"] as const) this.sigma.on(name, pointer(false));
  }

  /** Shows a drawing. The camera stays, unless other groups are shown. */
  draw(drawing: Drawing) {
    const structure = `${drawing.layout.width} ${drawing.groups.map((g) => g.id).join(" ")} ${drawing.edges.length}`;
    this.drawing = drawing;
    if (structure !== this.structure) {
      this.graph.clear();
      this.fit(false);
    }
    this.structure = structure;
    const { width, height } = drawing.layout;
    // Room at the borders for names and for the lines' own size.
    this.sigma.setCustomBBox({ x: [0, width], y: [-40, height + 55] });
    this.paint();
  }

  /** Draws anew in the colours of the theme. */
  recolour() {
    this.pen = { ...this.pen, colours: readColours(this.box) };
    this.paint();
  }

  private paint() {
    if (!this.drawing) return;
    const { layout, groups, edges } = this.drawing;
    const { colours } = this.pen;
    for (const g of groups) {
      const at = layout.places.get(g.id);
      if (!at) continue;
      const size = Math.min(g.square ? 18 : 15, (g.square ? 11 : 8) + Math.log2(Math.max(1, g.members)));
      this.graph.mergeNode(g.id, {
        x: at.x,
        y: at.y,
        size: Math.min(size, layout.gap / 4),
        color: colours.states[g.state],
        label: g.label,
        name: g.name,
        type: g.square ? "square" : "circle",
        sign: stateSign[g.state],
        rings: g.rings,
        forceLabel: g.state !== "ok" || g.rings.length > 0,
        zIndex: g.state === "ok" ? 0 : 1,
      });
    }
    for (const e of edges) {
      if (!this.graph.hasNode(e.a) || !this.graph.hasNode(e.b)) continue;
      const look = edgeLook(e, colours);
      const to = { ...look, label: e.label ?? null, forceLabel: e.label !== undefined };
      if (this.graph.hasEdge(e.id)) this.graph.mergeEdgeAttributes(e.id, to);
      else this.graph.addEdgeWithKey(e.id, e.a, e.b, to);
    }
    this.sigma.refresh();
  }

  /** The distance of neighbours on the screen decides how much of a name fits. */
  private measure() {
    const gap = this.drawing?.layout.gap ?? 60;
    const a = this.sigma.graphToViewport({ x: 0, y: 0 });
    const b = this.sigma.graphToViewport({ x: gap, y: 0 });
    this.pen = { ...this.pen, gap: Math.abs(b.x - a.x) };
  }

  /** Where a group is on the screen, in pixels from the top left of the picture. */
  at(id: string): { x: number; y: number } | undefined {
    const place = this.drawing?.layout.places.get(id);
    return place ? this.sigma.graphToViewport(place) : undefined;
  }

  /** y on the screen of a height in the layout. */
  heightAt(y: number): number {
    return this.sigma.graphToViewport({ x: 0, y }).y;
  }

  /** Zooms by a factor: below 1 is nearer. */
  zoom(factor: number) {
    const camera = this.sigma.getCamera();
    const ratio = camera.getBoundedRatio(camera.ratio * factor);
    void camera.animate({ ratio }, { duration: reducedMotion() ? 0 : 150 });
  }

  /** Shows all of it. */
  fit(animated = true) {
    const all = { x: 0.5, y: 0.5, ratio: 1, angle: 0 };
    if (animated && !reducedMotion()) void this.sigma.getCamera().animate(all, { duration: 200 });
    else this.sigma.getCamera().setState(all);
  }

  /** Moves the view by parts of its size. */
  pan(right: number, up: number) {
    const { width, height } = this.sigma.getDimensions();
    const from = this.sigma.viewportToFramedGraph({ x: 0, y: 0 });
    const to = this.sigma.viewportToFramedGraph({ x: right * width, y: -up * height });
    const camera = this.sigma.getCamera();
    void camera.animate(
      { x: camera.x + to.x - from.x, y: camera.y + to.y - from.y },
      { duration: reducedMotion() ? 0 : 150 },
    );
  }

  /** Moves the view so that a group is in it. */
  reveal(id: string) {
    const at = this.at(id);
    const data = this.sigma.getNodeDisplayData(id);
    const { width, height } = this.sigma.getDimensions();
    if (!at || !data || (at.x > 10 && at.y > 10 && at.x < width - 10 && at.y < height - 10)) return;
    this.sigma.getCamera().setState({ x: data.x, y: data.y });
  }

  kill() {
    this.sigma.kill();
  }
}

function edgeLook(e: DrawnEdge, colours: Colours): { color: string; size: number; zIndex: number } {
  const more = e.selected ? 2 : 0;
  switch (e.tone) {
    case "down":
      return { color: colours.down, size: 2.5 + more, zIndex: 4 };
    case "contended":
      return {
        color: colours.contended,
        size: 2 + 3 * Math.min(1, Math.max(0, (e.use ?? 0.5) * 2 - 1)) + more,
        zIndex: 3,
      };
    case "path":
      return { color: colours.path, size: 2.5 + more, zIndex: 5 };
    default:
      return e.selected ? { color: colours.ink, size: 3, zIndex: 2 } : { color: colours.faint, size: 1.5, zIndex: 0 };
  }
}

function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
