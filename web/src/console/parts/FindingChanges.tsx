import { Stack, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { Findings } from "./Findings";

/** Findings that appear, disappear, or change their text between two plans. */
export function FindingChanges({ difference: d }: { difference: Schemas["PlanDifference"] }) {
  const { t } = useTranslation("parts");
  const lists: [string, Schemas["Finding"][]][] = [
    ["appeared", d.appeared ?? []],
    ["vanished", d.vanished ?? []],
    ["reworded", (d.reworded ?? []).map((x) => x.after)],
  ];
  return lists.map(([name, items]) =>
    items.length > 0 ? (
      <Stack key={name} gap="xs" data-findings-change={name}>
        <Title order={3}>{t(`findings-${name}`)}</Title>
        <Findings items={items} />
      </Stack>
    ) : null,
  );
}
