import { Button, Group, Stack } from "@mantine/core";
import { useCallback, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { Empty, QueryView } from "../../ui/states";
import { useActor } from "../../ui/useActor";
import { useUrlState } from "../../ui/useUrlState";
import { Part } from "../parts/Part";
import { AuditFilters } from "./audit/AuditFilters";
import { AuditTable, shortObject } from "./audit/AuditTable";
import { ChainCheck, useCheck } from "./audit/ChainCheck";
import { EntryDrawer } from "./audit/EntryDrawer";
import { ExportButtons } from "./audit/ExportButtons";
import { type AuditFilter, type Entry, noFilter, parametersOf, useEntries } from "./audit/queries";
import { useActionWord } from "./audit/words";

/** Who did what, and whether the chain of entries is whole. */
export default function Audit() {
  const { t } = useTranslation(["audit", "shell", "common"]);
  const actor = useActor();
  const word = useActionWord();
  const [{ seq, ...filter }, setUrl] = useUrlState({ ...noFilter, seq: "" });
  const list = useEntries(filter);
  const entries = useMemo(() => list.data?.pages.flatMap((p) => p.items) ?? [], [list.data]);
  const check = useCheck();
  const open = /^[1-9]\d{0,15}$/.test(seq) ? Number(seq) : undefined;
  const filtered = Object.keys(parametersOf({ ...filter, order: "newest" })).length > 0;
  const newest = filter.order === "newest" ? entries[0] : entries.at(-1);
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  return (
    <Page
      title={t("shell:nav.audit")}
      answer={
        newest
          ? t("answer", {
              actor: actor(newest.actor),
              action: word(newest.action),
              object: shortObject(newest.object),
              filtered: filtered || filter.order === "oldest" ? "yes" : "no",
              chain: check.data ? (check.data.ok ? "whole" : "broken") : "unchecked",
            })
          : undefined
      }
      copy={{ command: commandOf(filter), api: `GET /api/v1/audit${queryOf(filter)}` }}
      ready={list.data !== undefined}
    >
      <Stack gap="lg">
        <ChainCheck check={check} />
        <Part title={t("entries")}>
          <Stack gap="sm">
            <AuditFilters filter={filter} onFilter={(next) => setUrl({ ...next, seq: "" }, true)} />
            <QueryView query={list}>
              {() => (
                <>
                  <ExportButtons filter={filter} />
                  {entries.length > 0 ? (
                    <AuditTable entries={entries} onEnd={more} />
                  ) : (
                    <None filtered={filtered} onClear={() => setUrl(noFilter)} />
                  )}
                  <Group gap="sm">
                    {hasNextPage ? (
                      <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                        {t("load-more")}
                      </Button>
                    ) : null}
                    <Button variant="default" loading={list.isRefetching} onClick={() => void list.refetch()}>
                      {t("common:refresh")}
                    </Button>
                  </Group>
                </>
              )}
            </QueryView>
          </Stack>
        </Part>
      </Stack>
      {open === undefined ? null : (
        <EntryDrawer
          key={open}
          seq={open}
          known={entries.find((e: Entry) => e.seq === open)}
          onClose={() => setUrl({ seq: "" })}
        />
      )}
    </Page>
  );
}

function None({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  const { t } = useTranslation("audit");
  return filtered ? (
    <Empty
      title={t("none-match")}
      why={t("none-match-why")}
      action={
        <Button variant="default" onClick={onClear}>
          {t("clear")}
        </Button>
      }
    />
  ) : (
    <Empty title={t("empty")} why={t("empty-why")} />
  );
}

/** The command of the CLI with the same filter; it always prints the newest entry first. */
function commandOf(filter: AuditFilter): string {
  const flags = (["action", "actor", "object", "since", "until"] as const)
    .filter((name) => filter[name])
    .map((name) => ` --${name} ${shellWord(filter[name])}`);
  return `fairlane audit list${flags.join("")}${filter.fabric ? ` --fabric ${shellWord(filter.fabric)}` : ""}`;
}

function queryOf(filter: AuditFilter): string {
  const text = new URLSearchParams(parametersOf(filter)).toString();
  return text ? `?${text}` : "";
}
