import { Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Rate } from "../../../ui/values";
import { Why } from "../../../ui/Why";
import { useEndpoints } from "../../endpoints";
import type { Now } from "../../tenant";
import { rateOf } from "../endpoints/states";
import { partOf, receivedOf } from "./cause";

/** What limits the tenant, and its own part there: no link is named, and no figure of a link is shown (docs/security.md). */
export function Limit({ now }: { now: Now }) {
  const { t } = useTranslation(["share", "common"]);
  const format = useFormat();
  const ports = useEndpoints();
  const rate = rateOf(ports.data?.items ?? []);
  const missing = t("common:not-measured");
  const share = (bps: number | undefined) => format.share(partOf(bps, rate)) ?? missing;
  const [entitled, delivered] = [share(now.entitled_bps), share(now.delivered_bps)];
  const value = t(`limit.${now.state ?? "not-measured"}`, { defaultValue: missing });
  return (
    <div className="fl-panel" data-figure="limit">
      <Text size="sm" c="dimmed">
        {t("limit")}
      </Text>
      <Why
        reasoning={{
          of: t("limit"),
          value,
          sentence: t("limit-why"),
          formula: t("limit-formula"),
          inputs: [
            { name: t("ports-rate"), value: <Rate bps={rate} /> },
            { name: t("entitled"), value: <Rate bps={now.entitled_bps} /> },
            { name: t("delivered"), value: <Rate bps={now.delivered_bps} /> },
            { name: t("received"), value: format.share(receivedOf(now)) ?? missing },
          ],
          at: now.measured_at,
        }}
      >
        <Text span fw={650}>
          {value}
        </Text>
      </Why>
      <Text size="sm">{t("limit-shares", { entitled, delivered })}</Text>
    </div>
  );
}
