import { useTranslation } from "react-i18next";
import type { IconName } from "../../../ui/icons";
import { StateBadge, type Tone } from "../../../ui/StateBadge";
import type { State } from "./model";

const looks: Record<State, { tone: Tone; icon: IconName }> = {
  ok: { tone: "neutral", icon: "check" },
  contended: { tone: "warn", icon: "warning" },
  drifted: { tone: "warn", icon: "edit" },
  "below-share": { tone: "bad", icon: "down" },
  down: { tone: "bad", icon: "cross" },
};

/** The state of a group of the map. */
export function MapBadge({ state }: { state: State }) {
  const { t } = useTranslation("common");
  return <StateBadge {...(looks[state] ?? looks.ok)}>{t(`map.${state}`, { defaultValue: state })}</StateBadge>;
}
