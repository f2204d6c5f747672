const prefix = "word.";

/** The words among the texts of the service's catalogue (internal/i18n/catalogue): SET.VALUE of `word.SET.VALUE`. */
export const wordsOf = (texts) =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([id, text]) => (id.startsWith(prefix) ? [[id.slice(prefix.length), text]] : [])),
  );
