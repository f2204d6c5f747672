import { Button, Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { stepOf } from "../../../api/prom";
import { useFormat } from "../../../format/useFormat";
import { isSimulated, useFabrics } from "../../../shell/fabrics";
import { parseRange, RangePicker, type RangeValue, rangeSearch, resolveRange } from "../../../ui/chart/rangePicker";
import { useNow } from "../../../ui/now";
import { QueryView } from "../../../ui/states";
import { useUrlState } from "../../../ui/useUrlState";
import { Part } from "../../parts/Part";
import { Meetings } from "./Meetings";
import { useHistory, useMarks } from "./queries";
import { ShareChart } from "./ShareChart";

/** Seconds before and after the moment of an alert that the chart shows. */
const around = 1800;

/** What was delivered against what the tenant was entitled to, and with whom it shares its links. The range, the moment and the link are in the address. */
export function SharePart({ fabric, tenant }: { fabric: string; tenant: string }) {
  const { t } = useTranslation("tenant");
  const f = useFormat();
  const [url, setUrl] = useUrlState({ last: "", from: "", to: "", at: "", link: "" });
  const clock = Math.floor(useNow(15) / 15_000) * 15;
  const at = momentOf(url.at);
  const value = parseRange(
    url,
    at === undefined ? { last: "1h" } : { from: at - around, to: Math.max(at + 60, Math.min(at + around, clock)) },
  );
  const range = resolveRange(value, clock);
  const step = stepOf(range.from, range.to, 400);
  const [from, to] = [Math.floor(range.from / step) * step, Math.ceil(range.to / step) * step];
  const moving = "last" in value;
  const history = useHistory(fabric, tenant, from, to, step, moving);
  // The marks of a moving range begin at a full hour: they are read again for a new event, not for each step of the range.
  const marks = useMarks(fabric, tenant, moving ? Math.floor(from / 3600) * 3600 : from, moving ? undefined : to);
  const simulated = isSimulated(useFabrics().data?.find((x) => x.name === fabric));
  const change = (next: RangeValue) => setUrl(rangeSearch(next));
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <RangePicker value={value} onChange={change} now={clock} />
        {at === undefined ? null : (
          <Group gap="xs" data-at={at}>
            <Text size="sm">{t("around", { time: f.absolute(at * 1000) })}</Text>
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => setUrl({ at: "", link: "", last: "", from: "", to: "" })}
            >
              {t("to-now")}
            </Button>
          </Group>
        )}
      </Group>
      <QueryView query={history}>
        {(h) => (
          <ShareChart
            fabric={fabric}
            tenant={tenant}
            history={h}
            step={step}
            range={{ from: range.from, to: range.to }}
            moving={moving}
            events={marks.data ?? []}
            at={at}
            now={clock}
            simulated={simulated}
            onRange={(a, b) => change({ from: a, to: b })}
          />
        )}
      </QueryView>
      <Part title={t("meetings")}>
        <Meetings
          fabric={fabric}
          tenant={tenant}
          at={at}
          range={{ from, to, step, moving }}
          link={url.link}
          onLink={(link) => setUrl({ link })}
        />
      </Part>
      <Text size="sm" c="dimmed">
        {t("loop")}
      </Text>
    </Stack>
  );
}

/** The moment of an alert's link, in seconds since 1970: RFC 3339 or seconds. */
function momentOf(text: string): number | undefined {
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text);
  return text !== "" && Number.isFinite(ms) ? Math.round(ms / 1000) : undefined;
}
