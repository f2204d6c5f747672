import { Icon, type IconName } from "./icons";

export type Tone = "good" | "warn" | "bad" | "info" | "neutral" | "simulated";

/** A state as icon, word and colour. The word comes from the caller's catalogue. */
export function StateBadge({ tone, icon, children }: { tone: Tone; icon?: IconName; children: React.ReactNode }) {
  return (
    <span className="fl-state" data-tone={tone}>
      <Icon name={icon ?? icons[tone]} size={14} />
      <span>{children}</span>
    </span>
  );
}

const icons: Record<Tone, IconName> = {
  good: "check",
  warn: "warning",
  bad: "cross",
  info: "info",
  neutral: "dash",
  simulated: "flask",
};

type Look = { tone: Tone; icon: IconName };
const looks =
  (table: Record<string, Look>) =>
  (state: string): Look =>
    table[state] ?? { tone: "neutral", icon: "unknown" };

/** The look of a tenant's measured state (TenantNow.state, TenantShare.contention). */
export const measuredLook = looks({
  contending: { tone: "info", icon: "flow" },
  "not-measured": { tone: "neutral", icon: "unknown" },
  "path-down": { tone: "bad", icon: "broken" },
  idle: { tone: "neutral", icon: "dash" },
  cap: { tone: "neutral", icon: "lock" },
  "own-port": { tone: "neutral", icon: "info" },
  "other-link": { tone: "neutral", icon: "info" },
  demand: { tone: "neutral", icon: "info" },
});

/** The look of the state of a port's link (EndpointState). */
export const portLook = looks({
  up: { tone: "good", icon: "check" },
  down: { tone: "bad", icon: "broken" },
  unknown: { tone: "neutral", icon: "unknown" },
});

/** The look of a maintenance's state (MaintenanceState). */
export const maintenanceLook = looks({
  planned: { tone: "info", icon: "clock" },
  active: { tone: "warn", icon: "warning" },
  ended: { tone: "neutral", icon: "check" },
  canceled: { tone: "neutral", icon: "dash" },
});

/** The look of a device's state (DeviceState). Only a verified device is good. */
export const deviceLook = looks({
  unknown: { tone: "neutral", icon: "unknown" },
  "in-sync": { tone: "good", icon: "check" },
  pending: { tone: "neutral", icon: "clock" },
  applying: { tone: "info", icon: "flow" },
  verifying: { tone: "info", icon: "clock" },
  drifted: { tone: "warn", icon: "warning" },
  failed: { tone: "bad", icon: "cross" },
  "rolled-back": { tone: "neutral", icon: "undo" },
  unsupported: { tone: "neutral", icon: "dash" },
  unreachable: { tone: "bad", icon: "broken" },
  quarantined: { tone: "bad", icon: "lock" },
  "clean-up-pending": { tone: "info", icon: "clock" },
});

/** The look of a rollout's state (RolloutState). */
export const rolloutLook = looks({
  running: { tone: "info", icon: "flow" },
  succeeded: { tone: "good", icon: "check" },
  partial: { tone: "warn", icon: "warning" },
  failed: { tone: "bad", icon: "cross" },
  "rolled-back": { tone: "warn", icon: "undo" },
  refused: { tone: "bad", icon: "lock" },
  canceled: { tone: "neutral", icon: "dash" },
  interrupted: { tone: "warn", icon: "pause" },
});

/** The look of a task's state (TaskState). */
export const taskLook = looks({
  queued: { tone: "neutral", icon: "clock" },
  running: { tone: "info", icon: "flow" },
  succeeded: { tone: "good", icon: "check" },
  failed: { tone: "bad", icon: "cross" },
  canceled: { tone: "neutral", icon: "dash" },
});
