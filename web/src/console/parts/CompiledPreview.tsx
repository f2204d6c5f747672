import { Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { ProblemNote } from "../../ui/ProblemNote";
import { Loading } from "../../ui/states";
import { Findings } from "./Findings";
import { Part } from "./Part";
import { type Plan, usePlanInForce } from "./plans";
import { SharesTable } from "./SharesTable";
import { effectOf } from "./shareColumns";
import { shareRows } from "./shares";

/** What a compiled plan would give each tenant, beside what the plan in force gives, and what the fabric cannot honour. */
export function CompiledPreview({
  fabric,
  plan,
}: {
  fabric: string;
  plan: Pick<Plan, "name" | "tenants" | "findings">;
}) {
  const { t } = useTranslation("parts");
  const inForce = usePlanInForce(fabric);
  if (!inForce.known) return inForce.problem ? <ProblemNote problem={inForce.problem} /> : <Loading />;
  const same = inForce.name === plan.name;
  const before = same ? undefined : inForce.plan?.tenants;
  const effects = before ? shareRows(plan.tenants, before).map(effectOf) : [];
  const count = (effect: string) => effects.filter((e) => e === effect).length;
  return (
    <Stack gap="md" data-preview={plan.name}>
      <Text>
        {same
          ? t("preview-same")
          : before
            ? t("preview-sentence", {
                gains: count("gains"),
                loses: count("loses"),
                new: count("new"),
                removed: count("removed"),
                same: count("same"),
              })
            : t("preview-first", { tenants: plan.tenants.length })}
      </Text>
      <SharesTable after={plan.tenants} before={before} csvName="preview" />
      <Part title={t("findings")}>
        <Findings items={plan.findings} />
      </Part>
    </Stack>
  );
}
