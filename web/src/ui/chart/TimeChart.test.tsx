import { act, cleanup, fireEvent, screen, within } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { ShareBar } from "../ShareBar";
import { saveCsv } from "../table/save";
import { renderUi } from "../testing/harness";
import type { Live } from "./options";
import { RangePicker } from "./rangePicker";
import { Sparkline } from "./Sparkline";
import TimeChart from "./TimeChart";
import type { TimeChartProps } from "./types";

/** Stands for the canvas, which happy-dom has not: keeps its name and what the plot would call. */
let live: Live;
vi.mock("./Plot", () => ({
  Plot: (p: { label: string; live: Live }) => {
    live = p.live;
    return <div role="img" aria-label={p.label} />;
  },
}));
vi.mock("../table/save", () => ({ saveCsv: vi.fn() }));
afterEach(cleanup);

const start = Date.UTC(2026, 10, 27, 12, 0, 0) / 1000;
const props: TimeChartProps = {
  title: "Delivered rate",
  summary: "Gold gets 50 Gbit/s.",
  unit: "Gbit/s",
  times: [start, start + 15, start + 30],
  series: [
    { label: "gold", values: [50, null, 52], kind: "line" },
    { label: "gold, predicted", values: [51, 51, 51], kind: "predicted" },
  ],
  bands: [{ label: "entitled", upper: [55, 55, 55], lower: [45, 45, 45] }],
  hatched: [{ from: start, to: start + 15, label: "not contended" }],
  marks: [
    { at: start + 15, label: "Rollout 7 started", href: "/rollouts/7", kind: "rollout" },
    { at: start + 900, label: "Out of range", kind: "rollout" },
  ],
  range: { from: start, to: start + 30 },
  csvName: "rates",
};

test("the picture has a name and a summary, and what it shows stands beside it in words", async () => {
  await renderUi(<TimeChart {...props} simulated />);
  expect(screen.getByRole("img", { name: "Delivered rate. Gold gets 50 Gbit/s." })).toBeTruthy();
  expect(screen.getByText("Hatched: not contended")).toBeTruthy();
  expect(screen.getByText("A gap in a line: not measured")).toBeTruthy();
  expect(screen.getByText(/^Times in GMT\+8, Asia\/Shanghai/)).toBeTruthy();
  expect(screen.getByText("Simulated")).toBeTruthy();
  const events = screen.getByRole("list", { name: "Events in Delivered rate" });
  expect(within(events).getAllByRole("listitem")).toHaveLength(1);
  expect(within(events).getByRole("link", { name: "Rollout 7 started" }).getAttribute("href")).toBe("/rollouts/7");
});

test("of many events the latest five are listed, and all on request", async () => {
  const marks = Array.from({ length: 12 }, (_, i) => ({ at: start + i, label: `Event ${i + 1}`, kind: "rollout" }));
  await renderUi(<TimeChart {...props} marks={marks} />);
  const listed = () => within(screen.getByRole("list")).getAllByRole("listitem");
  expect(listed().map((li) => (li as HTMLLIElement).value)).toEqual([8, 9, 10, 11, 12]);
  fireEvent.click(screen.getByRole("button", { name: "Show 7 earlier events" }));
  expect(listed()).toHaveLength(12);
  const fewer = screen.getByRole("button", { name: "Show the latest events only" });
  expect(fewer.getAttribute("aria-expanded")).toBe("true");
  fireEvent.click(fewer);
  expect(listed()).toHaveLength(5);
});

test("a range that moves with the clock begins with the first value, and says so", async () => {
  const young = { ...props, hatched: [], bands: [], range: { from: start - 3600, to: start + 600 } };
  const { rerender } = await renderUi(<TimeChart {...young} fromFirst />);
  expect(live.range).toMatchObject({ from: start - 12, to: start + 600 });
  expect(screen.getByText("Not measured before 27 Nov, 20:00:00; the empty time is left out.")).toBeTruthy();
  act(() => live.onRange({ from: start + 10, to: start + 80 }));
  expect(screen.queryByText(/left out/)).toBeNull();
  act(() => live.onReset());
  expect(live.range.from).toBe(start - 12);
  rerender(<TimeChart {...young} />);
  expect(live.range).toEqual(young.range);
});

test("the legend shows the latest values, those at the crosshair, and turns lines off", async () => {
  await renderUi(<TimeChart {...props} />);
  const gold = screen.getByRole("button", { name: "gold 52" });
  expect(screen.getByRole("button", { name: "entitled 45 to 55" })).toBeTruthy();
  act(() => live.onCursor(1));
  expect(gold.textContent).toBe("goldnot measured");
  expect(screen.getByText(/^At 27 Nov, 20:00:15/)).toBeTruthy();
  fireEvent.click(gold);
  expect(gold.getAttribute("aria-pressed")).toBe("false");
});

test("the table twin has ISO times and words for gaps", async () => {
  await renderUi(<TimeChart {...props} />);
  const toggle = screen.getByRole("button", { name: "Table" });
  fireEvent.click(toggle);
  expect(toggle.getAttribute("aria-pressed")).toBe("true");
  const rows = within(screen.getByRole("table", { name: "Values of Delivered rate" })).getAllByRole("row");
  expect(rows).toHaveLength(4);
  expect(rows[2]?.textContent).toBe("2026-11-27T12:00:15Znot measured514555");
});

