import { Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Findings } from "./Findings";
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
