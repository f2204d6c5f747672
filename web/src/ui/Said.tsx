import { Fragment } from "react";
import { useLanguage } from "../i18n";
import { marked, useSay } from "../i18n/say";

/** The words of a person, in quotation marks: in whatever language they are, they are not translated. */
export function Quote({ children }: { children: React.ReactNode }) {
  return (
    <q lang="" className="fl-name">
      {children}
    </q>
  );
}

/** A text of `useSay`, with the English that the service quotes, such as a device's answer, marked as English. */
export function Quoted({ text }: { text: string }) {
  const parts = marked(text);
  return parts.map(({ text: part, quoted }, i) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no names, and their order is the text
    return <Fragment key={i}>{quoted ? <q lang="en">{part}</q> : part}</Fragment>;
  });
}

const isVerbatim = (said: unknown) =>
  typeof said === "object" && said !== null && "id" in said && said.id === "verbatim";

/**
 * A sentence of the service in the reader's language. What was recorded in English only is a quotation, with an attribute by which
 * e2e/harness/untranslated.ts finds it.
 */
export function Said({ said, english }: { said: unknown; english: string | undefined }) {
  const say = useSay();
  const language = useLanguage();
  const text = isVerbatim(said) ? "" : say(said, "");
  if (text) return <Quoted text={text} />;
  if (!english || language === "en") return english;
  return (
    <q lang="en" data-english="">
      {english}
    </q>
  );
}
