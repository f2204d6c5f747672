const attribute = "data-mantine-color-scheme";

/** Prints in light colours, whatever the theme: dark grounds are not printed, and pale text on white paper cannot be read. */
export function printLight() {
  const root = document.documentElement;
  let theme: string | null = null;
  matchMedia("print").addEventListener("change", ({ matches }) => {
    if (matches) {
      theme = root.getAttribute(attribute);
      root.setAttribute(attribute, "light");
    } else if (theme !== null) root.setAttribute(attribute, theme);
  });
}
