import { useRef, useState } from "react";
import type { Schemas } from "../../../api/client";
import { useOperationKey } from "../../../ui/useOperationKey";
import { createFabric, discover, type FabricForm, timeScaleOf, updateFabric } from "./fabricForm";

export type Step = "adding" | "discovering";

/**
 * Adds the fabric of a form, then discovers it. After a failed discovery the fabric stays: the next press changes its source
 * if the form has another one, and discovers again.
 */
export function useAddFabric(form: FabricForm, onChanged: () => void) {
  const made = useRef<{ etag: string; sent: string }>(undefined);
  const [step, setStep] = useState<Step>();
  const [added, setAdded] = useState<string>();
  const [failed, setFailed] = useState<{ step: Step; problem: unknown }>();
  const [snapshot, setSnapshot] = useState<Schemas["Snapshot"]>();
  const createKey = useOperationKey(["create", form]);
  const discoverKey = useOperationKey(["discover", form]);
  const run = async () => {
    const name = form.name.trim();
    const source = { source: form.source.trim(), time_scale: timeScaleOf(form.time_scale) };
    const sent = JSON.stringify(source);
    let at: Step = "adding";
    setFailed(undefined);
    try {
      setStep(at);
      if (!made.current) {
        const { etag } = await createFabric(form, createKey);
        made.current = { etag, sent };
        setAdded(name);
      } else if (made.current.sent !== sent) {
        const { etag } = await updateFabric(name, made.current.etag, source);
        made.current = { etag, sent };
      }
      at = "discovering";
      setStep(at);
      setSnapshot(await discover(name, discoverKey));
      onChanged();
    } catch (problem) {
      setFailed({ step: at, problem });
    } finally {
      setStep(undefined);
    }
  };
  return { step, added, failed, snapshot, run };
}
