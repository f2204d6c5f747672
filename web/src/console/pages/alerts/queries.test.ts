import { expect, it } from "vitest";
import { budgetsOf, measured, windows, worst } from "./queries";

const objective = (tenant: string) => ({ tenant, bound: 0.95, target: 0.99, source: "built-in" as const });
const rates = (of: Record<string, number>) => windows.map((w) => new Map(w.name === "1h" ? Object.entries(of) : []));

it("orders budgets by the burn that is nearest to an alert, then by what is left", () => {
  const burn = {
    left: new Map([
      ["calm", 0.2],
      ["new", 0.9],
    ]),
    rates: rates({ fast: 28.8, slow: 1.44 }),
  };
  const got = budgetsOf(["new", "calm", "slow", "fast"].map(objective), burn);
  expect(got.map((b) => b.tenant)).toEqual(["fast", "slow", "calm", "new"]);
  expect(got.map((b) => Math.round(worst(b) * 100) / 100)).toEqual([2, 0.1, 0, 0]);
});

it("leaves out what was not measured", () => {
  expect(budgetsOf([objective("gold")], undefined).some(measured)).toBe(false);
  expect(budgetsOf([objective("gold")], { left: new Map([["gold", 0]]), rates: [] }).some(measured)).toBe(true);
  expect(budgetsOf([objective("gold")], undefined)).toEqual([
    { tenant: "gold", objective: objective("gold"), left: undefined, burn: {} },
  ]);
});
