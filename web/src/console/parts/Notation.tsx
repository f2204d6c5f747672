import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import { useSay } from "../../i18n/say";
import { Said } from "../../ui/Said";

/**
 * What the compiler writes about a setting, such as a value, a range or a formula: numbers and names of fields, the same in every
 * language, or a text that exists in English only.
 */
export function Notation({ text }: { text: string }) {
  if (/\p{L}{2,}[ ,]+\p{L}{2,}/u.test(text)) return <Said said={undefined} english={text} />;
  return /\p{L}/u.test(text) ? <code>{text}</code> : text;
}

/** The unit of a setting, in words where it has some. */
export function useUnitWord(): (unit: string) => string {
  const { t } = useTranslation("parts");
  return useCallback((unit) => t(`unit.${unit.replaceAll(" ", "-")}`, { defaultValue: unit }), [t]);
}

/** The rule by which a setting has its value: its code, and what it means. */
export function Rule({ rule }: { rule: string }) {
  const say = useSay();
  return (
    <>
      <code>{rule}</code>
      <div>{say({ id: `rule.${rule}` }, "")}</div>
    </>
  );
}
