import { Group } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { IconName } from "../../../ui/icons";
import { StateBadge, type Tone } from "../../../ui/StateBadge";
import type { FabricOverview } from "../../parts/inForce";

const looks: Record<FabricOverview["verdict"], { tone: Tone; icon: IconName }> = {
  served: { tone: "good", icon: "check" },
  "below-share": { tone: "bad", icon: "warning" },
  quiet: { tone: "neutral", icon: "pause" },
  "not-measured": { tone: "warn", icon: "unknown" },
  "no-plan": { tone: "info", icon: "info" },
  "no-tenants": { tone: "info", icon: "info" },
  "not-discovered": { tone: "info", icon: "info" },
};

/** The verdict as icon, word and sentence, from the overview's own counts. */
export function VerdictSentence({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  const of = (state: string) => o.tenant_states.find((s) => s.state === state)?.tenants ?? 0;
  const look = looks[o.verdict] ?? { tone: "neutral", icon: "unknown" };
  return (
    <Group gap="sm" align="center" data-verdict={o.verdict}>
      <StateBadge tone={look.tone} icon={look.icon}>
        {t(`word.${o.verdict}`, { defaultValue: o.verdict })}
      </StateBadge>
      <span>
        {t(`verdict.${o.verdict}`, {
          defaultValue: "",
          contending: of("contending"),
          unmeasured: of("not-measured"),
          below: o.below_count,
          tenants: o.tenants,
          measured: o.measured_at ? "yes" : "no",
        })}
      </span>
    </Group>
  );
}
