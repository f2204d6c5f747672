import "../rollout/rollout.css";
import { useTranslation } from "react-i18next";
import { When } from "../../../ui/When";
import { RolloutName } from "../../parts/links";
import type { Device } from "../devices/model";

/** When the device was read and by whom, its policy, its incidents. */
export function DeviceFacts({ device: d }: { device: Device }) {
  const { t } = useTranslation(["devices", "common"]);
  const when = (at: string | undefined) => (at ? <When at={at} /> : t("common:never"));
  const facts: [string, React.ReactNode][] = [
    [t("common:kind"), t(`common:kind.${d.kind}`)],
    [t("id"), <code key="id">{d.id}</code>],
    [t("read"), when(d.read_at)],
    [
      t("read-by"),
      <span key="by" className="fl-name">
        {d.read_by ?? t(d.read_at ? "read-by-request" : "common:never")}
      </span>,
    ],
    [t("seen"), when(d.seen_at)],
    [t("next-read"), d.next_read_at ? <When key="next" at={d.next_read_at} /> : t("common:none")],
    [
      t("policy"),
      d.policy ? `${t(`policy.${d.policy}`)}${d.policy_inherited ? ` ${t("inherited")}` : ""}` : t("common:none"),
    ],
    [t("incidents"), d.incidents ?? 0],
  ];
  if (d.quarantined_at) facts.push([t("quarantined"), when(d.quarantined_at)]);
  if (d.rollout) facts.push([t("at-work"), <RolloutName key="ro" id={d.rollout} />]);
  if (d.repair) facts.push([t("last-repair"), <RolloutName key="repair" id={d.repair} />]);
  return (
    <dl className="fl-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
