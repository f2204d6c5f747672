import { Stack, Table, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { Icon } from "../../../ui/icons";
import { ScrollTable } from "../../parts/ScrollTable";
import { ControlTable } from "./ControlTable";
import { type Compared, compared } from "./matrices";

type Settings = Schemas["DeviceSettings"];

/** Desired settings with the observed value beside each one that differs. */
export function SettingsTables({ desired, observed }: { desired?: Settings; observed?: Settings }) {
  const { t } = useTranslation("devices");
  const tables = compared(desired, observed);
  if (tables.length === 0) return <Text c="dimmed">{t("settings-none")}</Text>;
  return (
    <Stack gap="lg">
      <Text size="sm" c="dimmed">
        {observed ? t("settings-both") : t("settings-desired")}
      </Text>
      {tables.map((m) => (
        <SettingsTable key={m.id} matrix={m} />
      ))}
      {(desired ?? observed)?.ca ? <ControlTable desired={desired?.ca?.table} observed={observed?.ca?.table} /> : null}
    </Stack>
  );
}

function SettingsTable({ matrix: m }: { matrix: Compared }) {
  const { t } = useTranslation("devices");
  const quiet = m.rows.filter((r) => r.quiet).length;
  const named = m.rows.some((r) => r.name !== "");
  return (
    <section>
      <Title order={3} mb={4}>
        {t(`settings.${m.id}`)}
      </Title>
      <ScrollTable
        label={t(`settings.${m.id}`)}
        minWidth={300}
        head={[...(named ? [t(`row.${m.id}`)] : []), ...m.columns.map((c) => ({ end: t(`setting.${c}`, c) }))]}
        fz="sm"
        w="auto"
        data-settings={m.id}
      >
        {m.rows
          .filter((r) => !r.quiet)
          .map((r) => (
            <Table.Tr key={r.name}>
              {named ? (
                <Table.Th scope="row" fw={500} className="fl-name">
                  {r.name}
                </Table.Th>
              ) : null}
              {r.cells.map((c) => (
                <Table.Td key={c.column} ta="end" className="fl-numeric">
                  <Cell {...c} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
      </ScrollTable>
      {quiet > 0 ? (
        <Text size="sm" c="dimmed">
          {t("settings-quiet", { n: quiet })}
        </Text>
      ) : null}
    </section>
  );
}

function Cell({ desired, observed, differs }: Compared["rows"][number]["cells"][number]) {
  const { t } = useTranslation(["devices", "common"]);
  const word = (v: string | undefined) => (v === "yes" || v === "no" ? t(`common:${v}`) : (v ?? t("absent")));
  if (!differs) return <span>{word(desired ?? observed)}</span>;
  return (
    <span className="fl-state" data-tone="warn" data-differs>
      <Icon name="warning" size={13} />
      <span>{t("cell-differs", { desired: word(desired), observed: word(observed) })}</span>
    </span>
  );
}
