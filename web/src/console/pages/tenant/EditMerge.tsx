import { useTranslation } from "react-i18next";
import { MergeNote } from "../../parts/MergeNote";
import type { MergedForm } from "../../parts/useMergedForm";
import type { Tenant } from "../tenants/queries";
import { type Draft, labels } from "./draft";

/** A newer version of the tenant that was merged into the form. */
export function EditMerge({ merged }: { merged: MergedForm<Tenant, Draft> }) {
  const { t } = useTranslation(["tenant", "tenants", "common", "parts"]);
  const word = (field: keyof Draft, d: Draft): string => {
    if (field === "classes")
      return d.classes.map((c) => t("class-line", c)).join(t("parts:list-separator")) || t("common:none");
    if (field !== "ports") return d[field] || t("common:none");
    if (d.ports.length === 0) return t("common:none");
    return t("tenants:ports-are", { n: d.ports.length, first: d.ports.slice(0, 3).join(t("parts:list-separator")) });
  };
  return <MergeNote merged={merged} label={(f) => t(labels[f])} word={word} />;
}
