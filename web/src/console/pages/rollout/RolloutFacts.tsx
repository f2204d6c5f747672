import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Fact, Facts } from "../../../ui/Facts";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { PlanName } from "../../parts/links";
import { purposeOf, type Rollout, secondsOf } from "./model";

/** What is rolled out, by which account, since when, with which bounds. */
export function RolloutFacts({ rollout: ro }: { rollout: Rollout }) {
  const { t } = useTranslation("rollouts");
  const actor = useActor();
  const { duration, count } = useFormat();
  const o = ro.options ?? {};
  return (
    <Facts>
      <Fact name={t("plan")}>
        <PlanName name={ro.plan} />
      </Fact>
      <Fact name={t("purpose")}>{t(`purpose.${purposeOf(ro)}`, { to: ro.to ?? "" })}</Fact>
      <Fact name={t("actor")}>{actor(ro.actor)}</Fact>
      <Fact name={t("started")}>
        <When at={ro.created_at} />
      </Fact>
      <Fact name={t("took")}>{duration(secondsOf(ro)) ?? t("not-ended")}</Fact>
      <Fact name={t("stages")}>{ro.stages.map((s) => t(`words:stage.${s}`)).join(t("separator"))}</Fact>
      <Fact name={t("canary-size")}>{count(o.canary || 1)}</Fact>
      <Fact name={t("domain")}>{t(`domain.${o.domain ?? "leaf"}`)}</Fact>
      <Fact name={t("attempts")}>{count(o.attempts || 4)}</Fact>
    </Facts>
  );
}
