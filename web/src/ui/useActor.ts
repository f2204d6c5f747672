import { useCallback } from "react";
import { useTranslation } from "react-i18next";

const words: Record<string, string> = { system: "common:actor-system", operator: "words:role.operator" };

/**
 * `actor(name)`: the name of an actor of the service's records. Its own changes have the actor "system"; tenants see "operator" in place
 * of users outside of the tenant, who cannot have either name.
 */
export function useActor(): (name: string) => string {
  const { t } = useTranslation("common");
  return useCallback((name) => (words[name] ? t(words[name]) : name), [t]);
}
