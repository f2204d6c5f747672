import type { Schemas } from "../../../api/client";

/** What the form of a rollout holds: texts of numbers may be empty while they are edited. */
export type RolloutForm = {
  canary: number | string;
  wave: number | string;
  domain: "leaf" | "pod" | "none";
  failureBudget: number | string;
  /** Minutes that the finished rollout waits for its confirmation; 0 asks for none. */
  confirmMinutes: number | string;
  verifyShares: boolean;
  /** The largest share error that the measurement may find, in %. */
  maxShareError: number | string;
};

/** The contract's defaults, but for the window: a rollout from this form is rolled back unless an operator confirms it. */
export const defaults: RolloutForm = {
  canary: 1,
  wave: 1024,
  domain: "leaf",
  failureBudget: 0,
  confirmMinutes: 10,
  verifyShares: false,
  maxShareError: 10,
};

const number = (value: number | string, otherwise: number): number => {
  const n = typeof value === "number" ? value : Number.parseFloat(value);
  return Number.isFinite(n) ? n : otherwise;
};

/** The form as options of a request. Defaults of the contract are left out, so that the request says what was chosen. */
export function optionsOf(f: RolloutForm): Schemas["RolloutOptions"] {
  const out: Schemas["RolloutOptions"] = {};
  const canary = number(f.canary, 1);
  const wave = number(f.wave, 1024);
  const budget = number(f.failureBudget, 0);
  const seconds = Math.round(number(f.confirmMinutes, 0) * 60);
  if (canary !== 1) out.canary = canary;
  if (wave !== 1024) out.wave = wave;
  if (f.domain !== "leaf") out.domain = f.domain;
  if (budget !== 0) out.failure_budget = budget;
  if (seconds > 0) out.confirm_window_s = seconds;
  if (f.verifyShares) {
    out.verify_shares = true;
    out.max_share_error = Math.round(number(f.maxShareError, 10) * 100) / 10_000;
  }
  return out;
}
