import { Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { DifferenceView } from "../../parts/DifferenceView";
import { Findings } from "../../parts/Findings";
import type { FieldName } from "./declared";

type Props = { changes: FieldName[]; whatIf: Schemas["WhatIf"] | undefined };

/** What the change would do: shares before and after, devices, findings. Nothing is sent to devices by saving. */
export function EditPreview({ changes, whatIf }: Props) {
  const { t } = useTranslation("tenant");
  const other = changes.filter((c) => c === "pkey" || c === "classes" || c === "attachments");
  return (
    <Stack gap="sm" data-preview="edit">
      <Title order={3}>{t("preview-title")}</Title>
      <Text role="status">{t("preview-why", { n: changes.length })}</Text>
      {other.length > 0 ? <Text>{t("preview-other")}</Text> : null}
      {whatIf ? (
        <>
          <DifferenceView difference={whatIf.difference} />
          <Findings items={[...whatIf.notices, ...whatIf.findings]} />
        </>
      ) : null}
    </Stack>
  );
}
