import { useTranslation } from "react-i18next";
import { useLanguage } from "../../../i18n";
import { When } from "../../../ui/When";
import type { FabricMap } from "./model";

/** The contended links, and the tenants on the fullest of them, in one sentence. */
export function useAnswer(map: FabricMap | undefined): string {
  const { t } = useTranslation("map");
  const language = useLanguage();
  if (!map) return "";
  if (map.series === "off") return t("answer.off");
  if (map.series === "away") return t("answer.away");
  const worst = map.tenants_meeting[0];
  if (!worst) return map.measured_at ? t("answer.none") : t("answer.not-yet");
  const count = map.tenants_meeting.length + map.more_meetings;
  const names = worst.tenants.map((x) => x.tenant);
  const named = names.slice(0, names.length > 4 ? 3 : 4);
  const others = names.length - named.length + worst.more;
  const parts = [...named, ...(others ? [t("answer.others", { n: others })] : [])];
  // Intl joins the last two names in Chinese without the space that stands between Chinese and Latin letters.
  const list = language === "zh" ? parts.join("、") : new Intl.ListFormat("en-GB").format(parts);
  return t(count === 1 ? "answer.one" : "answer.many", {
    count,
    link: worst.link,
    tenants: list,
    n: names.length + worst.more,
  });
}

/** The answer with the time of the measurement. */
export function Answer({ map, sentence }: { map: FabricMap; sentence: string }) {
  const { t } = useTranslation("map");
  const language = useLanguage();
  return (
    <p style={{ margin: 0 }} className="fl-name">
      {sentence}
      {language === "zh" ? "" : " "}
      {map.measured_at ? (
        <>
          {t("measured")} <When at={map.measured_at} />
        </>
      ) : null}
    </p>
  );
}
