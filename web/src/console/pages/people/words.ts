import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import type { Grant } from "./queries";

/** `word(grant)`: a role with its fabric or tenant, "operator on all fabrics". */
export function useGrantWord(): (grant: Grant) => string {
  const { t } = useTranslation(["people", "common"]);
  return useCallback(
    ({ role, fabric, tenant }) => {
      const name = t(`words:role.${role}`, { defaultValue: role });
      if (tenant) return t("grant-tenant", { role: name, tenant, fabric: fabric ?? "" });
      return fabric ? t("grant-fabric", { role: name, fabric }) : t("grant-all", { role: name });
    },
    [t],
  );
}
