import { useRouterState } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { shortPlan } from "../../parts/links";
import { OutcomeBadge } from "./OutcomeBadge";
import type { Entry } from "./queries";
import { useActionWord } from "./words";

/**
 * The entries in the order of the service. The columns have no values to sort by: an order of the loaded part would not
 * be the order of the log.
 */
export function AuditTable({ entries, onEnd }: { entries: Entry[]; onEnd?: () => void }) {
  const { t } = useTranslation(["audit", "common"]);
  const actor = useActor();
  const word = useActionWord();
  const search = useRouterState({ select: (s) => s.location.searchStr });
  const columns = useMemo<Column<Entry>[]>(
    () => [
      { id: "seq", header: t("number"), cell: (e) => e.seq, align: "end", width: 5 },
      { id: "at", header: t("common:time"), cell: (e) => <When at={e.at} />, width: 8 },
      {
        id: "actor",
        header: t("common:actor"),
        cell: (e) => (
          <>
            <bdi>{actor(e.actor)}</bdi>{" "}
            {e.actor_kind === "system" ? null : <span className="fl-missing">{t(`kind.${e.actor_kind}`)}</span>}
          </>
        ),
        width: 13,
      },
      { id: "action", header: t("action"), cell: (e) => word(e.action), width: 13 },
      {
        id: "object",
        header: t("object"),
        cell: (e) => <bdi title={e.object}>{shortObject(e.object)}</bdi>,
        width: 12,
      },
      { id: "fabric", minor: true, header: t("common:fabric"), cell: (e) => e.fabric ?? "", width: 8 },
      {
        id: "outcome",
        header: t("outcome"),
        cell: (e) => <OutcomeBadge outcome={e.outcome} />,
        width: 7,
      },
    ],
    [t, word, actor],
  );
  return (
    <DataTable
      caption={t("entries")}
      rows={entries}
      columns={columns}
      rowId={(e) => String(e.seq)}
      href={(e) => hrefOf(search, e.seq)}
      filterLabel=""
      count={(_, total) => t("loaded", { n: total })}
      onEnd={onEnd}
    />
  );
}

/** The name of an object; plans and snapshots, whose names are hashes, by the first digits. */
export const shortObject = (name: string) => (/^[0-9a-f]{64}$/.test(name) ? `${shortPlan(name)}…` : name);

/** The address of the page with the entry open and the same filters. */
function hrefOf(search: string, seq: number): string {
  const parameters = new URLSearchParams(search);
  parameters.set("seq", String(seq));
  return `/console/audit?${parameters}`;
}