test("the exported file has all series, whole values and the source", async () => {
  await renderUi(<TimeChart {...props} bands={[]} simulated range={{ from: start, to: start + 15 }} />);
  fireEvent.click(screen.getByRole("button", { name: "Download CSV" }));
  expect(vi.mocked(saveCsv).mock.calls).toEqual([
    [
      "rates",
      ["Time", "gold (Gbit/s)", "gold, predicted (Gbit/s)", "Source"],
      [
        ["2026-11-27T12:00:00Z", 50, 51, "Simulated"],
        ["2026-11-27T12:00:15Z", "not measured", 51, "Simulated"],
      ],
    ],
  ]);
});

test("buttons do what a drag does, and the range returns", async () => {
  await renderUi(<TimeChart {...props} now={start + 30} range={{ from: start - 970, to: start + 30 }} />);
  const later = screen.getByRole<HTMLButtonElement>("button", { name: "Later" });
  expect(later.disabled).toBe(true);
  fireEvent.click(screen.getByRole("button", { name: "Zoom in" }));
  expect(live.range).toEqual({ from: start - 720, to: start - 220 });
  fireEvent.click(screen.getByRole("button", { name: "Earlier" }));
  expect(live.range).toEqual({ from: start - 970, to: start - 470 });
  act(() => live.onRange({ from: start, to: start + 20 }));
  fireEvent.click(screen.getByRole("button", { name: "Reset range" }));
  expect(live.range).toEqual({ from: start - 970, to: start + 30 });
  expect(screen.queryByRole("button", { name: "Reset range" })).toBeNull();
});

test("a page that holds the range gets each change, and its own range back", async () => {
  const onRange = vi.fn();
  const { rerender } = await renderUi(<TimeChart {...props} onRange={onRange} />);
  act(() => live.onRange({ from: start + 1, to: start + 2 }));
  expect(onRange).toHaveBeenLastCalledWith(start + 1, start + 2);
  rerender(<TimeChart {...props} onRange={onRange} range={{ from: start + 1, to: start + 2 }} />);
  act(() => live.onReset());
  expect(onRange).toHaveBeenLastCalledWith(start, start + 30);
});

test("more than eight series: the table has all of them", async () => {
  const many = Array.from({ length: 10 }, (_, i) => ({
    label: `tenant-${i}`,
    values: [i, i, i],
    kind: "line" as const,
  }));
  await renderUi(<TimeChart {...props} series={many} bands={[]} />);
  expect(screen.getByRole("button", { name: /^3 others/ })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Table" }));
  expect(screen.getByRole("columnheader", { name: /tenant-0/ })).toBeTruthy();
});

test("small line and share bar say their values", async () => {
  await renderUi(
    <>
      <Sparkline label="Delivered" values={[1, null, 3]} max={3} format={String} />
      <Sparkline label="Nothing" values={[null]} max={3} format={String} />
      <ShareBar label="gold" entitled={50} predicted={48} bound={3} format={(v) => `${v} Gbit/s`} />
      <ShareBar compact label="silver" entitled={50} format={(v) => `${v} Gbit/s`} />
    </>,
  );
  expect(screen.getByRole("img", { name: "Delivered: 3; lowest 1, highest 3" })).toBeTruthy();
  expect(screen.getByRole("img", { name: "Nothing: not measured" })).toBeTruthy();
  expect(screen.getByText("48 Gbit/s ± 3 Gbit/s")).toBeTruthy();
  expect(screen.getByText("not measured")).toBeTruthy();
  expect(
    screen.getByRole("img", { name: "silver: entitled 50 Gbit/s, predicted not measured, delivered not measured" }),
  ).toBeTruthy();
});

test("the range picker offers lengths and two moments, and refuses an end before the start", async () => {
  const onChange = vi.fn();
  await renderUi(<RangePicker value={{ last: "6h" }} onChange={onChange} now={start} />);
  expect(screen.getByRole("button", { name: "Last 6 h" }).getAttribute("aria-pressed")).toBe("true");
  fireEvent.click(screen.getByRole("button", { name: "Last 7 d" }));
  expect(onChange).toHaveBeenLastCalledWith({ last: "7d" });
  fireEvent.click(screen.getByRole("button", { name: "Custom" }));
  const to = screen.getByLabelText("To");
  const form = to.closest("form") as HTMLFormElement;
  fireEvent.change(to, { target: { value: "2020-01-01T00:00" } });
  fireEvent.submit(form);
  expect(screen.getByRole("alert").textContent).toBe("The range must end after it starts.");
  fireEvent.change(screen.getByLabelText("From"), { target: { value: "2019-12-31T00:00" } });
  fireEvent.submit(form);
  expect(onChange).toHaveBeenLastCalledWith({
    from: new Date("2019-12-31T00:00").getTime() / 1000,
    to: new Date("2020-01-01T00:00").getTime() / 1000,
  });
});
