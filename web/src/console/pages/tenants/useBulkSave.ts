import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { keys } from "../../../api/keys";
import type { ValidChange } from "./bulk";
import { putTenant } from "./changes";

/** A tenant whose change the service refused, and why. */
export type Refused = { tenant: string; problem: unknown };

/** Saves weights one after the other, each at the version that was previewed. What is refused does not stop the others. */
export function useBulkSave(fabric: string, onDone: () => void) {
  const cache = useQueryClient();
  const [total, setTotal] = useState(0);
  const [saved, setSaved] = useState(0);
  const [refused, setRefused] = useState<Refused[]>([]);
  const stopped = useRef(false);
  const [ended, setEnded] = useState(false);
  const run = async (changes: ValidChange[]) => {
    setTotal(changes.length);
    for (const { tenant, after } of changes) {
      if (stopped.current) break;
      try {
        await putTenant(fabric, tenant.name, { ...tenant, weight: after }, `"${tenant.version}"`);
        setSaved((n) => n + 1);
      } catch (problem) {
        setRefused((list) => [...list, { tenant: tenant.name, problem }]);
      }
    }
    setEnded(true);
    await cache.invalidateQueries({ queryKey: keys.tenants(fabric) });
    onDone();
  };
  return {
    started: total > 0,
    ended,
    total,
    saved,
    refused,
    run: (changes: ValidChange[]) => void run(changes),
    stop: () => {
      stopped.current = true;
    },
  };
}

export type BulkSave = ReturnType<typeof useBulkSave>;
