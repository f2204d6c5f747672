import { useCallback } from "react";
import { useTranslation } from "react-i18next";

/** `actor(name)`: the name of an actor of the service's records. Its own changes have the actor "system". */
export function useActor(): (name: string) => string {
  const { t } = useTranslation("common");
  return useCallback((name) => (name === "system" ? t("actor-system") : name), [t]);
}
