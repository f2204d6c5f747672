import { Button, Group, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { download } from "../../../format/csv";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { csvOf, linesOf, mostExported, readAll } from "./exporting";
import type { AuditFilter } from "./queries";

type State = { read: number; done?: number; more?: boolean; problem?: unknown };

/** Saves the entries that match the filter, also those that are not loaded yet. */
export function ExportButtons({ filter }: { filter: AuditFilter }) {
  const { t } = useTranslation("audit");
  const [state, setState] = useState<State>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []); // another filter or page: its reader expects no file
  const busy = state !== undefined && state.done === undefined && state.problem === undefined;
  const save = async (kind: "csv" | "jsonl") => {
    const control = new AbortController();
    stop.current = control;
    setState({ read: 0 });
    try {
      const { entries, more } = await readAll(filter, (read) => setState({ read }), control.signal);
      if (kind === "csv") download("fairlane-audit.csv", csvOf(entries));
      else download("fairlane-audit.jsonl", linesOf(entries), "application/x-ndjson");
      setState({ read: entries.length, done: entries.length, more });
    } catch (problem) {
      setState(control.signal.aborted ? undefined : { read: 0, problem });
    }
  };
  return (
    <>
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<Icon name="download" />}
          disabled={busy}
          onClick={() => void save("csv")}
        >
          {t("export-csv")}
        </Button>
        <Button
          variant="default"
          leftSection={<Icon name="download" />}
          disabled={busy}
          onClick={() => void save("jsonl")}
        >
          {t("export-lines")}
        </Button>
        {busy ? (
          <>
            <Text size="sm">{t("export-read", { n: state.read })}</Text>
            <Button variant="default" onClick={() => stop.current?.abort()}>
              {t("export-stop")}
            </Button>
          </>
        ) : null}
        <Text size="sm" role="status">
          {state?.done === undefined
            ? ""
            : state.more
              ? t("export-more", { n: state.done, most: mostExported })
              : t("export-done", { n: state.done })}
        </Text>
      </Group>
      {state?.problem ? <ProblemNote problem={state.problem} /> : null}
    </>
  );
}
