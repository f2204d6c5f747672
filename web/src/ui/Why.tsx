import { Code, Drawer, List, Stack, Table, Text, Title, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useTranslation } from "react-i18next";
import { Icon } from "./icons";
import { When } from "./When";

/** What a number rests on. */
export type Reasoning = {
  /** The number's name, in the page's words. */
  of: string;
  /** The number as it is shown. */
  value: React.ReactNode;
  /** One sentence: how it comes about. */
  sentence?: string;
  /** The formula, in the notation of docs/compiler.md. */
  formula?: string;
  /** Names and values that went in. */
  inputs?: { name: string; value: React.ReactNode }[];
  /** Limits that took effect, in sentences. */
  clamps?: string[];
  /** Revision of the policy, and the plan. */
  revision?: React.ReactNode;
  /** Time of the reading. */
  at?: string;
};

/** A number that answers "why": a press opens formula, inputs, clamps, revision and the time of the reading. */
export function Why({ reasoning, children }: { reasoning: Reasoning; children: React.ReactNode }) {
  const { t } = useTranslation("shell");
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <UnstyledButton
        onClick={open}
        aria-haspopup="dialog"
        title={t("why-open", { of: reasoning.of })}
        className="fl-why"
        data-why={reasoning.of}
      >
        {children} <Icon name="help" size={13} style={{ verticalAlign: "-2px", opacity: 0.75 }} />
        <span className="fl-visually-hidden">{t("why-open", { of: reasoning.of })}</span>
      </UnstyledButton>
      <Drawer
        opened={opened}
        onClose={close}
        position="right"
        title={t("why-open", { of: reasoning.of })}
        closeButtonProps={{ "aria-label": t("close") }}
        size="md"
      >
        {opened ? <Explained reasoning={reasoning} /> : null}
      </Drawer>
    </>
  );
}

function Explained({ reasoning: r }: { reasoning: Reasoning }) {
  const { t } = useTranslation("shell");
  return (
    <Stack gap="md">
      <Text size="xl" fw={650} className="fl-numeric">
        {r.value}
      </Text>
      {r.sentence ? <Text>{r.sentence}</Text> : null}
      {r.formula ? (
        <div>
          <Title order={3}>{t("why-formula")}</Title>
          <Code block tabIndex={0} style={{ whiteSpace: "pre-wrap" }}>
            {r.formula}
          </Code>
        </div>
      ) : null}
      {r.inputs?.length ? (
        <Table>
          <Table.Caption>{t("why-inputs")}</Table.Caption>
          <Table.Tbody>
            {r.inputs.map((i) => (
              <Table.Tr key={i.name}>
                <Table.Th scope="row">{i.name}</Table.Th>
                <Table.Td className="fl-numeric">{i.value}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      ) : null}
      {r.clamps?.length ? (
        <div>
          <Title order={3}>{t("why-clamps")}</Title>
          <List size="sm">
            {r.clamps.map((c) => (
              <List.Item key={c}>{c}</List.Item>
            ))}
          </List>
        </div>
      ) : null}
      {r.revision ? <Text size="sm">{r.revision}</Text> : null}
      {r.at ? (
        <Text size="sm">
          {t("why-read")} <When at={r.at} />
        </Text>
      ) : null}
    </Stack>
  );
}
