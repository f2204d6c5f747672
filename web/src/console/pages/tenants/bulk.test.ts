import { expect, test } from "vitest";
import { bulkChanges, bulkEdits, isValid } from "./bulk";
import type { Tenant } from "./queries";

const tenant = (name: string, weight: number) => ({ name, weight }) as Tenant;
const list = [tenant("a", 1), tenant("b", 4), tenant("c", 0.0004)];

test("sets and multiplies weights", () => {
  const set = bulkChanges(list, { mode: "set", by: 4 });
  expect(set.map((c) => [c.tenant.name, c.after])).toEqual([
    ["a", 4],
    ["c", 4],
  ]);
  expect(bulkEdits(set.filter(isValid))).toEqual(["weight:a=4", "weight:c=4"]);
  const half = bulkChanges(list, { mode: "multiply", by: 0.5 });
  expect(half.map((c) => c.after)).toEqual([0.5, 2, undefined]);
  expect(bulkEdits(half.filter(isValid))).toEqual(["weight:a=0.5", "weight:b=2"]);
});
