import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/useFormat";
import { useSay } from "../../i18n/say";
import { useFabricName, useFabrics } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Icon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Said } from "../../ui/Said";
import { Empty, QueryView } from "../../ui/states";
import { type Column, DataTable } from "../../ui/table/DataTable";
import { sortOf, sortText } from "../../ui/table/sort";
import { useActor } from "../../ui/useActor";
import { useUrlState } from "../../ui/useUrlState";
import { When } from "../../ui/When";
import { ActionButton } from "../parts/ActionButton";
import { PlanName, RolloutName } from "../parts/links";
import { purposeOf, type Rollout, secondsOf } from "./rollout/model";
import { useRollouts } from "./rollout/queries";
import { RolloutBadge } from "./rollout/RolloutBadge";
import { Management } from "./rollouts/Management";
import { ReleaseFabric } from "./rollouts/ReleaseFabric";

/** Rollouts, newest first, and the dialog that releases the fabric. */
export default function Rollouts() {
  const { t } = useTranslation(["rollouts", "shell", "common"]);
  const fabric = useFabricName();
  const rollouts = useRollouts(fabric);
  const managed = useFabrics().data?.find((f) => f.name === fabric)?.management ?? "managed";
  const [url, setUrl] = useUrlState({ filter: "", sort: "", dialog: "" });
  const allowed = useCan()("rollout", "run", fabric);
  const running = rollouts.data?.find((r) => r.state === "running");
  const last = rollouts.data?.[0];
  const answer = !rollouts.data ? undefined : running ? (
    <>
      {t("list-running")}
      {t("gap")}
      <RolloutName id={running.id} />
    </>
  ) : last ? (
    t("list-last", { id: last.id, state: t(`words:rollout.${last.state}`), n: rollouts.data.length })
  ) : (
    t("list-none")
  );
  return (
    <Page
      title={t("shell:nav.rollouts")}
      answer={answer}
      actions={
        <Group gap="xs">
          <Button variant="default" component={Link} to={`/console/f/${encodeURIComponent(fabric)}/plans`}>
            {t("to-plans")}
          </Button>
          <ActionButton
            allowed={allowed}
            reason={managed === "released" ? t("already-released") : running ? t("wait-for-running") : undefined}
            variant="default"
            onClick={() => setUrl({ dialog: "release" })}
            leftSection={<Icon name="lock" />}
          >
            {t("release-open")}
          </ActionButton>
        </Group>
      }
      copy={{
        command: `fairlane rollout list --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/rollouts`,
      }}
      ready={rollouts.data !== undefined}
    >
      <Management fabric={fabric} />
      <QueryView query={rollouts}>
        {(list) => (
          <RolloutTable
            fabric={fabric}
            list={list}
            filter={url.filter}
            onFilter={(filter) => setUrl({ filter })}
            sort={sortOf(url.sort)}
            onSort={(sort) => setUrl({ sort: sortText(sort) })}
          />
        )}
      </QueryView>
      {url.dialog === "release" ? <ReleaseFabric fabric={fabric} onClose={() => setUrl({ dialog: "" })} /> : null}
    </Page>
  );
}

type TableProps = { fabric: string; list: Rollout[] } & Pick<
  React.ComponentProps<typeof DataTable<Rollout>>,
  "filter" | "onFilter" | "sort" | "onSort"
>;

function RolloutTable({ fabric, list, ...state }: TableProps) {
  const { t } = useTranslation(["rollouts", "common"]);
  const actor = useActor();
  const say = useSay();
  const { duration } = useFormat();
  const columns = useMemo<Column<Rollout>[]>(
    () => [
      { id: "rollout", header: t("common:rollout"), value: (r) => t("title", { id: r.id }) },
      {
        id: "state",
        header: t("common:state"),
        value: (r) => t(`words:rollout.${r.state}`),
        cell: (r) => <RolloutBadge rollout={r} />,
      },
      { id: "purpose", header: t("purpose"), value: (r) => t(`purpose.${purposeOf(r)}`, { to: r.to ?? "" }) },
      {
        id: "result",
        header: t("result"),
        width: 18,
        value: (r) => say(r.result_said, r.result),
        missing: "",
        cell: (r) => (
          <span className="fl-name">
            <Said said={r.result_said} english={r.result} />
          </span>
        ),
      },
      { id: "plan", header: t("common:plan"), value: (r) => r.plan, cell: (r) => <PlanName name={r.plan} /> },
      {
        id: "actor",
        minor: true,
        header: t("actor"),
        value: (r) => actor(r.actor),
        cell: (r) => <span className="fl-name">{actor(r.actor)}</span>,
      },
      { id: "created", header: t("started"), value: (r) => r.created_at, cell: (r) => <When at={r.created_at} /> },
      {
        id: "took",
        minor: true,
        header: t("took"),
        align: "end",
        value: secondsOf,
        missing: t("not-ended"),
        cell: (r) => duration(secondsOf(r)),
      },
    ],
    [t, say, duration, actor],
  );
  return (
    <DataTable
      caption={t("list-caption")}
      rows={list}
      columns={columns}
      rowId={(r) => String(r.id)}
      href={(r) => `/console/f/${encodeURIComponent(fabric)}/rollouts/${r.id}`}
      count={(shown, total) => t("list-count", { shown, total })}
      filterLabel={t("list-filter")}
      csvName={`${fabric}-rollouts`}
      empty={<Empty title={t("list-empty")} why={t("list-empty-why")} />}
      {...state}
    />
  );
}
