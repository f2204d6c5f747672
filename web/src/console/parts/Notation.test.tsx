import { expect, test } from "vitest";
import { loadTemplates } from "../../i18n/say";
import { renderUi } from "../../ui/testing/harness";
import { Noted } from "./Notation";

const unassigned = { id: "reason.formula.unassigned", params: { sl: 3 } };

test.each([
  ["a sentence", unassigned, "no tenant on the port uses these SLs", /^该端口上没有租户使用这些 SL.*SL 3 的参数/, null],
  ["a number", undefined, "1..65535", /^1\.\.65535$/, null],
  ["a name", undefined, "1.024 us", /^1\.024 us$/, null],
  ["a text of another version", undefined, "no tenant here uses them", /^no tenant here uses them$/, "en"],
  ["a sentence of another version", { id: "reason.formula.later" }, "some other rule", /^some other rule$/, "en"],
])("words %s in Chinese", async (_, said, text, want, quoted) => {
  await loadTemplates("zh");
  const { container } = await renderUi(
    <p>
      <Noted said={said} text={text} />
    </p>,
    "zh",
  );
  expect(container.querySelector("q")?.lang ?? null).toBe(quoted);
  expect(container.querySelector("q")?.hasAttribute("data-english") ?? false).toBe(quoted === "en");
  expect(container.querySelector("p")?.textContent).toMatch(want);
});
