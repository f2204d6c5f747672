import { QueryClient } from "@tanstack/react-query";
import { Problem } from "./problem";

/** Attempts after the first one, for reads alone: writes are never repeated by themselves. */
const retries = 3;

/** Milliseconds before attempt n+1 (n from 0): what the service asked for, else 0.5, 1, 2 … s with up to 50 % jitter. */
function retryDelay(n: number, error: unknown): number {
  if (error instanceof Problem && error.retryAfter !== undefined) return error.retryAfter * 1000;
  return 500 * 2 ** n * (1 + Math.random() / 2);
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
