import { Alert, Radio, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../ui/icons";
import type { Meeting } from "./useMergedForm";

type Props<T> = {
  met: Meeting<T>;
  label: (field: keyof T & string) => string;
  /** A field of a version in words. */
  text: (version: T, field: keyof T & string) => string;
};

/** Says that the object has changed since the form was opened, and lets the reader choose where both changed a field. */
export function MergeNote<T>({ met, label, text }: Props<T>) {
  const { t } = useTranslation("parts");
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Icon name="warning" />}
      title={t("merge-title")}
      role="alert"
      data-merge={met.conflicts.length}
    >
      <Stack gap="sm">
        <Text size="sm">{t("merge-why", { n: met.conflicts.length })}</Text>
        {met.taken.length > 0 ? (
          <Text size="sm">{t("merge-taken", { fields: met.taken.map(label).join(t("list-separator")) })}</Text>
        ) : null}
        {met.conflicts.map((field) => (
          <Radio.Group
            key={field}
            label={label(field)}
            value={met.chosen[field] ?? "mine"}
            onChange={(side) => met.choose(field, side as "theirs" | "mine")}
          >
            <Stack gap={4} mt={4}>
              <Radio value="mine" label={t("merge-mine", { value: text(met.mine, field) })} />
              <Radio value="theirs" label={t("merge-theirs", { value: text(met.theirs, field) })} />
            </Stack>
          </Radio.Group>
        ))}
      </Stack>
    </Alert>
  );
}
