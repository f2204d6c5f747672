import { Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { DifferenceView } from "../../parts/DifferenceView";
import { Findings } from "../../parts/Findings";
import { Part } from "../../parts/Part";
import { SharesTable } from "../../parts/SharesTable";

/** What the edits would change: shares, then settings, links and findings. */
export function Outcome({ fabric, whatIf }: { fabric: string; whatIf: Schemas["WhatIf"] }) {
  const { t } = useTranslation("whatif");
  return (
    <Stack gap="lg">
      {whatIf.notices.length > 0 ? (
        <Part title={t("notices")}>
          <Findings items={whatIf.notices} />
        </Part>
      ) : null}
      <Part title={t("shares")}>
        <SharesTable after={whatIf.after.tenants} before={whatIf.before.tenants} csvName={`${fabric}-what-if`} />
      </Part>
      <Part title={t("changes")}>
        <DifferenceView difference={whatIf.difference} withoutShares />
      </Part>
      <Part title={t("findings")}>
        <Findings items={whatIf.findings} />
      </Part>
      <Text size="sm" c="dimmed">
        {t("predicted-only")}
      </Text>
    </Stack>
  );
}
