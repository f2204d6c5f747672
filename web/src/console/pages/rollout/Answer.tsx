import { useTranslation } from "react-i18next";
import { useSay } from "../../../i18n/say";
import { type Counts, counted, type Rollout, situationOf } from "./model";

/** The first sentence of the page: how far the rollout is, whether it is safe, and how to stop it. */
export function useAnswer(): (ro: Rollout) => string {
  const { t } = useTranslation("rollouts");
  const say = useSay();
  return (ro) => {
    const situation = situationOf(ro);
    const c = counted(ro.devices ?? []);
    const numbers = {
      ...figures(c),
      wave: Math.max(0, ro.wave) + 1,
      waves: ro.waves,
      budget: ro.options?.failure_budget ?? 0,
    };
    if (ro.state === "running") return t(`answer.${situation}`, { ...numbers, repair: ro.repair ? "yes" : "no" });
    return t(`answer.${situation}`, { ...numbers, result: say(ro.result_said, ro.result) });
  };
}

/** Counts for sentences. Written: a write may have reached the device, and its settings are not verified. */
const figures = (c: Counts) => ({
  devices: c.all,
  verified: c.verified,
  failed: c.failed,
  back: c.back,
  written: c.writing + c.reading,
  open: c.waiting + c.unknown,
});
