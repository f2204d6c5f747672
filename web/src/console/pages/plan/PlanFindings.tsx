import { useTranslation } from "react-i18next";
import { Findings } from "../../parts/Findings";
import { Part } from "../../parts/Part";
import type { Plan } from "../../parts/plans";

/** What the fabric cannot honour: known before anything is sent. */
export function PlanFindings({ plan }: { plan: Plan }) {
  const { t } = useTranslation("plans");
  return (
    <Part title={t("findings")}>
      <Findings items={plan.findings} />
    </Part>
  );
}
