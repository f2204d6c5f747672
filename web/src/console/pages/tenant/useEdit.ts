import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { client, data, idempotencyKey } from "../../../api/client";
import { keys } from "../../../api/keys";
import { storePlan, whatIf } from "../tenants/changes";
import { type Declared, updateOf } from "./merge";
import { readTenant } from "./queries";

type Asked = { asked: string; declared: Declared; etag: string; edits: string[] };

/** Checks the change with the service without storing it, and predicts shares where the change moves them. */
export function useChangePreview(fabric: string, tenant: string) {
  return useMutation({
    mutationFn: async ({ asked, declared, etag, edits }: Asked) => {
      try {
        await data(put(fabric, tenant, declared, etag, true));
      } catch (cause) {
        // A version that is not the latest one is found again by the save, which shows both versions.
        if ((cause as { status?: number }).status !== 412) throw cause;
      }
      return { asked, whatIf: edits.length > 0 ? await whatIf(fabric, edits) : undefined };
    },
  });
}

function put(fabric: string, tenant: string, declared: Declared, etag: string, dryRun: boolean) {
  return client.PUT("/api/v1/fabrics/{fabric}/tenants/{tenant}", {
    params: { path: { fabric, tenant }, query: { dry_run: dryRun }, header: { "If-Match": etag } },
    body: updateOf(declared),
  });
}

/** Saves the tenant at the version that the form began with, compiles a plan and opens it. When only the plan fails, the next attempt saves nothing again. */
export function useSave(fabric: string, tenant: string) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const saved = useRef("");
  return useMutation({
    mutationFn: async ({ declared, etag }: { declared: Declared; etag: string }) => {
      const what = JSON.stringify([declared, etag]);
      if (saved.current !== what) {
        await data(put(fabric, tenant, declared, etag, false));
        saved.current = what;
      }
      return storePlan(fabric, idempotencyKey());
    },
    onSuccess: (plan) =>
      void navigate({ to: "/console/f/$fabric/plans/$plan", params: { fabric, plan: plan.name } as never }),
    onSettled: () => {
      for (const key of [keys.tenants(fabric), keys.tenant(fabric, tenant), keys.plans(fabric)])
        void cache.invalidateQueries({ queryKey: key });
    },
  });
}

/** The version of the other person, read anew after a conflict. */
export function useTheirs(fabric: string, tenant: string, wanted: boolean) {
  return useQuery({
    queryKey: keys.tenant(fabric, tenant, "theirs"),
    queryFn: () => readTenant(fabric, tenant),
    enabled: wanted,
    staleTime: 0,
  });
}
