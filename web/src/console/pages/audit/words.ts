import { useCallback } from "react";
import { useTranslation } from "react-i18next";

/** Actions that the filter offers, by what they are about; with a dot at the end it takes all that begin with it. */
export const actionGroups = [
  "fabric.",
  "tenant.",
  "flows.",
  "policy.",
  "options.",
  "plan.",
  "rollout.",
  "device.",
  "shares.",
  "simulation.",
  "calibration.",
  "silence.",
  "settings.",
  "user.",
  "session.",
  "token.",
  "service-account.",
  "audit.",
  "store.",
];

/** `action(code)`: an action in words, its code where it has none. */
export function useActionWord(): (code: string) => string {
  const { t } = useTranslation("audit");
  return useCallback((code) => t(`action.${code}`, { defaultValue: code }), [t]);
}
