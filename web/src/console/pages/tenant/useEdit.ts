import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { idempotencyKey } from "../../../api/client";
import { keys } from "../../../api/keys";
import { storePlan, whatIf } from "../../parts/plans";
import type { MergedForm } from "../../parts/useMergedForm";
import { type Declared, putTenant } from "../tenants/changes";
import type { Tenant } from "../tenants/queries";
import type { Draft } from "./draft";
import { readTenant } from "./queries";

type Send = MergedForm<Tenant, Draft>["send"];

/** What a form asks for: `of` identifies its contents and version. */
type Asked = { of: string; declared: Declared };

/** Replaces the tenant at the form's version, or checks only whether the service would. Returns undefined when a newer version was merged. */
const put = (send: Send, fabric: string, tenant: string, declared: Declared, dryRun: boolean) =>
  send(
    (etag) => putTenant(fabric, tenant, declared, etag, dryRun),
    () => readTenant(fabric, tenant),
  );

/** Checks the change with the service without storing it, and predicts shares where the change moves them. */
export function useChangePreview(fabric: string, tenant: string, send: Send) {
  return useMutation({
    mutationFn: async ({ of, declared, edits }: Asked & { edits: string[] }) => {
      if (!(await put(send, fabric, tenant, declared, true))) return undefined;
      return { of, whatIf: edits.length > 0 ? await whatIf(fabric, edits) : undefined };
    },
  });
}

/** Saves the tenant, compiles a plan and opens it. When only the plan fails, the next attempt saves nothing again. */
export function useSave(fabric: string, tenant: string, send: Send) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const saved = useRef({ of: "", key: "" });
  return useMutation({
    mutationFn: async ({ of, declared }: Asked) => {
      if (saved.current.of !== of) {
        if (!(await put(send, fabric, tenant, declared, false))) return undefined;
        saved.current = { of, key: idempotencyKey() };
      }
      return storePlan(fabric, saved.current.key);
    },
    onSuccess: (plan) =>
      plan && void navigate({ to: "/console/f/$fabric/plans/$plan", params: { fabric, plan: plan.name } as never }),
    onSettled: () => {
      for (const key of [keys.tenants(fabric), keys.tenant(fabric, tenant), keys.plans(fabric)])
        void cache.invalidateQueries({ queryKey: key });
    },
  });
}
