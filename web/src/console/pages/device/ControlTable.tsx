import { Button, Stack, Table, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { ScrollTable } from "../../parts/ScrollTable";
import { rateAt } from "./matrices";

type Entry = Schemas["CCTEntry"];

const width = 520;
const height = 150;
const pad = 8;

/** The congestion control table: how much of the line rate a flow may send at each index, as a picture and as a table. */
export function ControlTable({ desired, observed }: { desired?: Entry[]; observed?: Entry[] }) {
  const { t } = useTranslation("devices");
  const { share } = useFormat();
  const [open, setOpen] = useState(false);
  const main = desired ?? observed ?? [];
  if (main.length === 0) return null;
  const last = main.at(-1);
  const differing = observed && desired ? count(desired, observed) : 0;
  return (
    <section data-control-table={main.length}>
      <Title order={3} mb={4}>
        {t("cct")}
      </Title>
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {t("cct-sentence", {
            n: main.length,
            least: last ? share(rateAt(last)) : "",
            differing,
            observed: observed ? "yes" : "no",
          })}
        </Text>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          width={width}
          style={{ maxWidth: "100%" }}
          role="img"
          aria-label={t("cct-picture", { n: main.length, least: last ? share(rateAt(last)) : "" })}
        >
          <path d={`M${pad} ${pad}V${height - pad}H${width - pad}`} stroke="var(--fl-hatch)" fill="none" />
          {desired ? <path d={path(desired)} stroke="var(--fl-series-1)" strokeWidth={2} fill="none" /> : null}
          {observed ? (
            <path d={path(observed)} stroke="var(--fl-series-2)" strokeWidth={2} strokeDasharray="5 4" fill="none" />
          ) : null}
        </svg>
        <Text size="xs" c="dimmed">
          {observed && desired ? t("cct-legend-both") : t("cct-legend")}
        </Text>
        <Button variant="subtle" size="compact-sm" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? t("cct-hide") : t("cct-show")}
        </Button>
        {open ? <Entries desired={desired} observed={observed} /> : null}
      </Stack>
    </section>
  );
}

/** A step for each entry; the rate is on a logarithmic scale from 1/1000 of the line rate. */
function path(table: Entry[]): string {
  const x = (i: number) => pad + (i / Math.max(1, table.length)) * (width - 2 * pad);
  const y = (e: Entry) => pad + (Math.min(3, -Math.log10(rateAt(e))) / 3) * (height - 2 * pad);
  return table.map((e, i) => `${i ? "V" : `M${x(0)} `}${y(e)}H${x(i + 1)}`).join("");
}

const same = (a: Entry | undefined, b: Entry | undefined) => a?.shift === b?.shift && a?.multiplier === b?.multiplier;

function count(a: Entry[], b: Entry[]): number {
  let n = 0;
  for (let i = 0; i < Math.max(a.length, b.length); i++) if (!same(a[i], b[i])) n++;
  return n;
}

function Entries({ desired, observed }: { desired?: Entry[]; observed?: Entry[] }) {
  const { t } = useTranslation("devices");
  const { share } = useFormat();
  const n = Math.max(desired?.length ?? 0, observed?.length ?? 0);
  const word = (e: Entry | undefined) =>
    e ? t("cct-entry", { shift: e.shift, multiplier: e.multiplier, rate: share(rateAt(e)) }) : t("absent");
  return (
    <ScrollTable
      label={t("cct")}
      minWidth={300}
      maxHeight={360}
      head={[t("cct-index"), ...(desired ? [t("desired")] : []), ...(observed ? [t("observed")] : [])]}
      verticalSpacing={2}
      fz="sm"
      w="auto"
    >
      {Array.from({ length: n }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index is the name of the entry
        <Table.Tr key={i}>
          <Table.Th scope="row" fw={500}>
            {i}
          </Table.Th>
          {desired ? <Table.Td>{word(desired[i])}</Table.Td> : null}
          {observed ? <Table.Td>{word(observed[i])}</Table.Td> : null}
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
