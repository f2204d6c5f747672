import { Button, Group, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { Problem } from "../../../api/problem";
import { instant, range } from "../../../api/prom";
import { download } from "../../../format/csv";
import { useFormat } from "../../../format/useFormat";
import { Icon } from "../../../ui/icons";
import { Empty, Partial, QueryView } from "../../../ui/states";
import {
  bitsText,
  type Day,
  dayRanges,
  isoSecond,
  monthAt,
  monthOf,
  periodQuery,
  type Report,
  reportCsv,
  reportQueries,
  states,
  sumUp,
} from "../../report";
import { useTenantName } from "../../tenant";
import type { MyTenant } from "../../tenants";

/** The present month in UTC. */
export const thisMonth = () => monthAt(Date.now());

/** Reads the report of a month; null for a text that is no month. */
async function readReport(m: MyTenant, month: string, signal?: AbortSignal): Promise<Report | null> {
  const span = monthOf(month);
  if (!span) return null;
  const period = Math.round(((await instant(periodQuery, undefined, signal))[0]?.value ?? 0) * 1000) / 1000;
  if (!(period > 0)) throw new Problem("garbled", 200); // each measurement stands for a period: without it there is no figure
  const days: Day[] = Array.from({ length: span.days }, () => ({ measured: 0, states: {} }));
  const queries = reportQueries(m, period);
  const answers = await Promise.all(
    Object.values(queries).map((q) => range(q, span.from + 86_400, span.end, 86_400, signal)),
  );
  Object.keys(queries).forEach((name, q) => {
    for (const s of answers[q] ?? [])
      s.values.forEach((v, i) => {
        const day = days[i];
        if (v === null || !day) return;
        if (name === "states") day.states[s.labels.state ?? ""] = v;
        else day[name as "delivered" | "measured" | "contended" | "bad" | "objective"] = v;
      });
  });
  return sumUp(month, days, period, Date.now() / 1000);
}

/** The report of the page's tenant for a month. */
export function useReport(month: string, enabled: boolean) {
  const m = useTenantName();
  return useQuery({
    queryKey: keys.series("report", m.fabric, m.tenant, month),
    queryFn: ({ signal }) => readReport(m, month, signal),
    enabled,
  });
}

type Props = { month: string; onMonth: (month: string) => void; report: ReturnType<typeof useReport> };

/** The report of a month for charge-back: the figures of `fairlane share report`, as a table, as CSV, and for print. */
export function MonthReport({ month, onMonth, report }: Props) {
  const { t } = useTranslation("history");
  const m = useTenantName();
  return (
    <Stack gap="md">
      <Group align="end" className="fl-no-print">
        <TextInput
          type="month"
          label={t("month")}
          description={t("month-utc")}
          value={month}
          max={thisMonth()}
          onChange={(e) => (monthOf(e.currentTarget.value) ? onMonth(e.currentTarget.value) : undefined)}
        />
        <Button
          variant="default"
          leftSection={<Icon name="download" />}
          disabled={!report.data}
          onClick={() =>
            report.data && download(`fairlane-${m.fabric}-${m.tenant}-${month}.csv`, reportCsv(m, report.data))
          }
        >
          {t("csv")}
        </Button>
        <Button variant="default" onClick={() => window.print()}>
          {t("print")}
        </Button>
      </Group>
      <QueryView query={report}>
        {(r) => (r?.state_s || r?.bits !== undefined ? <ReportTable m={m} report={r} /> : <NoReport month={month} />)}
      </QueryView>
    </Stack>
  );
}

function NoReport({ month }: { month: string }) {
  const { t } = useTranslation("history");
  return <Empty title={t("no-report", { month })} why={t("no-report-why")} />;
}

function ReportTable({ m, report: r }: { m: MyTenant; report: Report }) {
  const { t, i18n } = useTranslation(["history", "common"]);
  const format = useFormat();
  const missing = t("common:not-measured");
  const time = (v: number | undefined) => format.duration(v) ?? missing;
  const rows: [string, string, string][] = [
    ["contended", t("row.contended"), time(r.contended_s)],
    ["bad", t("row.bad"), time(r.bad_s)],
    ["good", t("row.good"), format.share(r.good) ?? missing],
    ["objective", t("row.objective"), format.share(r.objective) ?? missing],
    ["bits", t("row.bits"), r.bits === undefined ? missing : bitsText(r.bits, i18n.language)],
    ["measured", t("row.measured"), format.share(r.measured) ?? missing],
    ...states.map((s): [string, string, string] => [
      `state-${s}`,
      t("row.state", { state: t(`common:measured.${s}`) }),
      r.state_s ? time(r.state_s[s] ?? 0) : missing,
    ]),
  ];
  return (
    <section data-report={r.month}>
      <Title order={2} className="fl-name">
        {t("report-of", { tenant: m.tenant, fabric: m.fabric, month: r.month })}
      </Title>
      <Text size="sm">{t("report-span", { from: isoSecond(r.from), to: isoSecond(r.to) })}</Text>
      {r.missing.length ? (
        <Partial>{t("missing-days", { n: r.missing.length, days: dayRanges(r.missing).join(t("separator")) })}</Partial>
      ) : null}
      <Table maw={640}>
        <Table.Tbody>
          {rows.map(([id, name, value]) => (
            <Table.Tr key={id} data-row={id}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td className="fl-numeric" ta="end">
                {value}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" c="dimmed">
        {t("report-how")}
      </Text>
    </section>
  );
}
