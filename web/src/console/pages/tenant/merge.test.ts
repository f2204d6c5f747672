import { expect, test } from "vitest";
import { changedFields, conflictsOf, type Declared, editsOf, merged, updateOf } from "./merge";

const original: Declared = {
  weight: 4,
  guarantee_bps: 0,
  cap_bps: 0,
  pkey: "0x8001",
  classes: [
    { name: "a", weight: 1 },
    { name: "b", weight: 2 },
  ],
  attachments: [{ port: "1:1", name: "h1/P1" }],
};

test("ignores the order of items and the names of ports", () => {
  const same = { ...original, classes: [...original.classes].reverse(), attachments: [{ port: "1:1" }] };
  expect(changedFields(original, same)).toEqual([]);
  expect(changedFields(original, { ...original, attachments: [{ port: "1:1", sl: 3 }] })).toEqual(["attachments"]);
});

test("asks for a choice where both changed a field, and keeps the others", () => {
  const mine = { ...original, weight: 6, cap_bps: 5e9 };
  const theirs = { ...original, weight: 8, pkey: "0x8009" };
  const conflicts = conflictsOf(original, mine, theirs);
  expect(conflicts).toEqual([
    { field: "weight", clash: true, choice: undefined },
    { field: "cap_bps", clash: false, choice: "mine" },
    { field: "pkey", clash: false, choice: "theirs" },
  ]);
  expect(merged(mine, theirs, { weight: "mine", cap_bps: "mine", pkey: "theirs" })).toEqual({
    ...original,
    weight: 6,
    cap_bps: 5e9,
    pkey: "0x8009",
  });
  expect(conflictsOf(original, mine, mine)).toEqual([]);
});

test("words changes as edits of a what-if, and as the body of the change", () => {
  expect(editsOf("gold", original, { ...original, weight: 6, guarantee_bps: 1e9, pkey: "0x0001" })).toEqual([
    "weight:gold=6",
    "guarantee:gold=1000000000bit/s",
  ]);
  expect(updateOf(original).attachments).toEqual([{ port: "1:1" }]);
});
