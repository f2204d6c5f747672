import { expect, test } from "vitest";
import { bandOf, entitledNow, hatchedOf, historyOf } from "./history";
import { meetingsOf, touches } from "./queries";

const times = [0, 15, 30, 45];
const series = (labels: Record<string, string>, values: (number | null)[]) => ({ labels, times, values });

const history = historyOf(
  [
    series({ what: "delivered" }, [4, 8, null, 2]),
    series({ what: "received", link: "a" }, [0.5, 1, null, null]),
    series({ what: "received", link: "b" }, [0.8, null, null, null]),
    series({ what: "state", state: "contending" }, [1, 1, null, 0]),
    series({ what: "state", state: "idle" }, [0, 0, null, 1]),
  ],
  0,
  45,
  15,
);

test("keeps gaps, and takes the link on which the tenant receives the least", () => {
  expect(history.delivered).toEqual([4, 8, null, 2]);
  expect(history.received).toEqual([0.5, 1, null, null]);
  expect(history.states).toEqual(["contending", "contending", null, "idle"]);
  expect(entitledNow(history)).toEqual([8, 8, null, null]);
  expect(bandOf("x", [10, null], 0.1)).toEqual({ label: "x", upper: [11, null], lower: [9, null] });
  expect(historyOf([], 0, 30, 15).times).toEqual([0, 15, 30]);
});

test("hatches what is measured and not contended, not what is missing", () => {
  expect(hatchedOf(history, 15, (s) => s.join())).toEqual([{ from: 37.5, to: 52.5, label: "idle" }]);
});

test("sorts links by use, and on a link the tenant before the others", () => {
  const sample = (labels: Record<string, string>, value: number) => ({ labels, value, time: 0 });
  const got = meetingsOf(
    [
      sample({ what: "use", link: "b" }, 0.9),
      sample({ what: "use", link: "a" }, 0.5),
      sample({ what: "delivered", link: "b", tenant: "x" }, 9),
      sample({ what: "delivered", link: "b", tenant: "me" }, 1),
      sample({ what: "entitled", link: "b", tenant: "me" }, 2),
    ],
    "me",
  );
  expect(got.map((m) => m.link)).toEqual(["b", "a"]);
  expect(got[0]?.tenants).toEqual([
    { tenant: "me", delivered: 1, entitled: 2 },
    { tenant: "x", delivered: 9 },
  ]);
});

test("knows which events touch a tenant", () => {
  expect(touches({ kind: "tenant.updated", subject: "gold" }, "gold")).toBe(true);
  expect(touches({ kind: "tenant.updated", subject: "golden" }, "gold")).toBe(false);
  expect(touches({ kind: "rollout.started", subject: "x" }, "gold")).toBe(true);
  expect(touches({ kind: "rollout.progress", subject: "x" }, "gold")).toBe(false);
});
