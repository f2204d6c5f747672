import { expect, test } from "vitest";
import { defaults, optionsOf } from "./rolloutOptions";

test("leaves defaults of the contract out, and asks for a confirmation within ten minutes", () => {
  expect(optionsOf(defaults)).toEqual({ confirm_window_s: 600 });
  expect(optionsOf({ ...defaults, confirmMinutes: 0 })).toEqual({});
});

test("sends what was chosen", () => {
  expect(
    optionsOf({
      canary: "2",
      wave: 16,
      domain: "pod",
      failureBudget: 1,
      confirmMinutes: "0.5",
      verifyShares: true,
      maxShareError: "7.5",
    }),
  ).toEqual({
    canary: 2,
    wave: 16,
    domain: "pod",
    failure_budget: 1,
    confirm_window_s: 30,
    verify_shares: true,
    max_share_error: 0.075,
  });
});

test("takes an emptied field for its default", () => {
  expect(optionsOf({ ...defaults, canary: "", wave: "", failureBudget: "", confirmMinutes: "" })).toEqual({});
});
