import { describe, expect, it } from "vitest";
import { editText, parseEdits } from "./edits";

describe("edits", () => {
  it.each([
    ["weight", "gold", "8", "weight:gold=8"],
    ["flows", "bronze", "4", "flows:bronze*4"],
    ["add", "new", "3@host1,host2", "add:new=3@host1,host2"],
    ["remove", " silver ", "ignored", "remove:silver"],
    ["fail", "leaf1/P5", "", "fail:leaf1/P5"],
  ] as const)("of kind %s are written as the command takes them", (kind, subject, value, text) => {
    expect(editText(kind, subject, value)).toBe(text);
  });

  it("are read one a line, none left out: the service refuses too many", () => {
    expect(parseEdits(" weight:gold=8 \n\nfail:leaf1/P5\n")).toEqual(["weight:gold=8", "fail:leaf1/P5"]);
    expect(parseEdits("x\n".repeat(105))).toHaveLength(105);
  });
});
