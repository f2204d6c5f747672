import { expect, test } from "vitest";
import { compared, indexTicks, matrices, ranges, rateAt } from "./matrices";

const sl = (ccti_timer: number, trigger_threshold = 0) => ({
  ccti_timer,
  ccti_increase: 1,
  trigger_threshold,
  ccti_min: 0,
});
const ca = (...sls: ReturnType<typeof sl>[]) => ({ ca: { per_sl: false, sls, ccti_limit: 1, table: [] } });

test("writes lists of ports as ranges", () => {
  expect(ranges([1, 2, 3, 4, 7, 9, 10])).toBe("1..4, 7, 9..10");
  expect(ranges([])).toBe("-");
});

test("puts desired and observed values side by side", () => {
  const [sls] = compared(ca(sl(28), sl(28, 32)), ca(sl(28), sl(0, 32)));
  expect(sls?.rows.map((r) => r.cells.filter((c) => c.differs))).toEqual([
    [],
    [{ column: "ccti_timer", desired: "28", observed: "0", differs: true }],
  ]);
  expect(compared(ca(sl(1)), undefined)[0]?.rows[0]?.cells[0]).toMatchObject({ desired: "1", differs: false });
});

test("leaves out ports that follow the defaults, unless they differ", () => {
  const port = (valid: boolean, threshold = 0) => ({
    valid,
    credit_starvation: false,
    threshold,
    packet_size_bytes: 0,
    marking_rate: 0,
  });
  const sw = (...ports: ReturnType<typeof port>[]) => ({
    switch: {
      defaults: { victim_ports: [1], credit_ports: [], threshold: 1, packet_size_bytes: 0, marking_rate: 1 },
      ports,
    },
  });
  const ports = compared(
    sw(port(false), port(true, 11), port(false)),
    sw(port(false), port(true, 11), port(false, 3)),
  )[1];
  expect(ports?.rows.map((r) => r.quiet)).toEqual([true, false, false]);
});

test("has tables for every kind of device", () => {
  expect(
    matrices({
      nic: {
        params: [
          { name: "rpg_ai_rate", value: 5 },
          { name: "np_enable", index: 3, value: 1 },
        ],
      },
    })[0]?.rows.map((r) => r.name),
  ).toEqual(["rpg_ai_rate", "np_enable[3]"]);
  expect(
    matrices({ queues: { marking: [{ port: 7, queue: 3, min_bytes: 1, max_bytes: 2, p_max_percent: 5 }] } })[0]
      ?.rows[0],
  ).toEqual({
    name: "P7 q3",
    values: { min_bytes: "1", max_bytes: "2", p_max_percent: "5" },
  });
  expect(matrices(undefined)).toEqual([]);
});

test("compares weights of queues and shares of traffic classes", () => {
  const marking = [{ port: 7, queue: 3, min_bytes: 1, max_bytes: 2, p_max_percent: 5 }];
  const queues = (weight: number) => ({ queues: { marking, weights: [{ port: 7, queue: 3, weight }] } });
  const differing = (desired: Parameters<typeof compared>[0], observed: Parameters<typeof compared>[1]) =>
    compared(desired, observed).flatMap((m) =>
      m.rows.flatMap((r) => r.cells.filter((c) => c.differs).map((c) => [r.name, c.desired, c.observed])),
    );
  expect(differing(queues(16), queues(16))).toEqual([]);
  expect(differing(queues(16), queues(4))).toEqual([["P7 q3", "16", "4"]]);
  expect(
    differing(
      {
        nic: {
          params: [],
          shares: [
            { class: 0, percent: 30 },
            { class: 3, percent: 70 },
          ],
        },
      },
      {
        nic: {
          params: [
            { name: "tc_bw", value: 30 },
            { name: "tc_bw", index: 3, value: 60 },
          ],
        },
      },
    ),
  ).toEqual([["tc_bw[3]", "70", "60"]]);
});

test("knows the rate of an entry", () => {
  expect(rateAt({ shift: 3, multiplier: 0 })).toBe(1);
  expect(rateAt({ shift: 3, multiplier: 8 })).toBe(0.5);
});

test("the axis of a control table names few round indices, and none beyond the table", () => {
  expect(indexTicks(128)).toEqual([0, 32, 64, 96]);
  expect(indexTicks(5)).toEqual([0, 1, 2, 3, 4]);
  expect(indexTicks(0)).toEqual([0]);
  expect(indexTicks(16_384).length).toBeLessThan(8);
});
