/** The text of an announcement in the reader's language, or else in the other one. */
export function announced(text: { en?: string; zh?: string }, language: string): string {
  const [first, second] = language === "zh" ? [text.zh, text.en] : [text.en, text.zh];
  return first || second || "";
}
