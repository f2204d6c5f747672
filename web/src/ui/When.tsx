import { Tooltip } from "@mantine/core";
import { useFormat } from "../format/useFormat";
import { useNow } from "./now";

/** A time relative to now; absolute on hover and focus. `at` is RFC 3339. */
export function When({ at }: { at: string }) {
  const format = useFormat();
  const time = Date.parse(at);
  const now = useNow(Math.abs(Date.now() - time) < 120_000 ? 1 : 10);
  if (!Number.isFinite(time)) return <span>{at}</span>;
  return (
    <Tooltip label={format.absolute(time)} events={{ hover: true, focus: true, touch: true }}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the focus shows the absolute time */}
      <time dateTime={at} tabIndex={0}>
        {format.ago(time, Math.max(now, Math.min(time, Date.now())))}
      </time>
    </Tooltip>
  );
}
