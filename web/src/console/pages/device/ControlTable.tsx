import { Button, Stack, Table, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { ScrollTable } from "../../parts/ScrollTable";
import { indexTicks, rateAt } from "./matrices";

type Entry = Schemas["CCTEntry"];

const width = 560;
const height = 176;
/** Space around the curve, for the labels of the axes. */
const [top, right, bottom, left] = [10, 10, 24, 64];

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
          <path d={`M${left} ${top}V${height - bottom}H${width - right}`} stroke="var(--fl-hatch)" fill="none" />
          <Ticks entries={main.length} />
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

const xOf = (i: number, entries: number) => left + (i / Math.max(1, entries)) * (width - left - right);

/** The place of a part of the line rate: on a logarithmic scale from 1/1000 of it. */
const yOf = (part: number) => top + (Math.min(3, -Math.log10(part)) / 3) * (height - top - bottom);

/** The values of both axes: parts of the line rate, and indices of the table. */
function Ticks({ entries }: { entries: number }) {
  const { t } = useTranslation("devices");
  const { count } = useFormat();
  const text = { fill: "var(--mantine-color-dimmed)", fontSize: 11 };
  return (
    <g data-ticks>
      {[1, 0.1, 0.01, 0.001].map((part) => (
        <g key={part} data-tick-y={part}>
          <path d={`M${left - 4} ${yOf(part)}H${width - right}`} stroke="var(--fl-hatch)" strokeWidth={0.5} />
          <text x={left - 8} y={yOf(part) + 4} textAnchor="end" {...text}>
            {part === 1 ? t("cct-line-rate") : t("cct-part", { of: Math.round(1 / part) })}
          </text>
        </g>
      ))}
      {indexTicks(entries).map((i) => (
        <g key={i} data-tick-x={i}>
          <path d={`M${xOf(i, entries)} ${height - bottom}v4`} stroke="var(--fl-hatch)" />
          <text x={xOf(i, entries)} y={height - bottom + 16} textAnchor="middle" {...text}>
            {count(i)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** A step for each entry. */
function path(table: Entry[]): string {
  const x = (i: number) => xOf(i, table.length);
  return table.map((e, i) => `${i ? "V" : `M${x(0)} `}${yOf(rateAt(e))}H${x(i + 1)}`).join("");
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
