import { useFabrics } from "../../../shell/fabrics";
import { usePlanInForce } from "../../parts/CompiledPreview";
import { useDifference, usePlan, usePolicies } from "./queries";

/** What the parts of a plan's page share. */
export function usePlanContext(fabric: string, name: string) {
  const plan = usePlan(fabric, name);
  const full = plan.data?.name ?? "";
  const inForce = usePlanInForce(fabric);
  const difference = useDifference(fabric, full, inForce.name || undefined);
  const latest = usePolicies(fabric).data?.[0]?.revision;
  const snapshot = useFabrics().data?.find((f) => f.name === fabric)?.snapshot?.sha256;
  const isInForce = full !== "" && inForce.name === full;
  const policyMoved = plan.data?.policy !== undefined && latest !== undefined && latest > plan.data.policy;
  const topologyMoved = plan.data !== undefined && snapshot !== undefined && snapshot !== plan.data.snapshot;
  return {
    fabric,
    name: full,
    plan,
    inForce,
    isInForce,
    /** From the plan in force to this one; none while it is read, without a plan in force, and for that plan itself. */
    difference,
    latest,
    policyMoved,
    topologyMoved,
    stale: policyMoved || topologyMoved,
    ready: plan.data !== undefined && inForce.known && (isInForce || inForce.name === "" || !difference.isPending),
  };
}

export type Context = ReturnType<typeof usePlanContext>;
