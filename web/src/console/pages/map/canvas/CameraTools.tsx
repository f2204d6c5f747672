import { ActionIcon } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Picture } from "./picture";

/** Signs of the buttons, on a grid of 16. */
const signs = {
  in: "M8 3v10M3 8h10",
  out: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  up: "M3 10l5-5 5 5",
  down: "M3 6l5 5 5-5",
} as const;

/** Buttons in place of wheel and drag. */
export function CameraTools({ picture }: { picture: React.RefObject<Picture | undefined> }) {
  const { t } = useTranslation("map");
  const run: Record<keyof typeof signs, () => void> = {
    in: () => picture.current?.zoom(1 / 1.5),
    out: () => picture.current?.zoom(1.5),
    fit: () => picture.current?.fit(),
    left: () => picture.current?.pan(-0.25, 0),
    right: () => picture.current?.pan(0.25, 0),
    up: () => picture.current?.pan(0, 0.25),
    down: () => picture.current?.pan(0, -0.25),
  };
  return (
    <div className="fl-map-tools" role="toolbar" aria-label={t("camera")}>
      {(Object.keys(signs) as (keyof typeof signs)[]).map((name) => (
        <ActionIcon
          key={name}
          variant="default"
          size={28}
          aria-label={t(`camera.${name}`)}
          title={t(`camera.${name}`)}
          onClick={run[name]}
        >
          <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d={signs[name]} fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
          </svg>
        </ActionIcon>
      ))}
    </div>
  );
}
