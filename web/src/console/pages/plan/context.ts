import { useMemo } from "react";
import { useFabrics } from "../../../shell/fabrics";
import { usePlan, usePlanInForce } from "../../parts/plans";
import { useDifference, useLatestRevision } from "./queries";
import { changedDevices } from "./settings";

/** What the parts of a plan's page share. */
export function usePlanContext(fabric: string, name: string) {
  const plan = usePlan(fabric, name);
  const full = plan.data?.name ?? "";
  const inForce = usePlanInForce(fabric);
  const difference = useDifference(fabric, full, inForce.name || undefined);
  const latest = useLatestRevision(fabric);
  const found = useFabrics().data?.find((f) => f.name === fabric);
  const snapshot = found?.snapshot?.sha256;
  const isInForce = full !== "" && inForce.name === full;
  const changed = useMemo(
    () => (plan.data && inForce.known && !isInForce ? changedDevices(inForce.plan, plan.data) : undefined),
    [plan.data, inForce.known, inForce.plan, isInForce],
  );
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
    /** Devices whose settings differ from those of the plan in force, on the plane ib. */
    changed,
    devices: changed ? changed.ports + changed.switches : undefined,
    latest,
    policyMoved,
    /** Plans of another plane than the fabric's are for comparison. */
    otherPlane: found !== undefined && plan.data !== undefined && plan.data.plane !== found.plane,
    topologyMoved,
    stale: policyMoved || topologyMoved,
    ready: plan.data !== undefined && inForce.known && (isInForce || inForce.name === "" || !difference.isPending),
  };
}

export type Context = ReturnType<typeof usePlanContext>;
