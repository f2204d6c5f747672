import { Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSay } from "../../../i18n/say";
import { Icon } from "../../../ui/icons";
import { Said } from "../../../ui/Said";
import { type Column, DataTable, type Sort } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { DeviceStateBadge } from "../../parts/DeviceStateBadge";
import { useDeviceWord } from "../../parts/links";
import type { Device } from "./model";

type Props = {
  fabric: string;
  rows: Device[];
  filter: string;
  onFilter: (filter: string) => void;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
};

/** Devices of the plan in force with their latest reading. */
export function DeviceTable({ fabric, rows, ...state }: Props) {
  const { t } = useTranslation("devices");
  const columns = useColumns();
  return (
    <DataTable
      caption={t("caption")}
      rows={rows}
      columns={columns}
      rowId={(d) => d.id}
      href={(d) => `/console/f/${encodeURIComponent(fabric)}/devices/${encodeURIComponent(d.id)}`}
      filterLabel={t("filter")}
      csvName={`${fabric}-devices`}
      count={(shown, total) => t("count", { shown, total })}
      columnMenu
      empty={<Text c="dimmed">{t("none-of-state")}</Text>}
      {...state}
    />
  );
}

function useColumns(): Column<Device>[] {
  const { t } = useTranslation(["devices", "common"]);
  const word = useDeviceWord();
  const say = useSay();
  return useMemo(
    () => [
      { id: "device", header: t("common:device"), value: (d) => word(d.name) },
      {
        id: "state",
        header: t("common:state"),
        value: (d) => t(`words:device.${d.state}`, d.state),
        cell: (d) => <DeviceStateBadge state={d.state} />,
      },
      { id: "kind", header: t("common:kind"), value: (d) => t(`common:kind.${d.kind}`) },
      {
        id: "differences",
        header: t("differences"),
        align: "end",
        value: (d) => (d.read_at ? d.differences.length : undefined),
        missing: t("not-read"),
      },
      {
        id: "read",
        header: t("read"),
        value: (d) => d.read_at,
        missing: t("common:never"),
        cell: (d) => (d.read_at ? <When at={d.read_at} /> : undefined),
      },
      {
        id: "policy",
        minor: true,
        header: t("policy"),
        value: (d) => (d.policy ? t(`words:policy.${d.policy}`) : undefined),
        missing: "",
        cell: (d) =>
          d.policy ? (
            <span>
              {d.policy === "freeze" ? <Icon name="lock" size={13} /> : null} {t(`words:policy.${d.policy}`)}
              {d.policy_inherited ? (
                <Text span c="dimmed" inherit>
                  {t("gap")}
                  {t("inherited")}
                </Text>
              ) : null}
            </span>
          ) : undefined,
      },
      { id: "incidents", minor: true, header: t("incidents"), align: "end", value: (d) => d.incidents ?? 0 },
      {
        id: "note",
        header: t("note"),
        width: 16,
        value: (d) => say(...noteOf(d)),
        missing: "",
        cell: (d) => {
          const [said, english] = noteOf(d);
          return (
            <span className="fl-name">
              <Said said={said} english={english} />
            </span>
          );
        },
      },
      {
        id: "next",
        header: t("next-read"),
        value: (d) => d.next_read_at,
        missing: "",
        hidden: true,
        cell: (d) => (d.next_read_at ? <When at={d.next_read_at} /> : undefined),
      },
      { id: "id", header: t("id"), value: (d) => d.id, hidden: true, cell: (d) => <code>{d.id}</code> },
    ],
    [t, say, word],
  );
}

/** What is to be said about a device: why it could not be read, or is quarantined, or what a rollout does with it. */
function noteOf(d: Device): [said: unknown, english: string] {
  if (d.error) return [d.error_said, d.error];
  if (d.quarantine_reason) return [d.quarantine_said, d.quarantine_reason];
  return [d.said, d.note ?? ""];
}
