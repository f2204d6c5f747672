import { QueryClient } from "@tanstack/react-query";
import { Problem } from "./problem";

/** Attempts after the first one, for reads alone: writes are never repeated by themselves. */
const retries = 3;

/** The longest wait before an attempt, in milliseconds: whoever asked for more is asked again meanwhile, and may repeat it. */
const longestWait = 60_000;

/**
 * Milliseconds before attempt n+1 (n from 0): what the service asked for, up to a minute, else 0.5, 1, 2 … s with up to 50 % jitter. The
 * problem keeps the time of the attempt, for the page to say so.
 */
export function retryDelay(n: number, error: unknown): number {
  const problem = error instanceof Problem ? error : undefined;
  const wait =
    problem?.retryAfter === undefined
      ? 500 * 2 ** n * (1 + Math.random() / 2)
      : Math.min(problem.retryAfter * 1000, longestWait);
  if (problem) problem.nextAttempt = Date.now() + wait;
  return wait;
}

function mayRetry(n: number, error: unknown): boolean {
  return n < retries && error instanceof Problem && error.passing;
}

/** The cache of everything that was read. Streams mark parts of it as stale (api/live.ts). */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: mayRetry,
        retryDelay,
        staleTime: 5_000,
        refetchOnWindowFocus: true,
        refetchIntervalInBackground: false,
        throwOnError: false,
      },
      mutations: { retry: false },
    },
  });
}
