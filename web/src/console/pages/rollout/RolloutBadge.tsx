import { useTranslation } from "react-i18next";
import type { IconName } from "../../../ui/icons";
import { rolloutLook, StateBadge, type Tone } from "../../../ui/StateBadge";
import { type Rollout, situationOf, type WaveState } from "./model";

/** The state of a rollout; of a running one, its phase. */
export function RolloutBadge({ rollout: ro }: { rollout: Rollout }) {
  const { t } = useTranslation(["rollouts", "common"]);
  const situation = situationOf(ro);
  const look = rolloutLook(ro.state);
  const icon: IconName = situation === "paused" ? "pause" : situation === "confirming" ? "clock" : look.icon;
  return (
    <span data-rollout-state={ro.state} data-situation={situation}>
      <StateBadge tone={look.tone} icon={icon}>
        {ro.state === "running" ? t(`situation.${situation}`) : t(`words:rollout.${ro.state}`, ro.state)}
      </StateBadge>
    </span>
  );
}

const waveLooks: Record<WaveState, { tone: Tone; icon: IconName }> = {
  waiting: { tone: "neutral", icon: "clock" },
  "not-reached": { tone: "neutral", icon: "dash" },
  running: { tone: "info", icon: "flow" },
  verified: { tone: "good", icon: "check" },
  failed: { tone: "bad", icon: "cross" },
  back: { tone: "neutral", icon: "undo" },
  mixed: { tone: "neutral", icon: "dash" },
};

/** The state of a wave. */
export function WaveBadge({ state }: { state: WaveState }) {
  const { t } = useTranslation("rollouts");
  return <StateBadge {...waveLooks[state]}>{t(`wave-state.${state}`)}</StateBadge>;
}
