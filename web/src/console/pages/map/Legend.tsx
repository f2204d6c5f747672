import { Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { stateColour, stateSign } from "./canvas/colours";
import { type State, states } from "./model";

/** The sign of a state as the picture draws it. */
export function StateSign({ state, square = true, size = 18 }: { state: State; square?: boolean; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 18 18" aria-hidden="true" focusable="false">
      {square ? (
        <rect x="1.5" y="1.5" width="15" height="15" fill={`var(${stateColour[state]})`} />
      ) : (
        <circle cx="9" cy="9" r="8" fill={`var(${stateColour[state]})`} />
      )}
      <text x="9" y="13.5" textAnchor="middle" fontSize="13" fontWeight="700" fill="var(--fl-ink-inverse)">
        {stateSign[state]}
      </text>
    </svg>
  );
}

/** What shapes, signs and colours of the picture mean. */
export function Legend() {
  const { t } = useTranslation(["map", "common"]);
  const lines: [style: React.CSSProperties, text: string][] = [
    [{ borderTop: "4px solid var(--fl-warn)" }, t("legend.contended")],
    [{ borderTop: "3px solid var(--fl-ink)" }, t("legend.down")],
    [{ borderTop: "3px solid var(--fl-series-1)" }, t("legend.path")],
    [{ borderTop: "1px solid var(--fl-ink-soft)" }, t("legend.plain")],
  ];
  return (
    <Stack gap="xs">
      <Title order={2}>{t("legend")}</Title>
      <ul className="fl-map-legend">
        <li>
          <StateSign state="ok" /> {t("legend.switches")}
        </li>
        <li>
          <StateSign state="ok" square={false} /> {t("legend.hosts")}
        </li>
        {states
          .filter((s) => s !== "ok")
          .map((s) => (
            <li key={s}>
              <StateSign state={s} /> {t(`common:map.${s}`)}
            </li>
          ))}
        {lines.map(([style, text]) => (
          <li key={text}>
            <span className="fl-map-stroke" style={style} /> {text}
          </li>
        ))}
      </ul>
      <Text size="sm" c="dimmed">
        {t("legend.hint")}
      </Text>
    </Stack>
  );
}
