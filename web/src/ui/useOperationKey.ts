import { useMemo } from "react";
import { idempotencyKey } from "../api/client";

/** The Idempotency-Key of one operation: a second press sends the same key, another request (`of`, as text) another one. */
export function useOperationKey(of: unknown): string {
  const text = JSON.stringify(of);
  return useMemo(() => ({ text, key: idempotencyKey() }), [text]).key;
}
