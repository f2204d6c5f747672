import { Alert, Radio, Stack, Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../../ui/icons";
import type { Newer } from "./useMergedForm";

type Props<T extends object> = {
  /** The form of useMergedForm. */
  merged: {
    newer?: Newer<T>;
    open: number;
    choose: (field: keyof T & string, side: "theirs" | "mine") => void;
  };
  label: (field: keyof T & string) => string;
  /** A field's value in words. */
  word: (field: keyof T & string, form: T) => string;
};

/** Says that the object has a newer version than the form began with, and asks for a choice where both sides changed a field. */
export function MergeNote<T extends object>({ merged: { newer, open, choose }, label, word }: Props<T>) {
  const { t } = useTranslation("parts");
  const place = useRef<HTMLDivElement>(null);
  const version = newer?.theirs;
  useEffect(() => {
    if (version) place.current?.focus();
  }, [version]);
  if (!newer) return null;
  const { conflicts, taken, chosen } = newer;
  return (
    <Alert
      ref={place}
      tabIndex={-1}
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
          <Text size="sm">{t("merge-taken", { fields: taken.map(label).join(t("list-separator")) })}</Text>
        ) : null}
        {conflicts.map((f) => (
          <Radio.Group
            key={f}
            label={label(f)}
            description={t("merge-before", { value: word(f, newer.base) })}
            value={chosen[f] ?? null}
            onChange={(side) => choose(f, side === "mine" ? "mine" : "theirs")}
          >
            <Stack gap={4} mt={4}>
              <Radio value="mine" label={t("merge-mine", { value: word(f, newer.mine) })} />
              <Radio value="theirs" label={t("merge-theirs", { value: word(f, newer.theirs) })} />
            </Stack>
          </Radio.Group>
        ))}
        {open > 0 ? (
          <Text size="sm" role="status">
            {t("merge-open", { n: open })}
          </Text>
        ) : null}
      </Stack>
    </Alert>
  );
}
