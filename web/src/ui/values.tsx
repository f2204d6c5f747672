import { Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../format/useFormat";

/** In place of a number that was not measured. */
export function NotMeasured() {
  const { t } = useTranslation("common");
  return (
    <Text span c="dimmed" fs="italic" inherit>
      {t("not-measured")}
    </Text>
  );
}

/** In place of an error budget that is not known: it is computed from records, not measured. A tip says so. */
export function BudgetNotKnown() {
  const { t } = useTranslation("common");
  return (
    <Text span c="dimmed" fs="italic" inherit title={t("budget-not-known")}>
      {t("not-known")}
    </Text>
  );
}

/** A rate in bit/s with its unit. */
export function Rate({ bps }: { bps: number | null | undefined }) {
  const text = useFormat().rate(bps);
  return text === undefined ? <NotMeasured /> : <span className="fl-numeric">{text}</span>;
}

/** A fraction in percent. */
export function Share({ value }: { value: number | null | undefined }) {
  const text = useFormat().share(value);
  return text === undefined ? <NotMeasured /> : <span className="fl-numeric">{text}</span>;
}
