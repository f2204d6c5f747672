import { List, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { Said } from "../../../ui/Said";

/** The size of a discovered topology, and the warnings of its discovery. */
export function SnapshotFacts({ snapshot: s }: { snapshot: Schemas["Snapshot"] }) {
  const { t } = useTranslation("settings");
  return (
    <>
      <Text size="sm">{t("snapshot", { switches: s.switches, hosts: s.hosts, links: s.links })}</Text>
      {s.warnings?.length ? (
        <List size="sm">
          {s.warnings.map((w, i) => (
            <List.Item key={w} className="fl-name">
              <Said said={s.warnings_said?.[i]} english={w} />
            </List.Item>
          ))}
        </List>
      ) : null}
    </>
  );
}
