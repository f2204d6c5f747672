import { expect, test } from "vitest";
import { sharesOf, weightOf } from "./shares";

test("classes divide the entitlement by weight", () => {
  const [a, b] = sharesOf(
    [
      { name: "bulk", weight: 1 },
      { name: "urgent", weight: 3 },
    ],
    80,
  );
  expect(a).toMatchObject({ share: 0.25, bps: 20 });
  expect(b).toMatchObject({ share: 0.75, bps: 60 });
  expect(sharesOf([{ name: "bulk", weight: 1 }], undefined)[0]?.bps).toBeUndefined();
});

test("weights are positive numbers with three decimals", () => {
  expect(weightOf("2.5")).toBe(2.5);
  expect(weightOf(" 1000000 ")).toBe(1_000_000);
  for (const bad of ["", "0", "-1", "1e3", "0.0001", "1000001", "two"]) expect(weightOf(bad), bad).toBeUndefined();
});
