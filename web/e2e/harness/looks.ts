/** How a page is shown to a reader. */
export type Look = { theme: "light" | "dark"; language: "en" | "zh"; width: number };

const every = (["light", "dark"] as const).flatMap((theme) =>
  (["en", "zh"] as const).flatMap((language) => [1280, 390].map((width): Look => ({ theme, language, width }))),
);

/** Every theme in every language at two widths: E2E_LOOKS=all, which takes much longer than the others. */
const all = process.env.E2E_LOOKS === "all";

/** The looks of the tests that visit every page. */
export const looks: Look[] = all
  ? every
  : [
      { theme: "light", language: "en", width: 1280 },
      { theme: "dark", language: "zh", width: 390 },
    ];

/** The look of the tests that also open what a page holds: its dialogs and tabs. */
export const detailLooks: Look[] = all ? every : [{ theme: "dark", language: "zh", width: 1280 }];

export const nameOf = ({ theme, language, width }: Look) => `${theme}, ${language}, ${width} px`;
