import { SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { instant } from "../../../api/prom";
import { byCap } from "../../../format/byCap";
import { sinceChange } from "../../../format/sinceChange";
import { useFormat } from "../../../format/useFormat";
import { ShareBar } from "../../../ui/ShareBar";
import { BudgetNotKnown, Rate } from "../../../ui/values";
import { type Reasoning, Why } from "../../../ui/Why";
import { selector } from "../../series";
import { type Now, useTenant } from "../../tenant";
import { partOf, receivedOf } from "./cause";
import { Limit } from "./Limit";

/** What a tenant is entitled to and receives: now, in the last hour and in the last 28 days; its objective and budget. */
export function Figures({ now }: { now: Now }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
        <Entitled now={now} />
        <Delivered now={now} />
        <Contended now={now} of="hour" />
        <Contended now={now} of="period" />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <Budget now={now} />
        <Limit now={now} />
      </SimpleGrid>
      <Bar now={now} />
    </>
  );
}

/** Entitled, predicted by the plan in force, and delivered, on one scale. */
function Bar({ now }: { now: Now }) {
  const { t } = useTranslation("share");
  const format = useFormat();
  const { fabric, tenant } = now;
  const predicted = useQuery({
    queryKey: keys.series("predicted", fabric, tenant),
    queryFn: async ({ signal }) => {
      const query = selector("fairlane_tenant_predicted_bits_per_second", { fabric, tenant });
      return (await instant(query, undefined, signal))[0]?.value ?? null;
    },
  });
  return (
    <div className="fl-panel">
      <ShareBar
        label={t("bar", { tenant })}
        entitled={now.entitled_bps}
        predicted={predicted.data ?? undefined}
        delivered={now.delivered_bps}
        format={(v) => format.rate(v) ?? ""}
      />
    </div>
  );
}

function Figure({ reasoning, id, under }: { reasoning: Reasoning; id: string; under: ReactNode }) {
  return (
    <div className="fl-panel" data-figure={id}>
      <Text size="sm" c="dimmed">
        {reasoning.of}
      </Text>
      <Why reasoning={reasoning}>
        <Text span fz="xl" fw={650} className="fl-numeric">
          {reasoning.value}
        </Text>
      </Why>
      <Text size="sm">{under}</Text>
    </div>
  );
}

function Entitled({ now }: { now: Now }) {
  const { t } = useTranslation("share");
  const format = useFormat();
  const weight = format.weight(now.weight) ?? t("common:not-measured");
  const cap = useTenant().data?.body.cap_bps;
  return (
    <Figure
      id="entitled"
      under={
        byCap(cap, now.entitled_bps)
          ? t("entitled-cap", { cap: format.rate(cap) ?? "" })
          : t("entitled-weight", { weight })
      }
      reasoning={{
        of: t("entitled"),
        value: <Rate bps={now.entitled_bps} />,
        sentence: t("entitled-why"),
        inputs: [{ name: t("weight"), value: weight }],
        at: now.at,
      }}
    />
  );
}

function Delivered({ now }: { now: Now }) {
  const { t } = useTranslation("share");
  const format = useFormat();
  const received = format.share(receivedOf(now));
  return (
    <Figure
      id="now"
      under={received === undefined ? t("common:not-measured") : t("of-entitled", { received })}
      reasoning={{
        of: t("delivered-now"),
        value: <Rate bps={now.delivered_bps} />,
        sentence: t("delivered-now-why"),
        formula: t("received-formula"),
        inputs: [
          { name: t("delivered"), value: <Rate bps={now.delivered_bps} /> },
          { name: t("entitled"), value: <Rate bps={now.entitled_bps} /> },
          { name: t("received"), value: received ?? t("common:not-measured") },
        ],
        at: now.measured_at,
      }}
    />
  );
}

function Contended({ now, of }: { now: Now; of: "hour" | "period" }) {
  const { t } = useTranslation("share");
  const format = useFormat();
  const x = now[of];
  const since = of === "hour" ? format.duration(sinceChange(now)) : undefined;
  const received = format.share(partOf(x.delivered_contended_bps, now.entitled_bps));
  const contended = format.duration(x.contended_s) ?? t("common:not-measured");
  const bad = format.duration(x.bad_s) ?? t("common:not-measured");
  return (
    <Figure
      id={of}
      under={
        <>
          {received ? <span className="fl-line">{t("of-entitled", { received })}</span> : null}
          <span className="fl-line">
            {x.contended_s === undefined ? t("contended-unknown") : t("contended-for", { contended })}
          </span>
        </>
      }
      reasoning={{
        of: since === undefined ? t(`delivered-${of}`) : t("delivered-hour-since", { time: since }),
        value: x.contended_s === 0 ? t("not-contended") : <Rate bps={x.delivered_contended_bps} />,
        sentence: since === undefined ? t(`delivered-${of}-why`) : t("delivered-hour-since-why", { time: since }),
        inputs: [
          { name: t("contended-time"), value: contended },
          { name: t("bad-time"), value: bad },
          { name: t("entitled-today"), value: <Rate bps={now.entitled_bps} /> },
        ],
        at: now.at,
      }}
    />
  );
}

function Budget({ now }: { now: Now }) {
  const { t } = useTranslation("share");
  const format = useFormat();
  const { bound, target, budget_left: left } = now.objective;
  const missing = t("common:not-measured");
  const since = format.duration(sinceChange(now));
  const used = { bound: format.share(bound) ?? "", target: format.share(target) ?? "" };
  return (
    <Figure
      id="budget"
      under={t("objective", used)}
      reasoning={{
        of: t("budget"),
        value: format.share(left) ?? <BudgetNotKnown />,
        sentence: t("budget-why", used),
        formula: t("budget-formula"),
        inputs: [
          { name: t("bound"), value: used.bound },
          { name: t("target"), value: used.target },
          { name: t("bad-period"), value: format.duration(now.period.bad_s) ?? missing },
          { name: t("contended-period"), value: format.duration(now.period.contended_s) ?? missing },
          {
            name: since === undefined ? t("bad-hour") : t("bad-hour-since", { time: since }),
            value: format.duration(now.hour.bad_s) ?? missing,
          },
        ],
        at: now.at,
      }}
    />
  );
}
