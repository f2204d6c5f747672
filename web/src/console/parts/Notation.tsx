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

/** A text of a reason: its sentence in the reader's language, or its notation where it has no words. */
export function Noted({ said, text }: { said: unknown; text: string }) {
  return said ? <Said said={said} english={text} /> : <Notation text={text} />;
}

/** The unit of a setting, in words where it has some: those of its sentence, if the service sends one. */
export function useUnitWord(): (unit: string, said?: unknown) => string {
  const { t } = useTranslation("parts");
  const say = useSay();
  return useCallback(
    (unit, said) => say(said, t(`unit.${unit.replaceAll(" ", "-")}`, { defaultValue: unit })),
    [t, say],
  );
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
