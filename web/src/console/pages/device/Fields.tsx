import { Button, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { ScrollTable } from "../../parts/ScrollTable";
import { grouped } from "./fields";

type Props = {
  differences: Schemas["Difference"][];
  /** Header of the values that are on the device (or were compared with), and of those it shall have. */
  before: string;
  after: string;
};

/** Lines shown before the reader asks for more. */
const first = 30;

/** Fields that differ, side by side. Neighbours of a list with the same change are one line: "cct[1..127]". */
export function Fields({ differences, before, after }: Props) {
  const { t } = useTranslation("devices");
  const [all, setAll] = useState(false);
  const lines = grouped(differences);
  const shown = all ? lines : lines.slice(0, first);
  if (lines.length === 0) return <Text size="sm">{t("fields-none")}</Text>;
  return (
    <Stack gap="xs" align="flex-start">
      <ScrollTable
        label={t("fields")}
        minWidth={320}
        head={[t("field"), before, after]}
        fz="sm"
        data-fields={differences.length}
      >
        {shown.map((l) => (
          <Table.Tr key={l.field}>
            <Table.Th scope="row" fw={400}>
              <code className="fl-name">{l.field}</code>
            </Table.Th>
            <Table.Td>
              <code className="fl-name">{l.observed}</code>
            </Table.Td>
            <Table.Td>
              <code className="fl-name">{l.desired}</code>
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      {shown.length < lines.length ? (
        <Button variant="subtle" size="compact-sm" onClick={() => setAll(true)}>
          {t("fields-more", { n: lines.length - shown.length })}
        </Button>
      ) : null}
    </Stack>
  );
}
