import { Alert, Button, Group, Radio, Stack, Table, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Icon } from "../../../ui/icons";
import { When } from "../../../ui/When";
import type { Tenant } from "../tenants/queries";
import { conflictsOf, type Declared, declaredOf, type FieldName, type Side } from "./merge";

type Choices = Partial<Record<FieldName, Side>>;
type Props = { original: Declared; mine: Declared; theirs: Tenant; onResolve: (choices: Choices) => void };

/** Both versions by field, with a choice for each field in which they differ. */
export function Conflicts({ original, mine, theirs, onResolve }: Props) {
  const { t } = useTranslation("tenant");
  const other = declaredOf(theirs);
  const conflicts = conflictsOf(original, mine, other);
  const [chosen, setChosen] = useState<Choices>({});
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  const choices: Choices = Object.fromEntries(conflicts.map((c) => [c.field, chosen[c.field] ?? c.choice]));
  const open = conflicts.filter((c) => !choices[c.field]).length;
  return (
    <Alert
      ref={place}
      tabIndex={-1}
      color="yellow"
      variant="light"
      icon={<Icon name="warning" />}
      title={t("conflict-title")}
      data-conflict={conflicts.length}
    >
      <Stack gap="sm">
        <Text size="sm">
          {t("conflict-why", { version: theirs.version })} <When at={theirs.updated_at} />
        </Text>
        <Table.ScrollContainer
          minWidth={480}
          scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": t("conflict-title") } }}
        >
          <Table>
            <Table.Thead>
              <Table.Tr>
                {["conflict-field", "conflict-original", "conflict-theirs", "conflict-mine"].map((key) => (
                  <Table.Th key={key} scope="col">
                    {t(key)}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {conflicts.map(({ field }) => (
                <ConflictRow
                  key={field}
                  field={field}
                  versions={{ original, mine, theirs: other }}
                  choice={choices[field]}
                  onChoice={(side) => setChosen({ ...chosen, [field]: side })}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
        <Group>
          <Button disabled={open > 0} onClick={() => onResolve(choices)}>
            {t("conflict-resolve")}
          </Button>
          {open > 0 ? (
            <Text size="sm" role="status">
              {t("conflict-open", { n: open })}
            </Text>
          ) : null}
        </Group>
      </Stack>
    </Alert>
  );
}

type RowProps = {
  field: FieldName;
  versions: Record<Side | "original", Declared>;
  choice: Side | undefined;
  onChoice: (side: Side) => void;
};

function ConflictRow({ field, versions, choice, onChoice }: RowProps) {
  const { t } = useTranslation("tenant");
  const word = useFieldWord();
  const radio = (side: Side) => (
    <Radio
      name={`conflict-${field}`}
      value={side}
      checked={choice === side}
      onChange={() => onChoice(side)}
      label={word(field, versions[side])}
      aria-label={t("conflict-choose", { field: t(`field.${field}`), side, value: word(field, versions[side]) })}
    />
  );
  return (
    <Table.Tr data-field={field}>
      <Table.Th scope="row">{t(`field.${field}`)}</Table.Th>
      <Table.Td>{word(field, versions.original)}</Table.Td>
      <Table.Td>{radio("theirs")}</Table.Td>
      <Table.Td>{radio("mine")}</Table.Td>
    </Table.Tr>
  );
}

/** A field's value in words. */
function useFieldWord() {
  const { t } = useTranslation(["tenant", "common"]);
  const f = useFormat();
  return (field: FieldName, d: Declared): string => {
    if (field === "weight") return f.weight(d.weight) ?? "";
    if (field === "guarantee_bps" || field === "cap_bps") return d[field] ? (f.rate(d[field]) ?? "") : t("common:none");
    if (field === "pkey") return d.pkey;
    if (field === "classes")
      return (
        d.classes.map((c) => t("class-line", { name: c.name, weight: f.weight(c.weight) ?? "" })).join(t("comma")) ||
        t("common:none")
      );
    return t("ports-line", {
      n: d.attachments.length,
      first: d.attachments
        .slice(0, 4)
        .map((a) => a.name ?? a.port)
        .join(t("comma")),
    });
  };
}
