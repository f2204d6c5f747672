import { Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { NotMeasured, Share } from "../../../ui/values";
import { Why } from "../../../ui/Why";
import type { FabricOverview } from "../../parts/inForce";
import { LinkName } from "../../parts/links";
import { Panel } from "./Panel";

/** Links that are full or limit a tenant, the busiest first. */
export function ContendedPart({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation(["overview", "common"]);
  const format = useFormat();
  const unknown = o.verdict === "not-measured";
  const scale = format.rateScale(o.contended.flatMap((l) => [l.delivered_bps, l.capacity_bps]));
  return (
    <Panel title={t("contended")} name="contended">
      <Why
        reasoning={{
          of: t("contended"),
          value: unknown && o.contended_count === 0 ? <NotMeasured /> : o.contended_count,
          sentence: t("contended-why"),
          formula: t("contended-formula"),
          inputs: o.contended.map((l) => ({ name: t("why-of", { name: l.name }), value: <Share value={l.use} /> })),
          clamps:
            o.contended_count > o.contended.length
              ? [t("contended-more", { n: o.contended_count - o.contended.length })]
              : undefined,
          at: o.measured_at,
        }}
      >
        <Text span>{t("contended-count", { n: o.contended_count, unknown: unknown ? "yes" : "no" })}</Text>
      </Why>
      {o.contended.length > 0 ? (
        <Table.ScrollContainer
          minWidth={320}
          scrollAreaProps={{ viewportProps: { tabIndex: 0, role: "region", "aria-label": t("contended") } }}
        >
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">{t("common:link")}</Table.Th>
                <Table.Th scope="col" ta="end">
                  {t("use")}
                </Table.Th>
                <Table.Th scope="col" ta="end">
                  {t("delivered-in", { unit: scale.unit })}
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {o.contended.map((l) => (
                <Table.Tr key={l.name} data-link={l.name}>
                  <Table.Th scope="row" fw={400}>
                    <LinkName name={l.name} />
                  </Table.Th>
                  <Table.Td ta="end">
                    <Share value={l.use} />
                  </Table.Td>
                  <Table.Td ta="end" className="fl-numeric">
                    {scale.format(l.delivered_bps) ?? t("common:not-measured")}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      ) : null}
      {o.contended_count > o.contended.length ? (
        <Text size="sm">{t("contended-more", { n: o.contended_count - o.contended.length })}</Text>
      ) : null}
    </Panel>
  );
}
