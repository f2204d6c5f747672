import { Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { ProblemNote } from "../../ui/ProblemNote";
import { Findings } from "./Findings";
import { useInForce } from "./inForce";
import { usePlan } from "./plans";
import { SharesTable } from "./SharesTable";
import { effectOf } from "./shareColumns";
import { shareRows } from "./shares";

type Plan = Pick<Schemas["Plan"], "name" | "tenants" | "findings">;

/** The plan in force with its predictions: `plan` is undefined while it is read, after a failure (`problem`), and without one (`name` is ""). */
export function usePlanInForce(fabric: string) {
  const inForce = useInForce(fabric);
  const name = inForce.plan?.name ?? "";
  const plan = usePlan(fabric, name);
  const known = inForce.known && (name === "" || !plan.isPending);
  return { name, known, plan: plan.data, problem: inForce.query.error ?? plan.error };
}

/** What a compiled plan would give each tenant, beside what the plan in force gives, and what the fabric cannot honour. */
export function CompiledPreview({ fabric, plan }: { fabric: string; plan: Plan }) {
  const { t } = useTranslation("parts");
  const inForce = usePlanInForce(fabric);
  const same = inForce.name === plan.name;
  const before = same ? undefined : inForce.plan?.tenants;
  const effects = before ? shareRows(plan.tenants, before).map(effectOf) : [];
  const count = (effect: string) => effects.filter((e) => e === effect).length;
  return (
    <Stack gap="md" data-preview={plan.name}>
      {inForce.problem ? <ProblemNote problem={inForce.problem} /> : null}
      {same ? <Text>{t("preview-same")}</Text> : null}
      {inForce.known && inForce.name === "" ? (
        <Text>{t("preview-first", { tenants: plan.tenants.length })}</Text>
      ) : null}
      {before ? (
        <Text>
          {t("preview-sentence", {
            gains: count("gains"),
            loses: count("loses"),
            new: count("new"),
            removed: count("removed"),
            same: count("same"),
          })}
        </Text>
      ) : null}
      {inForce.known ? <SharesTable after={plan.tenants} before={before} csvName="preview" /> : null}
      <section>
        <Title order={2} mb="xs">
          {t("findings")}
        </Title>
        <Findings items={plan.findings} />
      </section>
    </Stack>
  );
}
