import { expect, test } from "vitest";
import { merge } from "./merge";

test("each side keeps the fields that it alone changed, and both changes of one field are a conflict", () => {
  const base = { name: "Ada", disabled: false, roles: ["operator"] };
  const theirs = { name: "Ada L.", disabled: true, roles: ["operator"] };
  const mine = { name: "Ada B.", disabled: false, roles: ["auditor"] };
  expect(merge(base, theirs, mine)).toEqual({
    merged: { name: "Ada B.", disabled: true, roles: ["auditor"] },
    conflicts: ["name"],
    taken: ["disabled"],
  });
});

test("the same change on both sides is no conflict", () => {
  expect(merge({ a: 1 }, { a: 2 }, { a: 2 })).toEqual({ merged: { a: 2 }, conflicts: [], taken: [] });
});

test("the order of a list is no change", () => {
  const base = { ports: ["a", "b"], classes: [{ name: "x" }, { name: "y" }] };
  const theirs = { ports: ["b", "a"], classes: [{ name: "y" }, { name: "x" }] };
  const mine = { ports: ["a", "b", "c"], classes: [{ name: "x" }] };
  expect(merge(base, theirs, mine)).toEqual({ merged: mine, conflicts: [], taken: [] });
});
