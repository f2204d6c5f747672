import { useTranslation } from "react-i18next";
import { Fact, Facts } from "../../../ui/Facts";
import { When } from "../../../ui/When";
import { RolloutName } from "../../parts/links";
import type { Device } from "../devices/model";

/** When and by what the device was read, its policy, its incidents. */
export function DeviceFacts({ device: d }: { device: Device }) {
  const { t } = useTranslation(["devices", "common"]);
  const when = (at: string | undefined) => (at ? <When at={at} /> : t("common:never"));
  return (
    <Facts>
      <Fact name={t("common:kind")}>{t(`common:kind.${d.kind}`)}</Fact>
      <Fact name={t("id")}>
        <code>{d.id}</code>
      </Fact>
      <Fact name={t("read")}>{when(d.read_at)}</Fact>
      <Fact name={t("read-by")}>{d.read_by ?? t(d.read_at ? "read-by-request" : "common:never")}</Fact>
      <Fact name={t("seen")}>{when(d.seen_at)}</Fact>
      <Fact name={t("next-read")}>{d.next_read_at ? <When at={d.next_read_at} /> : t("common:none")}</Fact>
      <Fact name={t("policy")}>
        {d.policy ? t(`words:policy.${d.policy}`) : t("common:none")}
        {d.policy_inherited ? (
          <>
            {t("gap")}
            {t("inherited")}
          </>
        ) : null}
      </Fact>
      <Fact name={t("incidents")}>{d.incidents ?? 0}</Fact>
      {d.quarantined_at ? <Fact name={t("quarantined")}>{when(d.quarantined_at)}</Fact> : null}
      {d.rollout ? (
        <Fact name={t("at-work")}>
          <RolloutName id={d.rollout} />
        </Fact>
      ) : null}
      {d.repair ? (
        <Fact name={t("last-repair")}>
          <RolloutName id={d.repair} />
        </Fact>
      ) : null}
    </Facts>
  );
}
