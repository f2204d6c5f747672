import { expect, test } from "vitest";
import { grouped } from "./fields";

const d = (field: string, desired: string, observed = "0") => ({ field, desired, observed });

test("joins neighbours of a list", () => {
  expect(
    grouped([
      d("sl[0].timer", "28"),
      d("sl[0].increase", "1"),
      d("sl[1].timer", "28"),
      d("sl[1].increase", "1"),
      d("sl[3].timer", "30"),
      d("ccti_limit", "127"),
      d("cct[1]", "3:1", "absent"),
      d("cct[2]", "3:2", "absent"),
    ]),
  ).toEqual([
    { field: "sl[0..1].timer", desired: "28", observed: "0", n: 2 },
    { field: "sl[0..1].increase", desired: "1", observed: "0", n: 2 },
    { field: "sl[3].timer", desired: "30", observed: "0", n: 1 },
    { field: "ccti_limit", desired: "127", observed: "0", n: 1 },
    { field: "cct[1..2]", desired: "3:1 … 3:2", observed: "absent", n: 2 },
  ]);
});
