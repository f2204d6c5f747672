export function wordsOf(texts: Record<string, string>): Record<string, string>;
