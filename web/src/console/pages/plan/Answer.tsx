import { useTranslation } from "react-i18next";
import { useDifferenceSentence } from "../../parts/DifferenceView";
import { shortPlan } from "../../parts/links";
import { severityOf } from "../../parts/severity";
import { useFigures } from "../../parts/useFigures";
import type { Context } from "./context";

/** The page's answer: what would change, what tenants would get, and whether the fabric can honour it. */
export function Answer({ context: x }: { context: Context }) {
  const { t } = useTranslation("plans");
  const { share } = useFigures();
  const sentence = useDifferenceSentence();
  const plan = x.plan.data;
  if (!plan) return null;
  const missed = plan.findings.filter((f) => severityOf(f.code) === "missed");
  const findings = t("answer-findings", {
    n: plan.findings.length,
    tenants: new Set(missed.flatMap((f) => f.tenants)).size,
  });
  const worst = share(Math.max(0, ...plan.tenants.map((s) => s.predicted_error)));
  let change: string;
  if (x.isInForce) change = t("answer-in-force", { tenants: plan.tenants.length, worst });
  else if (x.difference.data)
    change = t("answer-change", { sentence: sentence(x.difference.data, x.devices), plan: shortPlan(x.inForce.name) });
  else if (x.inForce.known && x.inForce.name === "")
    change = t("answer-first", {
      tenants: plan.tenants.length,
      devices: plan.cas.length + plan.switches.length,
      worst,
    });
  else return null;
  return <span data-answer>{t("answer", { change, findings })}</span>;
}
