import { List, Stack, Table, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { Names, TenantName } from "../../parts/links";
import { ScrollTable } from "../../parts/ScrollTable";
import { useFigures } from "../../parts/useFigures";
import { fieldText } from "./values";

type Difference = Schemas["PolicyDifference"];

const nothing = (d: Difference): boolean =>
  d.added.length +
    d.removed.length +
    d.changed.length +
    d.options.length +
    d.flows_added.count +
    d.flows_removed.count ===
  0;

/** Tenants, flows and options that differ between two revisions. */
export function PolicyDifferenceView({ difference: d }: { difference: Difference }) {
  const { t } = useTranslation("policies");
  if (nothing(d)) return <Text data-policy-difference="none">{t("difference-none", { from: d.from, to: d.to })}</Text>;
  return (
    <Stack gap="md" data-policy-difference={`${d.from} ${d.to}`}>
      <Text>
        {t("difference-sentence", {
          from: d.from,
          to: d.to,
          added: d.added.length,
          removed: d.removed.length,
          changed: d.changed.length,
          flows: d.flows_added.count + d.flows_removed.count,
          options: d.options.length,
        })}
      </Text>
      {d.added.length > 0 ? (
        <Text size="sm">
          {t("tenants-added")} <Names names={d.added.map((x) => x.name)} of={TenantName} most={50} />
        </Text>
      ) : null}
      {d.removed.length > 0 ? (
        <Text size="sm">
          {t("tenants-removed")} <Names names={d.removed.map((x) => x.name)} most={50} />
        </Text>
      ) : null}
      {d.changed.length > 0 || d.options.length > 0 ? <Fields difference={d} /> : null}
      <FlowChange title={t("flows-added", { n: d.flows_added.count })} flows={d.flows_added} />
      <FlowChange title={t("flows-removed", { n: d.flows_removed.count })} flows={d.flows_removed} />
    </Stack>
  );
}

/** Fields of tenants and options that change, before and after. */
function Fields({ difference: d }: { difference: Difference }) {
  const { t } = useTranslation("policies");
  const { rate } = useFigures();
  const rows = [
    ...d.changed.flatMap((x) => x.fields.map((f) => ({ ...f, tenant: x.tenant }))),
    ...d.options.map((f) => ({ ...f, tenant: "" })),
  ];
  return (
    <ScrollTable label={t("fields")} minWidth={420} head={[t("of"), t("field"), t("before"), t("after")]}>
      {rows.map((r) => (
        <Table.Tr key={`${r.tenant} ${r.field}`}>
          <Table.Td miw={88}>{r.tenant ? <TenantName name={r.tenant} /> : t("options")}</Table.Td>
          <Table.Th scope="row" fw={500}>
            <code>{r.field}</code>
          </Table.Th>
          <Table.Td className="fl-name fl-numeric">{fieldText(r.field, r.before, rate) ?? t("not-set")}</Table.Td>
          <Table.Td className="fl-name fl-numeric">{fieldText(r.field, r.after, rate) ?? t("not-set")}</Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

function FlowChange({ title, flows }: { title: string; flows: Schemas["FlowDifference"] }) {
  const { t } = useTranslation("policies");
  if (flows.count === 0) return null;
  return (
    <section>
      <Title order={3}>{title}</Title>
      <List size="sm">
        {flows.first.map((f) => (
          <List.Item key={JSON.stringify(f)} className="fl-name">
            {t("flow", { tenant: f.tenant, src: f.src_name ?? f.src, dst: f.dst_name ?? f.dst, qps: f.qps ?? 1 })}
          </List.Item>
        ))}
        {flows.count > flows.first.length ? (
          <List.Item>{t("flows-more", { n: flows.count - flows.first.length })}</List.Item>
        ) : null}
      </List>
    </section>
  );
}
