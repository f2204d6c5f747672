import { expect, test } from "vitest";
import { bpsOf, namePattern, rateText, scaledWeight, weightOf } from "./amounts";

test("reads rates", () => {
  for (const [text, bps] of [
    ["", 0],
    ["0", 0],
    ["10", 1e10],
    ["10 Gbit/s", 1e10],
    ["500M", 5e8],
    ["1.5t", 1.5e12],
    ["2.5Gbps", 2.5e9],
    ["-1", undefined],
    ["ten", undefined],
    ["0.0001", undefined],
    ["1000 T", undefined],
  ] as const)
    expect(bpsOf(text), text).toBe(bps);
  expect([rateText(0), rateText(1234567890), bpsOf(rateText(1234567890))]).toEqual(["", "1.23456789", 1234567890]);
});

test("reads weights of at most three decimals", () => {
  expect(["4", "1.5", "0.001", "1000000"].map(weightOf)).toEqual([4, 1.5, 0.001, 1e6]);
  expect(["", "0", "-1", "1.2345", "1e7", "x"].map(weightOf)).toEqual(Array(6).fill(undefined));
  expect([scaledWeight(3, 0.5), scaledWeight(1, 1 / 3), scaledWeight(0.001, 0.1), scaledWeight(1e6, 2)]).toEqual([
    1.5,
    0.333,
    undefined,
    undefined,
  ]);
});

test("knows the names that the service accepts", () => {
  expect(["gold", "a", "a-b-1"].every((n) => namePattern.test(n))).toBe(true);
  expect(
    ["", "-a", "a-", "A", "a_b", "<img src=x onerror=alert(1)>", "a".repeat(64)].some((n) => namePattern.test(n)),
  ).toBe(false);
});
