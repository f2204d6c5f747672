import { Group, Progress, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { useNow } from "../../../ui/now";
import { rolloutLook, StateBadge } from "../../../ui/StateBadge";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { PlanName, RolloutName } from "../../parts/links";
import { Panel } from "./Panel";

type Rollout = Schemas["OverviewRollout"];

/** The running rollout: how far it is, and until when it must be confirmed. */
export function RolloutPart({ rollout: r }: { rollout: Rollout }) {
  const { t } = useTranslation(["overview", "common"]);
  const actor = useActor();
  const wave = Math.max(0, Math.min(r.wave + 1, r.waves));
  return (
    <Panel title={t("rollout")} name="rollout">
      <Group gap="sm">
        <RolloutName id={r.id} />
        <StateBadge {...rolloutLook(r.state)}>{t(`words:phase.${r.phase}`, { defaultValue: r.phase })}</StateBadge>
        <Text span className="fl-name">
          {t("rollout-by", { actor: actor(r.actor), repair: r.repair ? "yes" : "no" })} <When at={r.created_at} />
        </Text>
        <PlanName name={r.plan} />
      </Group>
      {r.waves > 0 ? (
        <>
          <Progress
            value={r.phase === "confirming" ? 100 : (Math.max(0, r.wave) / r.waves) * 100}
            aria-label={t("rollout-progress")}
          />
          <Text size="sm">{t("rollout-wave", { wave, waves: r.waves })}</Text>
        </>
      ) : null}
      {r.confirm_by ? <Countdown by={r.confirm_by} /> : null}
    </Panel>
  );
}

function Countdown({ by }: { by: string }) {
  const { t } = useTranslation("overview");
  const format = useFormat();
  const left = (Date.parse(by) - useNow(1)) / 1000;
  return (
    <Text fw={600}>{left > 0 ? t("confirm-within", { left: format.duration(left) ?? "" }) : t("confirm-over")}</Text>
  );
}
