import { createInstance, type i18n as I18n } from "i18next";
import ICU from "i18next-icu";
import { initReactI18next, useTranslation } from "react-i18next";

export const languages = ["en", "zh"] as const;
export type Language = (typeof languages)[number];

/** The key of the reader's choice in the browser's storage. */
const stored = "fairlane.language";

const catalogues = import.meta.glob<{ default: Record<string, string> }>("./locales/*/*.json");

/** The words for states and the like: the same that sentences of the service use. */
const words: Record<string, () => Promise<{ default: Record<string, string> }>> = {
  en: () => import("words:en"),
  zh: () => import("words:zh"),
};

/** Reads a namespace of a language: each is a file of its own, loaded when a page first needs it. */
const backend = {
  type: "backend" as const,
  init: () => undefined,
  read(language: string, namespace: string, done: (error: unknown, texts: Record<string, string> | null) => void) {
    const load = namespace === "words" ? words[language] : catalogues[`./locales/${language}/${namespace}.json`];
    if (!load) return done(new Error(`no catalogue ${language}/${namespace}`), null);
    load().then(
      (m) => done(null, m.default),
      (cause) => done(cause, null),
    );
  },
};

let instance: I18n | undefined;

/** Starts the catalogues with the reader's language: the stored choice, else the browser's. */
export async function startI18n(): Promise<void> {
  const language = preferred();
  const made = createInstance();
  instance = made;
  await made
    .use(backend)
    .use(
      new ICU({
        parseErrorHandler: (error, key) => {
          throw new Error(`message ${key}: ${error.message}`);
        },
      }),
    )
    .use(initReactI18next)
    .init({
      lng: language,
      fallbackLng: false,
      supportedLngs: languages,
      ns: ["shell", "common", "ui", "words"],
      defaultNS: "common",
      keySeparator: false,
      nsSeparator: ":",
      returnNull: false,
      interpolation: { escapeValue: false },
      react: { useSuspense: true },
    });
  mark(language);
}

/** Changes the language at once and remembers it. The page keeps its state. */
export async function setLanguage(language: Language): Promise<void> {
  localStorage.setItem(stored, language);
  await instance?.changeLanguage(language);
  mark(language);
}

/** The language of the page. */
export function useLanguage(): Language {
  const { i18n } = useTranslation();
  return i18n.language === "zh" ? "zh" : "en";
}

/** The language of the stored choice, else the first of the browser's that has a catalogue. */
function preferred(): Language {
  const choice = localStorage.getItem(stored);
  if (choice === "en" || choice === "zh") return choice;
  for (const tag of navigator.languages) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}

/** Browsers choose the glyphs of Chinese by this attribute. */
function mark(language: Language) {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}
