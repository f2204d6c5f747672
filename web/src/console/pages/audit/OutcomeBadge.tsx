import { useTranslation } from "react-i18next";
import { StateBadge } from "../../../ui/StateBadge";
import type { Entry } from "./queries";

/** Whether an action was done or refused. */
export function OutcomeBadge({ outcome }: Pick<Entry, "outcome">) {
  const { t } = useTranslation("audit");
  return (
    <StateBadge tone={outcome === "done" ? "good" : "warn"} icon={outcome === "done" ? "check" : "lock"}>
      {t(`outcome.${outcome}`)}
    </StateBadge>
  );
}
