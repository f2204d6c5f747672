import { Problem } from "../problem";
import type { LiveReason } from "./store";

/** Longest wait that Retry-After may ask for, in milliseconds. */
const longestWait = 300_000;

/** Ends an attempt with a reason. `final` reasons end all attempts until `Connection.retry`. */
export class Broken extends Error {
  constructor(
    readonly reason: LiveReason,
    readonly retryAfter = 0, // milliseconds
    readonly final = false,
  ) {
    super(reason);
  }
}

export function brokenBy(status: number, retryAfter: number | undefined): Broken {
  const wait = Math.min((retryAfter ?? 0) * 1000, longestWait);
  switch (status) {
    case 0:
      return new Broken("unreachable");
    case 401:
      return new Broken("signed-out", 0, true);
    case 403:
      return new Broken("refused", 0, true);
    case 404:
      return new Broken("gone", 0, true);
    case 429:
    case 503:
      return new Broken("busy", wait);
  }
  return new Broken(status < 400 ? "garbled" : "failing", wait);
}

/** Any failure as Broken. A failure that is none of ours is a lost connection. */
export function broken(cause: unknown): Broken {
  if (cause instanceof Broken) return cause;
  if (cause instanceof Problem) return brokenBy(cause.status, cause.retryAfter);
  return new Broken(cause instanceof SyntaxError || cause instanceof RangeError ? "garbled" : "unreachable");
}
