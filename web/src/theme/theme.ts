import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

/** The colour of actions, links and focus: the petrol of the icon. */
const lane: MantineColorsTuple = [
  "#e8f6f8",
  "#d3e9ee",
  "#a6d2dc",
  "#76bac9",
  "#4fa6b9",
  "#3699b0",
  "#1f8099",
  "#0f6e86",
  "#0b5c6b",
  "#074754",
];

/** CJK fonts stand behind the Latin ones; `lang` selects the glyphs. */
const sans =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", sans-serif';

export const theme = createTheme({
  primaryColor: "lane",
  primaryShade: { light: 8, dark: 7 },
  colors: { lane },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: "sm",
  fontFamily: sans,
  fontFamilyMonospace: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace',
  cursorType: "pointer",
  headings: {
    fontFamily: sans,
    fontWeight: "650",
    sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "1.0625rem" }, h3: { fontSize: "0.9375rem" } },
  },
});

/** Replaces the colours of the kit that miss 4.5:1 on the page's ground. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#54616b",
    "--mantine-color-placeholder": "#5f6b75",
    "--mantine-color-anchor": "#0b5c6b",
    "--mantine-color-error": "#b3261e",
    "--mantine-color-yellow-light-color": "#8a5200",
  },
  dark: {
    "--mantine-color-dimmed": "#a9b4bd",
    "--mantine-color-placeholder": "#98a4ae",
    "--mantine-color-anchor": "#76bac9",
    "--mantine-color-error": "#ff9c94",
  },
});
