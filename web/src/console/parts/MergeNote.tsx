import { Alert, Radio, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../ui/icons";

export type MergeField = { id: string; label: string; theirs: string; mine: string };

type Props = {
  /** Fields that both sides changed. */
  conflicts: MergeField[];
  /** Labels of the fields that only the other side changed. */
  taken: string[];
  /** Chosen side by field. */
  chosen: Record<string, "theirs" | "mine">;
  onChoose: (field: string, side: "theirs" | "mine") => void;
};

/** Says that the object has changed since the form was opened, and lets the reader choose where both changed a field. */
export function MergeNote({ conflicts, taken, chosen, onChoose }: Props) {
  const { t } = useTranslation("parts");
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Icon name="warning" />}
      title={t("merge-title")}
      role="alert"
      data-merge={conflicts.length}
    >
      <Stack gap="sm">
        <Text size="sm">{t("merge-why", { n: conflicts.length })}</Text>
        {taken.length > 0 ? (
          <Text size="sm">{t("merge-taken", { fields: taken.join(t("list-separator")) })}</Text>
        ) : null}
        {conflicts.map((f) => (
          <Radio.Group
            key={f.id}
            label={f.label}
            value={chosen[f.id] ?? "mine"}
            onChange={(side) => onChoose(f.id, side as "theirs" | "mine")}
          >
            <Stack gap={4} mt={4}>
              <Radio value="mine" label={t("merge-mine", { value: f.mine })} />
              <Radio value="theirs" label={t("merge-theirs", { value: f.theirs })} />
            </Stack>
          </Radio.Group>
        ))}
      </Stack>
    </Alert>
  );
}
