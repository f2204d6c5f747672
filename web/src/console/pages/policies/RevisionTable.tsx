import { Group } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useSay } from "../../../i18n/say";
import { Quote } from "../../../ui/Said";
import { StateBadge } from "../../../ui/StateBadge";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { RevisionName } from "../../parts/links";
import { useFigures } from "../../parts/useFigures";

type Policy = Schemas["Policy"];

type Props = {
  fabric: string;
  list: Policy[];
  /** Revision that the plan in force was compiled from. */
  inForce: number | undefined;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  filter: string;
  onFilter: (filter: string) => void;
  empty: React.ReactNode;
};

/** Revisions of the policy, the newest first. */
export function RevisionTable({ fabric, list, inForce, ...rest }: Props) {
  const { t } = useTranslation("policies");
  const actor = useActor();
  const say = useSay();
  const { number } = useFigures();
  const latest = list[0]?.revision;
  const columns = useMemo<Column<Policy>[]>(
    () => [
      {
        id: "revision",
        header: t("revision"),
        value: (p) => p.revision,
        cell: (p) => <RevisionName revision={p.revision} />,
      },
      {
        id: "state",
        header: t("state"),
        value: (p) => [p.revision === latest ? t("latest") : "", p.revision === inForce ? t("in-force") : ""].join(" "),
        cell: (p) => (
          <Group gap={4} wrap="nowrap">
            {p.revision === latest ? <StateBadge tone="info">{t("latest")}</StateBadge> : null}
            {p.revision === inForce ? <StateBadge tone="good">{t("in-force")}</StateBadge> : null}
          </Group>
        ),
      },
      {
        id: "label",
        header: t("label"),
        value: (p) => p.label,
        missing: t("no-label"),
        cell: (p) => (p.label ? <Quote>{p.label}</Quote> : undefined),
      },
      { id: "message", header: t("message"), value: (p) => say(p.said, p.message), width: 12 },
      { id: "actor", header: t("actor"), value: (p) => actor(p.actor) },
      { id: "at", header: t("at"), value: (p) => p.created_at, cell: (p) => <When at={p.created_at} /> },
      {
        id: "restores",
        minor: true,
        header: t("restores"),
        value: (p) => p.restores,
        missing: t("restores-none"),
        cell: (p) => (p.restores === undefined ? undefined : <RevisionName revision={p.restores} />),
      },
      {
        id: "tenants",
        minor: true,
        header: t("tenants"),
        align: "end",
        value: (p) => p.tenants,
        cell: (p) => number(p.tenants),
      },
      {
        id: "flows",
        minor: true,
        header: t("flows"),
        align: "end",
        value: (p) => p.flows,
        cell: (p) => number(p.flows),
      },
    ],
    [t, say, number, latest, inForce, actor],
  );
  return (
    <DataTable
      caption={t("revisions")}
      rows={list}
      columns={columns}
      rowId={(p) => String(p.revision)}
      count={(shown, total) => t("revisions-count", { shown, total })}
      filterLabel={t("revisions-filter")}
      csvName={`${fabric}-policy`}
      maxHeight="28rem"
      {...rest}
    />
  );
}
