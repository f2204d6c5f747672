import { Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { DifferenceView } from "../../parts/DifferenceView";
import type { Context } from "./context";

/** What changes from the plan in force; its shares stand above on the page. */
export function Changes({ context: x }: { context: Context }) {
  const { t } = useTranslation("plans");
  if (x.isInForce) return <Text>{t("changes-in-force")}</Text>;
  if (x.inForce.known && x.inForce.name === "") return <Text>{t("changes-first")}</Text>;
  return (
    <QueryView query={x.difference}>
      {(difference) => <DifferenceView difference={difference} devices={x.devices} withoutShares />}
    </QueryView>
  );
}
