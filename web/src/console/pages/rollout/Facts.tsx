import "./rollout.css";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { When } from "../../../ui/When";
import { PlanName } from "../../parts/links";
import { purposeOf, type Rollout } from "./model";

/** What is rolled out, by whom, since when, with which bounds. */
export function Facts({ rollout: ro }: { rollout: Rollout }) {
  const { t } = useTranslation("rollouts");
  const { duration, count } = useFormat();
  const o = ro.options ?? {};
  const end = ro.finished_at ? Date.parse(ro.finished_at) : undefined;
  const facts: [string, React.ReactNode][] = [
    [t("plan"), <PlanName key="plan" name={ro.plan} />],
    [t("purpose"), t(`purpose.${purposeOf(ro)}`, { to: ro.to ?? "" })],
    [
      t("actor"),
      <span key="actor" className="fl-name">
        {ro.actor}
      </span>,
    ],
    [t("started"), <When key="started" at={ro.created_at} />],
    [t("took"), end ? duration((end - Date.parse(ro.created_at)) / 1000) : t("not-ended")],
    [t("stages"), ro.stages.map((s) => t(`stage.${s}`)).join(t("separator"))],
    [t("canary-size"), count(o.canary || 1)],
    [t("domain"), t(`domain.${o.domain ?? "leaf"}`)],
    [t("attempts"), count(o.attempts || 4)],
  ];
  return (
    <dl className="fl-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
