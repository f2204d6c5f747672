import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import type { TimeChartProps } from "./types";

const TimeChart = lazy(() => import("./TimeChart"));

/** TimeChart, loaded when first shown. Its place is kept meanwhile, so that nothing jumps. */
export function LazyTimeChart(p: TimeChartProps) {
  return (
    <Suspense fallback={<Waiting height={(p.height ?? 260) + 110} />}>
      <TimeChart {...p} />
    </Suspense>
  );
}

function Waiting({ height }: { height: number }) {
  const { t } = useTranslation("ui");
  return (
    <div style={{ minHeight: height }} aria-busy="true">
      <span className="fl-visually-hidden">{t("chart.loading")}</span>
    </div>
  );
}
