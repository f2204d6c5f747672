import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { type Group, members } from "./model";

/** What a group is, by its id. */
const kinds = ["hosts-of-pod", "hosts-of-block", "hosts", "pod", "block", "tier", "switch", "host"] as const;

/** The full name of a group in words: "Hosts of leaf4", "Pod of pod-3-agg-1". */
export function useGroupName(): (g: Pick<Group, "id" | "name">) => string {
  const { t } = useTranslation("map");
  return useCallback(
    (g) => {
      const kind = kinds.find((k) => g.id.startsWith(`${k}:`)) ?? "switch";
      return kind === "switch" || kind === "host" ? g.name : t(`name.${kind}`, { name: g.name });
    },
    [t],
  );
}

/** A group with its kind, state and use in one sentence, for readers who do not see the picture. */
export function useDescribe(): (g: Group) => string {
  const { t } = useTranslation(["map", "common"]);
  const name = useGroupName();
  const format = useFormat();
  return useCallback(
    (g) =>
      t("describe", {
        name: name(g),
        kind: t(`common:kind.${g.kind}`),
        members: members(g),
        state: t(`common:map.${g.state}`),
        use: format.share(g.worst_use) ?? t("common:not-measured"),
      }),
    [t, name, format],
  );
}
