/** How much a finding matters: shares are missed, or the prediction or the speed of settling suffers. */
export type Severity = "missed" | "limited" | "note";

const order: [Severity, string[]][] = [
  [
    "missed",
    ["flow-unreachable", "guarantee-overbooked", "claims-exceed-guarantee", "weight-unreachable", "cap-unenforced"],
  ],
  [
    "limited",
    [
      "sl-exhausted",
      "dcqcn-shared-port",
      "source-port-contended",
      "shared-setting",
      "cct-limit-clamps",
      "device-limit",
      "increase-clamped",
      "weight-out-of-range",
      "wrcc-unstable",
      "wrcc-period-clamped",
      "timer-quantised",
      "vl-arbitration-needs-sm",
      "vl-arbitration-coarse",
      "cap-coarse",
      "fair-rate-coarse",
    ],
  ],
  [
    "note",
    [
      "share-uncertain",
      "slow-convergence",
      "marking-too-sparse",
      "sl-split",
      "uncalibrated-speed",
      "paths-by-chance",
      "sharing-approximate",
    ],
  ],
];

const places = new Map(order.flatMap(([severity, codes]) => codes.map((code) => [code, severity] as const)));
const ranks = new Map([...places.keys()].map((code, i) => [code, i]));

/** The severity of a code; a code of a later release counts as a limit. */
export const severityOf = (code: string): Severity => places.get(code) ?? "limited";

/** Whether a code has words of its own in the catalogue. */
export const knownCode = (code: string): boolean => ranks.has(code);

/** Groups findings by code, the most severe first; unknown codes follow those that miss shares. */
export function grouped<T extends { code: string }>(items: T[]): { code: string; severity: Severity; items: T[] }[] {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(item.code, [...(groups.get(item.code) ?? []), item]);
  const rank = (code: string) => ranks.get(code) ?? 3.5;
  return [...groups]
    .map(([code, list]) => ({ code, severity: severityOf(code), items: list }))
    .sort((a, b) => rank(a.code) - rank(b.code) || a.code.localeCompare(b.code));
}
