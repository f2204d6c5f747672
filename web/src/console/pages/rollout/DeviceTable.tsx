import { Button, Stack, Table, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSay } from "../../../i18n/say";
import { Icon } from "../../../ui/icons";
import { Said } from "../../../ui/Said";
import { type Column, DataTable, type Sort } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { DeviceStateBadge } from "../../parts/DeviceStateBadge";
import { DeviceName } from "../../parts/links";
import { outcomesOf, type Rollout, type RolloutDevice } from "./model";

type Props = {
  rollout: Rollout;
  /** Shows one wave only, by its number from 1; "" shows all. */
  wave: string;
  onWave: (wave: string) => void;
  filter: string;
  onFilter: (filter: string) => void;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
};

/** Each device with its state, what is known of the writes to it, and whether a read has verified it. */
export function DeviceTable({ rollout: ro, wave, onWave, ...state }: Props) {
  const { t } = useTranslation("rollouts");
  const columns = useColumns(ro.state !== "running");
  const rows = useMemo(
    () => (ro.devices ?? []).filter((d) => wave === "" || String((d.wave ?? 0) + 1) === wave),
    [ro.devices, wave],
  );
  return (
    <DataTable
      caption={t("devices-caption")}
      rows={rows}
      columns={columns}
      rowId={(d) => d.id}
      expanded={(d) => <Receipts device={d} />}
      filterLabel={t("devices-filter")}
      csvName={`${ro.fabric}-rollout-${ro.id}`}
      count={(shown, total) => t("devices-count", { shown, total })}
      actions={
        wave ? (
          <Button size="xs" variant="default" onClick={() => onWave("")} rightSection={<Icon name="cross" size={12} />}>
            {t("only-wave", { n: Number(wave) })}
          </Button>
        ) : null
      }
      empty={<Text c="dimmed">{t("devices-none")}</Text>}
      {...state}
    />
  );
}

/**
 * Words for a device of a rollout: its state, with "verified" in place of "in sync" since it is about the read-back, and the answers to the
 * writes, of which none says that the device is verified.
 */
function useWords(ended: boolean) {
  const { t } = useTranslation(["rollouts", "common"]);
  return useMemo(
    () => ({
      state: (d: RolloutDevice) => {
        if (d.state === "in-sync") return t("verified");
        if (d.state === "pending" && ended) return t("not-written");
        return t(`words:device.${d.state}`, d.state);
      },
      written: (d: RolloutDevice) =>
        outcomesOf(d)
          .map(([outcome, n]) => t(`outcome-n.${outcome}`, { n }))
          .join(t("separator")) || t(d.touched ? "written.unknown" : "written.none"),
    }),
    [t, ended],
  );
}

function useColumns(ended: boolean): Column<RolloutDevice>[] {
  const { t } = useTranslation(["rollouts", "common"]);
  const say = useSay();
  const words = useWords(ended);
  return useMemo(
    () => [
      {
        id: "device",
        header: t("common:device"),
        value: (d) => d.name,
        cell: (d) => <DeviceName name={d.name} id={d.id} />,
      },
      { id: "kind", header: t("common:kind"), value: (d) => t(`common:kind.${d.kind}`) },
      { id: "wave", minor: true, header: t("wave"), align: "end", value: (d) => (d.wave ?? 0) + 1 },
      {
        id: "state",
        header: t("common:state"),
        value: words.state,
        cell: (d) => <DeviceStateBadge state={d.state}>{words.state(d)}</DeviceStateBadge>,
      },
      { id: "written", header: t("written"), value: words.written },
      {
        id: "step",
        header: t("step"),
        width: 16,
        value: (d) => (d.error ? say(d.error_said, d.error) : say(d.note_said, d.note ?? "")),
        missing: "",
        cell: (d) => (
          <span className="fl-name">
            {d.error ? (
              <Text span inherit c="var(--fl-bad)">
                <Said said={d.error_said} english={d.error} />
              </Text>
            ) : (
              <Said said={d.note_said} english={d.note} />
            )}
          </span>
        ),
      },
      {
        id: "updated",
        minor: true,
        header: t("updated"),
        value: (d) => d.updated_at,
        cell: (d) => <When at={d.updated_at} />,
      },
    ],
    [t, say, words],
  );
}

/** The answer to each write. */
function Receipts({ device: d }: { device: RolloutDevice }) {
  const { t } = useTranslation("rollouts");
  const receipts = d.receipt ?? [];
  return (
    <Stack gap="xs">
      {receipts.length === 0 ? (
        <Text size="sm">{t("receipts-none")}</Text>
      ) : (
        <Table verticalSpacing={2} fz="sm" maw={640}>
          <Table.Caption>{t("receipts-why")}</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t("field")}</Table.Th>
              <Table.Th scope="col">{t("outcome")}</Table.Th>
              <Table.Th scope="col">{t("detail")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {receipts.map((r, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a field may be written twice
              <Table.Tr key={`${r.field} ${i}`}>
                <Table.Th scope="row" fw={400}>
                  <code>{r.field}</code>
                </Table.Th>
                <Table.Td>{t(`outcome.${r.outcome}`, r.outcome)}</Table.Td>
                <Table.Td className="fl-name">
                  <Said said={r.said} english={r.detail} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Text size="sm">{t(d.touched ? "touched" : "untouched")}</Text>
    </Stack>
  );
}
