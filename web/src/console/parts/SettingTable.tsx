import { Table, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { rangeOf } from "./difference";
import { DeviceName, LinkName, Names, TenantName } from "./links";
import { Notation, useUnitWord } from "./Notation";
import { ScrollTable } from "./ScrollTable";

type Change = Schemas["SettingChange"];

/** Kinds of places with words of their own. */
const kinds = new Set(["port", "switch", "switch port", "queue", "link", "plan", "data centre", "sender"]);

/** The selector of a kind of places in the catalogue; `other` for a kind of a later release. */
export const kindKey = (kind: string): string => (kinds.has(kind) ? kind.replaceAll(" ", "") : "other");

/** Settings of one kind of places that change: which, from what to what, and where. */
export function SettingTable({ kind, changes }: { kind: string; changes: Change[] }) {
  const { t } = useTranslation("parts");
  const unit = useUnitWord();
  const places = changes.reduce((n, c) => n + c.count, 0);
  const title = t("settings-of", { n: places, kind: kindKey(kind) });
  return (
    <section data-settings={kind}>
      <Title order={3}>{title}</Title>
      <ScrollTable
        label={title}
        minWidth={680}
        head={[t("setting"), t("tenant"), t("before"), t("after"), t("unit"), t("where")]}
      >
        {changes.map((c) => (
          <Table.Tr key={`${c.tenant} ${c.field} ${c.unit} ${c.before} ${c.after}`}>
            <Table.Th scope="row" fw={500}>
              <code>{c.field}</code>
            </Table.Th>
            <Table.Td miw={88}>{c.tenant ? <TenantName name={c.tenant} /> : t("whole-device")}</Table.Td>
            <Table.Td className="fl-numeric">
              <SettingValue value={c.before} />
            </Table.Td>
            <Table.Td className="fl-numeric">
              <SettingValue value={c.after} />
            </Table.Td>
            <Table.Td>{c.unit ? unit(c.unit) : ""}</Table.Td>
            <Table.Td>
              {t("places-n", { n: c.count })} <Names names={c.names} count={c.count} of={nameOf(kind)} most={4} />
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </section>
  );
}

const nameOf = (kind: string) =>
  kind === "link" ? LinkName : kind === "port" || kind === "switch" ? DeviceName : undefined;

/** A value as the service writes it; ranges and the absence of a value in the reader's language. */
function SettingValue({ value }: { value: string }) {
  const { t } = useTranslation("parts");
  const range = rangeOf(value);
  if (range) return t("range", range);
  if (value === "none" || value === "") return t("value-none");
  const table = /^(\d+) entries down to 1\/(\S+) of line rate$/.exec(value); // policy/diff
  if (table) return t("table-value", { n: Number(table[1]), part: table[2] });
  return (
    <span className="fl-name">
      <Notation text={value} />
    </span>
  );
}
