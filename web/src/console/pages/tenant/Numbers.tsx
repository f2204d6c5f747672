import { SimpleGrid, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { sinceChange } from "../../../format/sinceChange";
import { useFormat } from "../../../format/useFormat";
import { BudgetNotKnown, NotMeasured } from "../../../ui/values";
import { type Reasoning, Why } from "../../../ui/Why";
import { useInForce } from "../../parts/inForce";
import { PlanName, RevisionName } from "../../parts/links";
import { usePlanInForce } from "../../parts/plans";
import type { Measured, Tenant } from "../tenants/queries";
import { type Now, useMeetings } from "./queries";

type Props = { fabric: string; tenant: Tenant; now: Now; measured: Measured | undefined };

/** A number with its name and its explanation. */
type Fact = { id: string; reasoning: Reasoning; text: string | undefined };

/** The tenant's numbers now, each with its explanation. */
export function Numbers(p: Props) {
  const basis = useBasis(p);
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
      {[...shareFacts(basis), ...periodFacts(basis)].map((x) => (
        <div key={x.id} className="fl-panel" data-fact={x.id}>
          <Text size="sm" c="dimmed">
            {x.reasoning.of}
          </Text>
          <Why reasoning={x.reasoning}>
            {x.text === undefined ? <Missing id={x.id} /> : <span className="fl-numeric">{x.text}</span>}
          </Why>
        </div>
      ))}
    </SimpleGrid>
  );
}

const Missing = ({ id }: { id: string }) => (id === "budget" ? <BudgetNotKnown /> : <NotMeasured />);

type Basis = ReturnType<typeof useBasis>;

/** What the facts are made from: the tenant's state, the plan in force, and the link that limits the tenant. */
function useBasis({ fabric, tenant, now, measured }: Props) {
  const { t } = useTranslation(["tenant", "common"]);
  const f = useFormat();
  const inForce = useInForce(fabric);
  const predicted = usePlanInForce(fabric).plan?.tenants.find((x) => x.tenant === tenant.name);
  const meeting = useMeetings(fabric, tenant.name, undefined).data?.find((m) => m.link === measured?.link);
  const revision = inForce.plan ? (
    <>
      <RevisionName revision={inForce.plan.policy} /> · <PlanName name={inForce.plan.name} />
    </>
  ) : undefined;
  const rate = (bps: number | undefined) => f.rate(bps) ?? <NotMeasured />;
  const fact = (id: string, text: string | undefined, more: Partial<Reasoning>): Fact => ({
    id,
    text,
    reasoning: { of: t(`fact.${id}`), value: text ?? <Missing id={id} />, sentence: t(`why.${id}`), revision, ...more },
  });
  const clamps = [
    ...(tenant.guarantee_bps ? [t("clamp-guarantee", { rate: f.rate(tenant.guarantee_bps) ?? "" })] : []),
    ...(tenant.cap_bps ? [t("clamp-cap", { rate: f.rate(tenant.cap_bps) ?? "" })] : []),
  ];
  return { t, f, tenant, now, measured, predicted, meeting, rate, fact, clamps };
}

/** Entitled, delivered and predicted rates. */
function shareFacts({ t, f, tenant, now, measured, predicted, meeting, rate, fact, clamps }: Basis): Fact[] {
  const entitledNow =
    now.delivered_bps !== undefined && measured?.received ? now.delivered_bps / measured.received : undefined;
  const own = { name: t("weight-of", { tenant: tenant.name }), value: f.weight(now.weight ?? tenant.weight) };
  const others = (meeting?.tenants ?? []).map((m) => ({
    name: t("on-link", { tenant: m.tenant, link: meeting?.link ?? "" }),
    value: (
      <>
        {rate(m.delivered)} / {rate(m.entitled)}
      </>
    ),
  }));
  return [
    fact("entitled", f.rate(now.entitled_bps), {
      formula: t("formula.entitled"),
      inputs: [own, ...(predicted ? [{ name: t("qps"), value: f.count(predicted.qps) }] : []), ...others],
      clamps,
      at: now.at,
    }),
    fact("entitled-now", f.rate(entitledNow), {
      formula: t("formula.entitled-now"),
      inputs: [
        ...(meeting ? [{ name: t("capacity", { link: meeting.link }), value: rate(meeting.capacity) }] : []),
        ...others,
      ],
      at: now.measured_at,
    }),
    fact("delivered", f.rate(now.delivered_bps), { at: now.measured_at }),
    fact("received", f.share(measured?.received), {
      formula: t("formula.received"),
      inputs: [
        { name: t("fact.delivered"), value: rate(now.delivered_bps) },
        { name: t("fact.entitled-now"), value: rate(entitledNow) },
        { name: t("objective"), value: f.share(now.objective.bound) },
      ],
      at: now.measured_at,
    }),
    fact(
      "predicted",
      predicted
        ? t("with-bound", { rate: f.rate(predicted.predicted_bps) ?? "", bound: f.share(predicted.bound) ?? "" })
        : undefined,
      { inputs: [own, { name: t("fact.entitled"), value: rate(predicted?.entitled_bps) }], clamps },
    ),
  ];
}

/** The error budget, the last hour, and the weight in force. */
function periodFacts({ t, f, tenant, now, fact, clamps }: Basis): Fact[] {
  const since = f.duration(sinceChange(now));
  return [
    fact("budget", f.share(now.objective.budget_left), {
      formula: t("formula.budget"),
      inputs: [
        { name: t("target"), value: f.share(now.objective.target) },
        { name: t("contended-period"), value: f.duration(now.period.contended_s) },
        { name: t("bad-period"), value: f.duration(now.period.bad_s) },
      ],
      at: now.at,
    }),
    fact("hour", f.rate(now.hour.delivered_contended_bps), {
      ...(since === undefined
        ? {}
        : { of: t("fact.hour-since", { time: since }), sentence: t("why.hour-since", { time: since }) }),
      inputs: [
        {
          name: t(since === undefined ? "contended-hour" : "contended-hour-since"),
          value: f.duration(now.hour.contended_s),
        },
        { name: t(since === undefined ? "bad-hour" : "bad-hour-since"), value: f.duration(now.hour.bad_s) },
      ],
      at: now.at,
    }),
    fact("weight", f.weight(now.weight), {
      inputs: [{ name: t("declared"), value: f.weight(tenant.weight) }],
      clamps,
      at: now.at,
    }),
  ];
}
