/** Bit/s of a unit, as people write it; without a unit a rate is in Gbit/s. */
const units: Record<string, number> = { "": 1e9, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

/** A rate in bit/s: "10", "10 Gbit/s", "500M". An empty text is 0, none; undefined for what is no rate of 0 or 1 Mbit/s to 100 Tbit/s. */
export function bpsOf(text: string): number | undefined {
  if (text.trim() === "") return 0;
  const m = /^(\d+(?:\.\d+)?|\.\d+)\s*([kmgt]?)(?:bit\/s|bps)?$/i.exec(text.trim());
  const unit = units[(m?.[2] ?? "").toLowerCase()];
  if (!m || unit === undefined) return undefined;
  const bps = Math.round(Number(m[1]) * unit);
  return bps === 0 || (bps >= 1e6 && bps <= 1e14) ? bps : undefined;
}

/** A rate as the text of its field, in Gbit/s without rounding; empty for none. */
export function rateText(bps: number | undefined): string {
  return bps ? String(bps / 1e9) : "";
}

/** A weight from 0.001 to 1,000,000 with at most three decimals; undefined for any other text. */
export function weightOf(text: string): number | undefined {
  const n = Number(text.trim());
  if (text.trim() === "" || !Number.isFinite(n) || n < 0.001 || n > 1e6) return undefined;
  return Math.abs(n * 1000 - Math.round(n * 1000)) < 1e-6 ? Math.round(n * 1000) / 1000 : undefined;
}

/** A weight times a factor, rounded to what a weight can hold; undefined outside of the range of weights. */
export function scaledWeight(weight: number, factor: number): number | undefined {
  const n = Math.round(weight * factor * 1000) / 1000;
  return n >= 0.001 && n <= 1e6 ? n : undefined;
}

/** The names that the service accepts for tenants and classes. */
export const namePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
