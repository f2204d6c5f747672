import { Button, Group, Text } from "@mantine/core";
import { useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { useShortcuts, useShortcutsOn } from "../../shell/shortcuts";
import { shellWord } from "../../ui/CopyAs";
import { Icon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { ProblemNote } from "../../ui/ProblemNote";
import { Empty, Loading, Partial, QueryView } from "../../ui/states";
import { DataTable } from "../../ui/table/DataTable";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { ActionButton } from "../parts/ActionButton";
import { useOverview } from "../parts/inForce";
import { AddTenant } from "./tenants/AddTenant";
import { BulkEdit } from "./tenants/BulkEdit";
import { type Row, useTenantColumns } from "./tenants/columns";
import { type Tenant, useMeasured, useSparks, useTenants } from "./tenants/queries";
import { useSelection } from "./tenants/useSelection";

/** Tenants up to which the small lines are loaded without being asked for. */
const sparksUpTo = 200;

/** The weight of each tenant, and what it receives. */
export default function Tenants() {
  const { t } = useTranslation(["tenants", "shell"]);
  const fabric = useFabricName();
  const tenants = useTenants(fabric);
  const measured = useMeasured(fabric);
  const can = useCan();
  const may = can("tenant", "write", fabric);
  const [url, setUrl] = useUrlState({ add: "" });
  const add = useCallback(() => setUrl({ add: "yes" }, true), [setUrl]);
  const [on] = useShortcutsOn();
  useShortcuts(
    useMemo(() => (may ? [{ keys: "n", label: t("add"), run: add }] : []), [may, add, t]),
    on,
  );
  const button = (
    <ActionButton allowed={may} leftSection={<Icon name="plus" />} aria-keyshortcuts="n" onClick={add}>
      {t("add")}
    </ActionButton>
  );
  return (
    <Page
      title={t("shell:nav.tenants")}
      page={fabric}
      answer={tenants.data ? <Answer fabric={fabric} tenants={tenants.data} /> : undefined}
      actions={button}
      copy={{
        command: `fairlane tenant list --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/tenants`,
      }}
      ready={tenants.data !== undefined && !measured.isPending}
    >
      <QueryView query={tenants} lines={8}>
        {(list) =>
          list.length > 0 ? (
            <TenantTable fabric={fabric} tenants={list} measured={measured} />
          ) : (
            <Empty title={t("empty")} why={t("empty-why")} action={button} />
          )
        }
      </QueryView>
      {url.add && may ? <AddTenant fabric={fabric} onClose={() => setUrl({ add: "" })} /> : null}
    </Page>
  );
}

function Answer({ fabric, tenants }: { fabric: string; tenants: Tenant[] }) {
  const { t } = useTranslation("tenants");
  const overview = useOverview(fabric, 15_000);
  if (overview.isPending) return null;
  const contending = overview.data?.tenant_states.find((s) => s.state === "contending")?.tenants ?? 0;
  const weight = Math.round(tenants.reduce((n, x) => n + x.weight, 0) * 1000) / 1000;
  return t("answer", {
    tenants: tenants.length,
    weight,
    contending,
    below: overview.data?.below_count ?? 0,
    known: overview.data?.measured_at ? "yes" : "no",
  });
}

type TableProps = { fabric: string; tenants: Tenant[]; measured: ReturnType<typeof useMeasured> };

function TenantTable({ fabric, tenants, measured }: TableProps) {
  const { t } = useTranslation("tenants");
  const [url, setUrl] = useUrlState({ filter: "", sort: "name" });
  const [asked, setAsked] = useState(false);
  const withSparks = asked || tenants.length <= sparksUpTo;
  const sparks = useSparks(fabric, withSparks);
  const rows = useMemo<Row[]>(
    () =>
      tenants.map((x) => ({
        ...x,
        now: measured.data?.get(x.name),
        spark: sparks.data?.get(x.name),
      })),
    [tenants, measured.data, sparks.data],
  );
  const columns = useTenantColumns(rows, withSparks);
  const selection = useSelection(tenants);
  if (measured.isPending) return <Loading lines={8} />;
  return (
    <>
      {measured.error ? (
        <Partial>
          {t("no-series")}
          <ProblemNote problem={measured.error} onRetry={() => void measured.refetch()} />
        </Partial>
      ) : null}
      <DataTable
        caption={t("caption")}
        rows={rows}
        columns={columns}
        rowId={(r) => r.name}
        href={(r) => `/console/f/${encodeURIComponent(fabric)}/tenants/${encodeURIComponent(r.name)}`}
        filter={url.filter}
        onFilter={(filter) => setUrl({ filter })}
        filterLabel={t("filter")}
        sort={sortOf(url.sort)}
        onSort={(sort) => setUrl({ sort: sortText(sort) })}
        selected={selection.selected}
        onSelect={selection.select}
        actions={
          <Group gap="xs">
            {withSparks ? null : (
              <Button size="xs" variant="default" onClick={() => setAsked(true)}>
                {t("load-sparks")}
              </Button>
            )}
            <BulkEdit fabric={fabric} tenants={selection.of} onDone={() => selection.select(new Set())} />
          </Group>
        }
        count={(shown, total) => t("count", { shown, total })}
        csvName={`${fabric}-tenants`}
      />
      {selection.selected.size > 0 ? (
        <Text size="sm" role="status">
          {t("selected", { n: selection.selected.size })}
        </Text>
      ) : null}
    </>
  );
}
