import { MantineProvider } from "@mantine/core";
import { render } from "@testing-library/react";
import i18next from "i18next";
import ICU from "i18next-icu";
import type { ReactElement } from "react";
import { initReactI18next } from "react-i18next";
import enShell from "../../i18n/locales/en/shell.json";
import en from "../../i18n/locales/en/ui.json";
import zhShell from "../../i18n/locales/zh/shell.json";
import zh from "../../i18n/locales/zh/ui.json";

/** Renders a part of ui/ with its own texts, and fails on a bad message. For tests only. */
export async function renderUi(element: ReactElement, language = "en") {
  const icu = new ICU({
    parseErrorHandler: (error: Error) => {
      throw error;
    },
  });
  await i18next
    .use(icu)
    .use(initReactI18next)
    .init({
      lng: language,
      resources: { en: { ui: en, shell: enShell }, zh: { ui: zh, shell: zhShell } },
      keySeparator: false,
      nsSeparator: false,
      interpolation: { escapeValue: false },
    });
  return render(element, { wrapper: ({ children }) => <MantineProvider env="test">{children}</MantineProvider> });
}
