import { TagsInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";

type Class = Schemas["TrafficClass"];

/** A traffic class as the command line writes it: DSCP:queue. */
export const classText = (c: Class) => `${c.dscp}:${c.queue}`;

/** The traffic class of a text, if it is one. */
export function parseClass(text: string): Class | undefined {
  const found = /^(\d{1,2}):([0-7])$/.exec(text.trim());
  if (!found || Number(found[1]) > 63) return undefined;
  return { dscp: Number(found[1]), queue: Number(found[2]) };
}

type Props = { label: string; description: string; value?: Class[]; onChange: (classes: Class[] | undefined) => void };

/** The traffic classes of a site; texts that are none are not taken. */
export function ClassesInput({ label, description, value, onChange }: Props) {
  const { t } = useTranslation("policies");
  return (
    <TagsInput
      label={label}
      description={description}
      placeholder={value ? undefined : t("option-default")}
      value={(value ?? []).map(classText)}
      onChange={(texts) => {
        const classes = texts.map(parseClass).filter((c) => c !== undefined);
        onChange(classes.length > 0 ? classes : undefined);
      }}
      splitChars={[",", " "]}
      maxTags={8}
    />
  );
}
