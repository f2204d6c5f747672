import "./rollout.css";
import { Text, UnstyledButton } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Wave } from "./model";
import { WaveBadge } from "./RolloutBadge";

type Props = {
  waves: Wave[];
  /** Number of the wave that is being written, from 0; -1 for none. */
  current: number;
  /** The wave that the table of devices shows, and its setter; "" shows all. */
  shown: string;
  onShow: (wave: string) => void;
};

/** The waves as a row of steps. A press shows the devices of a wave. */
export function WaveSteps({ waves, current, shown, onShow }: Props) {
  const { t } = useTranslation("rollouts");
  if (waves.length === 0) return <Text c="dimmed">{t("no-waves")}</Text>;
  return (
    <ol className="fl-waves" aria-label={t("waves")}>
      {waves.map((w) => (
        <li key={w.number} aria-current={w.number === current ? "step" : undefined}>
          <UnstyledButton
            className="fl-wave"
            data-wave={w.number + 1}
            data-state={w.state}
            aria-pressed={shown === String(w.number + 1)}
            onClick={() => onShow(shown === String(w.number + 1) ? "" : String(w.number + 1))}
          >
            <span className="fl-wave-name">
              {t("wave-n", { n: w.number + 1 })}
              {w.canary ? <span className="fl-wave-canary">{t("canary")}</span> : null}
            </span>
            <WaveBadge state={w.state} />
            <span className="fl-numeric">{t("wave-verified", { verified: w.counts.verified, all: w.counts.all })}</span>
            {w.counts.failed > 0 ? <span>{t("wave-failed", { n: w.counts.failed })}</span> : null}
            {w.counts.back > 0 ? <span>{t("wave-back", { n: w.counts.back })}</span> : null}
          </UnstyledButton>
        </li>
      ))}
    </ol>
  );
}
