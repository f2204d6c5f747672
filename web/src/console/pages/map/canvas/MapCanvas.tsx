import "../map.css";
import { useCallback, useEffect, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Direction } from "../layout";
import { neighbour } from "../layout";
import { CameraTools } from "./CameraTools";
import { type Drawing, Picture } from "./picture";

export type MapCanvasProps = {
  drawing: Drawing;
  /** Height of the picture in pixels. */
  height: number;
  /** Name of the picture, with the sentence that sums it up. */
  label: string;
  tierLabel: (tier: number) => string;
  /** A group in words, for readers of the keyboard's place. */
  nameOf: (id: string) => string;
  onGroup: (id: string, byKey: boolean) => void;
  onEdge: (id: string) => void;
  /** The browser cannot draw with WebGL. */
  onFail: () => void;
  /** After the first frame. */
  onReady: () => void;
};

const arrows: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** The drawn map: canvas, names of the tiers, buttons of the camera, and the place of the keyboard. */
export default function MapCanvas(p: MapCanvasProps) {
  const { t } = useTranslation("map");
  const { box, picture, frame } = usePicture(p);
  const [cursor, setCursor] = useState("");
  const hint = useId();
  const at = cursor && p.drawing.layout.places.has(cursor) ? cursor : (p.drawing.layout.lines.at(-1)?.[0] ?? "");
  const key = (e: React.KeyboardEvent) => {
    const to = arrows[e.key];
    const pan: Record<Direction, [number, number]> = {
      left: [-0.2, 0],
      right: [0.2, 0],
      up: [0, 0.2],
      down: [0, -0.2],
    };
    if (to && e.shiftKey) picture.current?.pan(...pan[to]);
    else if (to) {
      const next = neighbour(p.drawing.layout, at, to);
      setCursor(next);
      picture.current?.reveal(next);
    } else if (e.key === "+" || e.key === "=") picture.current?.zoom(1 / 1.5);
    else if (e.key === "-") picture.current?.zoom(1.5);
    else if (e.key === "0") picture.current?.fit();
    else return;
    e.preventDefault();
  };
  return (
    <div className="fl-map" style={{ height: p.height }}>
      <div ref={box} className="fl-map-canvas" role="img" aria-label={p.label} data-map="canvas" />
      {frame ? <TierNames layout={p.drawing.layout} picture={picture} name={p.tierLabel} /> : null}
      {at ? (
        <Cursor
          key={at}
          id={at}
          moved={cursor !== ""}
          picture={picture}
          label={p.nameOf(at)}
          hint={hint}
          onKey={key}
          onOpen={() => p.onGroup(at, true)}
        />
      ) : null}
      <span id={hint} hidden>
        {t("keys")}
      </span>
      <CameraTools picture={picture} />
    </div>
  );
}

/** Makes the picture, keeps it up to date, and draws it anew on a change of the theme. `frame` counts the frames up to a change of the page. */
function usePicture(p: MapCanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const picture = useRef<Picture>(undefined);
  const [frame, setFrame] = useState(0);
  const latest = useRef(p);
  latest.current = p;
  const first = useRef(true);
  const onFrame = useCallback(() => {
    setFrame((n) => n + 1);
    if (!first.current || !latest.current.drawing.groups.length) return;
    first.current = false;
    latest.current.onReady();
  }, []);
  useEffect(() => {
    if (!box.current) return;
    try {
      picture.current = new Picture(box.current, {
        onGroup: (id) => latest.current.onGroup(id, false),
        onEdge: (id) => latest.current.onEdge(id),
        onFrame,
      });
      picture.current.draw(latest.current.drawing);
    } catch {
      box.current.replaceChildren();
      latest.current.onFail();
      return;
    }
    const again = () => picture.current?.recolour();
    const observer = new MutationObserver(again);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
    const contrast = matchMedia("(prefers-contrast: more)");
    contrast.addEventListener("change", again);
    return () => {
      observer.disconnect();
      contrast.removeEventListener("change", again);
      picture.current?.kill();
      picture.current = undefined;
    };
  }, [onFrame]);
  useEffect(() => picture.current?.draw(p.drawing), [p.drawing]);
  return { box, picture, frame };
}

type Shown = React.RefObject<Picture | undefined>;

/** The names of the tiers, at the left of their lines. */
function TierNames({
  layout,
  picture,
  name,
}: {
  layout: Drawing["layout"];
  picture: Shown;
  name: (tier: number) => string;
}) {
  return layout.tiers.map(({ tier, top }) => (
    <span
      key={tier}
      className="fl-map-tier"
      aria-hidden="true"
      style={{ transform: `translateY(${Math.round(picture.current?.heightAt(top + 34) ?? -100)}px)` }}
    >
      {name(tier)}
    </span>
  ));
}

/** The keyboard's place on the map: a button over one group. Arrows move it, Enter opens the group. */
function Cursor(p: {
  id: string;
  moved: boolean;
  picture: Shown;
  label: string;
  hint: string;
  onKey: (e: React.KeyboardEvent) => void;
  onOpen: () => void;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const { moved } = p;
  useEffect(() => {
    if (moved) button.current?.focus({ preventScroll: false });
  }, [moved]);
  const at = p.picture.current?.at(p.id);
  return (
    <button
      ref={button}
      type="button"
      className="fl-map-cursor"
      data-map-cursor={p.id}
      aria-label={p.label}
      aria-describedby={p.hint}
      style={{ transform: `translate(${Math.round(at?.x ?? 20)}px, ${Math.round(at?.y ?? 20)}px)` }}
      onKeyDown={p.onKey}
      onClick={p.onOpen}
    />
  );
}
