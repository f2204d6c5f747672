import { Group, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { Said } from "../../ui/Said";
import { useActor } from "../../ui/useActor";
import { When } from "../../ui/When";
import { DeviceName, PlanName, RevisionName, RolloutName, TenantName } from "./links";

type Event = Schemas["Event"];

const hash = /^[0-9a-f]{64}$/;

/** The object that an event is about, by the kind of the event. */
function subjectOf(e: Pick<Event, "kind" | "subject" | "rollout">) {
  const [first = ""] = e.kind.split(".");
  if (e.kind === "tenant.deleted") return undefined;
  if (first === "tenant" && /^[a-z0-9-]+$/.test(e.subject)) return { kind: "tenant", name: e.subject } as const;
  if (first === "policy" && /^\d+$/.test(e.subject)) return { kind: "revision", name: e.subject } as const;
  if (first === "device" && e.subject) return { kind: "device", name: e.subject } as const;
  if (hash.test(e.subject) && (first === "plan" || first === "rollout"))
    return { kind: "plan", name: e.subject } as const;
  return undefined;
}

/** An event in one line: what happened, when and by whom, with links to what it is about. */
export function EventLine({ event: e }: { event: Event }) {
  const { t } = useTranslation("parts");
  const actor = useActor();
  const subject = subjectOf(e);
  return (
    <Group gap="sm" wrap="wrap" align="baseline" data-event={e.kind}>
      <Text size="sm" c="dimmed" component="span" style={{ flex: "0 0 auto" }}>
        <When at={e.at} />
      </Text>
      <Text size="sm" component="span" style={{ flex: "1 1 18rem" }} className="fl-name">
        <Said said={e.said} english={e.message} />
      </Text>
      <Text size="sm" component="span">
        {subject?.kind === "tenant" ? <TenantName name={subject.name} fabric={e.fabric} /> : null}
        {subject?.kind === "device" ? <DeviceName name={subject.name} fabric={e.fabric} /> : null}
        {subject?.kind === "plan" ? <PlanName name={subject.name} fabric={e.fabric} /> : null}
        {subject?.kind === "revision" ? <RevisionName revision={Number(subject.name)} fabric={e.fabric} /> : null}
        {subject && e.rollout !== undefined ? t("list-separator") : null}
        {e.rollout !== undefined ? <RolloutName id={e.rollout} fabric={e.fabric} /> : null}
      </Text>
      <Text size="sm" c="dimmed" component="span" className="fl-name">
        {t("by", { actor: actor(e.actor) })}
      </Text>
    </Group>
  );
}
