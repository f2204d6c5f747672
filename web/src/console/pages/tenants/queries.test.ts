import { expect, test } from "vitest";
import { joined, measuredOf, sinceFirst } from "./queries";

const sample = (labels: Record<string, string>, value: number) => ({ labels, value, time: 0 });

test("joins series in one query", () => {
  expect(joined({ a: "m1", b: "m2" }, 'fabric="x"')).toBe(
    'label_replace(m1{fabric="x"}, "what", "a", "", "") or label_replace(m2{fabric="x"}, "what", "b", "", "")',
  );
});

test("restricts each series", () => {
  expect(joined({ a: "m1" }, 'fabric="x"', 'on (link) m2{tenant="t"}')).toBe(
    'label_replace(m1{fabric="x"} and on (link) m2{tenant="t"}, "what", "a", "", "")',
  );
});

test("sorts samples by tenant, with the lowest received ratio", () => {
  const got = measuredOf([
    sample({ tenant: "gold", what: "entitled" }, 5e9),
    sample({ tenant: "gold", what: "state", state: "idle" }, 0),
    sample({ tenant: "gold", what: "state", state: "contending" }, 1),
    sample({ tenant: "gold", what: "received", link: "a" }, 0.9),
    sample({ tenant: "gold", what: "received", link: "b" }, 0.8),
    sample({ tenant: "blue", what: "budget" }, -0.5),
    sample({ tenant: "blue", what: "unknown" }, 1),
  ]);
  expect(got.get("gold")).toEqual({ entitled: 5e9, state: "contending", received: 0.8, link: "b" });
  expect(got.get("blue")).toEqual({ budget: -0.5 });
});

test("small lines begin with the first measurement of any tenant", () => {
  const of = (...values: (number | null)[]) => ({ values });
  expect(sinceFirst([of(null, null, 1, 2), of(null, null, null, 3)])).toEqual([of(1, 2), of(null, 3)]);
  expect(sinceFirst([of(null), of(null)])).toEqual([of(null), of(null)]);
  expect(sinceFirst([of(1, null)])).toEqual([of(1, null)]);
});
