import { Anchor, Kbd, Modal, Stack, Switch, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Shortcut } from "./shortcuts";

/** The list of shortcuts, and where more help is. */
export function Help({
  opened,
  onClose,
  shortcuts,
  on,
  setOn,
}: {
  opened: boolean;
  onClose: () => void;
  shortcuts: Shortcut[];
  on: boolean;
  setOn: (on: boolean) => void;
}) {
  const { t } = useTranslation("shell");
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t("help")}
      size="lg"
      closeButtonProps={{ "aria-label": t("close") }}
    >
      <Stack>
        <Text size="sm">
          {t("help-docs")}{" "}
          <Anchor href="/docs" underline="always">
            {t("help-api")}
          </Anchor>
        </Text>
        <Switch label={t("shortcuts-on")} checked={on} onChange={(e) => setOn(e.currentTarget.checked)} />
        <Table>
          <Table.Caption>{t("shortcuts")}</Table.Caption>
          <Table.Tbody>
            <Table.Tr>
              <Table.Td>
                <Kbd>Ctrl</Kbd> / <Kbd>⌘</Kbd> <Kbd>K</Kbd>
              </Table.Td>
              <Table.Td>{t("palette")}</Table.Td>
            </Table.Tr>
            {shortcuts.map((s) => (
              <Table.Tr key={s.keys}>
                <Table.Td>
                  {s.keys.split(" ").map((k) => (
                    <Kbd key={k} mr={4}>
                      {k}
                    </Kbd>
                  ))}
                </Table.Td>
                <Table.Td>{s.label}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Stack>
    </Modal>
  );
}
