import { Button, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useSay } from "../../../i18n/say";
import { Empty, QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useInForce } from "../../parts/inForce";
import { PlanName, RevisionName } from "../../parts/links";
import { Noted, Rule, useUnitWord } from "../../parts/Notation";

type Row = Schemas["Reason"] & { key: string; device: string };

/** Devices of one page of reasons. */
const pageSize = 200;

/** Every setting that the plan in force makes for the tenant: value, rule, formula, and what clamped it. */
export function Settings({ fabric, tenant }: { fabric: string; tenant: string }) {
  const { t } = useTranslation("tenant");
  const { plan, known, query } = useInForce(fabric);
  const reasons = useReasons(fabric, tenant, plan?.name ?? "");
  const columns = useReasonColumns();
  const rows = useMemo<Row[]>(
    () =>
      (reasons.data?.pages ?? [])
        .flatMap((p) => p.items)
        .flatMap((e) =>
          e.reasons.map((r) => ({ ...r, device: e.name, key: `${e.kind} ${e.name} ${r.field} ${r.tenant ?? ""}` })),
        ),
    [reasons.data],
  );
  if (!known) return <QueryView query={query}>{() => null}</QueryView>;
  if (!plan) return <Empty title={t("no-plan")} why={t("no-plan-why")} />;
  return (
    <QueryView query={reasons}>
      {() => (
        <Stack gap="sm">
          <Text>
            {t("settings-of")} <PlanName name={plan.name} /> · <RevisionName revision={plan.policy} />
          </Text>
          <DataTable
            caption={t("tab.settings")}
            rows={rows}
            columns={columns}
            rowId={(r) => r.key}
            csvName={`${fabric}-${tenant}-settings`}
            count={(shown, total) => t("settings-count", { shown, total })}
          />
          {reasons.hasNextPage ? (
            <Button
              variant="default"
              size="compact-sm"
              loading={reasons.isFetchingNextPage}
              onClick={() => void reasons.fetchNextPage()}
            >
              {t("settings-more")}
            </Button>
          ) : null}
        </Stack>
      )}
    </QueryView>
  );
}

function useReasons(fabric: string, tenant: string, plan: string) {
  return useInfiniteQuery({
    queryKey: keys.plan(fabric, plan, "explain", tenant),
    queryFn: ({ pageParam }) =>
      data<Schemas["ExplanationList"]>(
        client.GET("/api/v1/fabrics/{fabric}/plans/{plan}/explain", {
          params: { path: { fabric, plan }, query: { tenant, limit: pageSize, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor,
    enabled: plan !== "",
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const noted = (text: string | undefined, said: unknown) => (text ? <Noted said={said} text={text} /> : undefined);

function useReasonColumns(): Column<Row>[] {
  const { t } = useTranslation(["tenant", "common"]);
  const unit = useUnitWord();
  const say = useSay();
  return useMemo<Column<Row>[]>(
    () => [
      { id: "device", header: t("common:device"), value: (r) => r.device },
      {
        id: "field",
        header: t("setting"),
        value: (r) => say(r.field_said, r.field),
        cell: (r) => <code>{say(r.field_said, r.field)}</code>,
      },
      {
        id: "value",
        header: t("value"),
        value: (r) => say(r.value_said, r.value) + (r.unit ? ` × ${unit(r.unit, r.unit_said)}` : ""),
        missing: "",
        cell: (r) => (
          <>
            <Noted said={r.value_said} text={r.value} />
            {r.unit ? ` × ${unit(r.unit, r.unit_said)}` : null}
          </>
        ),
      },
      {
        id: "range",
        minor: true,
        header: t("allowed"),
        value: (r) => r.range && say(r.range_said, r.range),
        missing: "",
        cell: (r) => noted(r.range, r.range_said),
      },
      {
        id: "formula",
        header: t("formula"),
        value: (r) => say(r.formula_said, r.formula),
        width: 24,
        cell: (r) => noted(r.formula, r.formula_said),
      },
      {
        id: "clamped",
        header: t("clamped"),
        value: (r) => r.clamped && say(r.clamped_said, r.clamped),
        missing: t("common:no"),
        cell: (r) => noted(r.clamped, r.clamped_said),
      },
      { id: "rule", header: t("rule"), value: (r) => r.rule, hidden: true, cell: (r) => <Rule rule={r.rule} /> },
    ],
    [t, unit, say],
  );
}
