import { useTranslation } from "react-i18next";
import { useFigures } from "./useFigures";

type Value = { predicted_bps: number; bound: number };

/** A predicted rate with its error bound; what a plan does not have has no rate in it. */
export function Predicted({ of }: { of?: Value }) {
  const { t } = useTranslation("parts");
  const { rate } = useFigures();
  if (!of) return <span>{t("not-in-plan")}</span>;
  return (
    <span className="fl-numeric" title={t("bound-title")}>
      {t("with-bound", { rate: rate(of.predicted_bps), bound: rate(of.predicted_bps * of.bound) })}
    </span>
  );
}
