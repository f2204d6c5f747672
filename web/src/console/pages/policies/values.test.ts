import { expect, test } from "vitest";
import { before, fieldText, pairOf } from "./values";

const rate = (bps: number) => `${bps / 1e9} Gbit/s`;

test("words values of fields", () => {
  expect(fieldText("guarantee_bps", 2e9, rate)).toBe("2 Gbit/s");
  expect(fieldText("cap_bps", 0, rate)).toBeUndefined();
  expect(fieldText("weight", 2.5, rate)).toBe("2.5");
  expect(fieldText("reserved_sls", [14, 15], rate)).toBe("14, 15");
  expect(fieldText("classes", [{ name: "bulk", weight: 1 }], rate)).toBe("bulk = 1");
  expect(fieldText("attachments", [{ port: "0x1:1" }, { port: "0x2:1", name: "h2/P1", sl: 3 }], rate)).toBe(
    "0x1:1, h2/P1 (SL 3)",
  );
  expect(fieldText("other", [{ a: 1 }], rate)).toBe('{"a":1}');
  expect(fieldText("mode", undefined, rate)).toBeUndefined();
  expect(fieldText("vl_arbitration", true, rate)).toBe("true");
});

test("finds the revision before another one", () => {
  expect(before([7, 5, 4], 7)).toBe(5);
  expect(before([7, 5, 4], 4)).toBe(0);
});

test("compares the two revisions that were ticked last, the newer with the older", () => {
  expect(pairOf(["3", "9"])).toEqual({ revision: "9", against: "3" });
  expect(pairOf(["3", "9", "5"])).toEqual({ revision: "9", against: "5" });
  expect(pairOf(["3"])).toBeUndefined();
});
