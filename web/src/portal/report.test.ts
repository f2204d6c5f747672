import { expect, test } from "vitest";
import { type Day, dayRanges, monthOf, reportCsv, reportQueries, sumUp } from "./report";

const m = { fabric: "lab", tenant: "red" };
const none: Day = { measured: 0, states: {} };
const begin = Date.UTC(2026, 10, 1) / 1000;

test("months are those of UTC", () => {
  expect(monthOf("2026-11")).toEqual({ from: begin, end: Date.UTC(2026, 11, 1) / 1000, days: 30 });
  expect(monthOf("2028-02")?.days).toBe(29);
  expect(monthOf("2026-13")).toBeUndefined();
  expect(monthOf("")).toBeUndefined();
});

test("each measurement stands for its period, and days to come do not count", () => {
  const days = [
    {
      delivered: 50,
      measured: 5760,
      states: { contending: 5000, idle: 760 },
      contended: 4999,
      bad: 50,
      objective: 0.99,
    },
    none,
    none,
  ];
  const r = sumUp("2026-11", days, 15, begin + 86_400 * 1.5);
  expect(r.contended_s).toBe(75_000);
  expect(r.bad_s).toBe(750); // 5000 * 50/4999, rounded, times 15 s
  expect(r.good).toBeCloseTo(0.99);
  expect(r.bits).toBe(50 * 86_400);
  expect(r.measured).toBeCloseTo(5760 / 8640);
  expect(r.missing).toEqual(["2026-11-02"]);
  expect(r.state_s).toEqual({ contending: 75_000, idle: 11_400 });
});

test("what was not measured is empty, never zero", () => {
  const r = sumUp("2026-11", [none], 15, begin + 86_400 * 40);
  expect(r).toMatchObject({ measured: 0, missing: ["2026-11-01"] });
  const line = reportCsv(m, r).split("\r\n")[1];
  expect(line).toBe("2026-11,lab,red,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,,,,,,0,,1,,,,,,,,");
});

test("an idle tenant has no bad seconds", () => {
  const r = sumUp("2026-11", [{ measured: 10, states: { idle: 10 }, delivered: 0 }], 15, begin + 3600);
  expect(r).toMatchObject({ contended_s: 0, bad_s: 0 });
  expect(r.good).toBeUndefined();
});

test("more measurements than are due stand for less", () => {
  const r = sumUp("2026-11", [{ measured: 17_280, states: { idle: 17_280 }, delivered: 1 }], 15, begin + 86_400);
  expect(r.state_s?.idle).toBeCloseTo(86_400);
});

test("queries name the tenant, and quote it", () => {
  const q = reportQueries({ fabric: 'a"b', tenant: "red" }, 15);
  expect(q.bad).toBe(
    'changes(fairlane_tenant_share_bad_seconds_total{fabric="a\\"b",tenant="red"}[86415000ms]) - resets(fairlane_tenant_share_bad_seconds_total{fabric="a\\"b",tenant="red"}[86415000ms])',
  );
});

test("successive days are written as one interval", () => {
  expect(dayRanges(["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-03"])).toEqual([
    "2026-02-27/2026-03-01",
    "2026-03-03",
  ]);
});
