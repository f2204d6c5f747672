import { act, cleanup, fireEvent, screen, within } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SimulatedContext } from "../simulated";
import { renderUi } from "../testing/harness";
import { type Column, DataTable, type DataTableProps } from "./DataTable";
import { saveCsv } from "./save";

vi.mock("./save", () => ({ saveCsv: vi.fn() }));

type Row = { id: string; rate?: number };
const rows: Row[] = [
  { id: "leaf-10", rate: 3 },
  { id: "leaf-2" },
  { id: "leaf-1", rate: 7 },
  { id: "spine-1", rate: 3 },
];
const columns: Column<Row>[] = [
  { id: "name", header: "Device", value: (r) => r.id },
  { id: "rate", header: "Delivered", unit: "Gbit/s", align: "end", value: (r) => r.rate },
  { id: "port", header: "Port", value: () => 1, hidden: true },
];

const table = (p: Partial<DataTableProps<Row>> = {}) => (
  <DataTable
    caption="Devices"
    rows={rows}
    columns={columns}
    rowId={(r) => r.id}
    count={(n, total) => `${n} of ${total} devices`}
    {...p}
  />
);
const names = () => screen.getAllByRole("rowheader").map((c) => c.textContent);

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

test("orders by a column with what was not measured last in both directions, and keeps equal rows in order", async () => {
  await renderUi(table());
  const button = screen.getByRole("button", { name: /Delivered/ });
  const head = screen.getByRole("columnheader", { name: /Delivered/ });
  expect(head.getAttribute("aria-sort")).toBe("none");
  fireEvent.click(button);
  expect(head.getAttribute("aria-sort")).toBe("descending");
  expect(names()).toEqual(["leaf-1", "leaf-10", "spine-1", "leaf-2"]);
  fireEvent.click(button);
  expect(head.getAttribute("aria-sort")).toBe("ascending");
  expect(names()).toEqual(["leaf-10", "spine-1", "leaf-1", "leaf-2"]);
  fireEvent.click(screen.getByRole("button", { name: /Device/ }));
  expect(names()).toEqual(["leaf-1", "leaf-2", "leaf-10", "spine-1"]);
});

test("names the scroll box and the table, counts rows, and words what was not measured", async () => {
  await renderUi(table());
  expect(screen.getByRole("region", { name: "Devices" }).tabIndex).toBe(0);
  const found = screen.getByRole("table", { name: "Devices" });
  expect(found.getAttribute("aria-rowcount")).toBe("5");
  expect(
    within(found)
      .getAllByRole("row")
      .map((r) => r.getAttribute("aria-rowindex")),
  ).toEqual(["1", "2", "3", "4", "5"]);
  expect(screen.getAllByText("not measured")).toHaveLength(1);
  expect(screen.queryByRole("columnheader", { name: /Port/ })).toBeNull();
});

test("renders once for a change of the rows", async () => {
  const count = vi.fn(() => "");
  const { rerender } = await renderUi(table({ count }));
  for (let n = 0; n < 3; n++) {
    count.mockClear();
    await act(async () => rerender(table({ count, rows: [...rows] })));
    expect(count).toHaveBeenCalledTimes(1);
  }
});

test("filters, says how many rows are left, and offers to clear a filter without a match", async () => {
  const onFilter = vi.fn();
  await renderUi(table({ onFilter, filter: "" }));
  const field = screen.getByRole("searchbox");
  expect(field.hasAttribute("data-filter")).toBe(true);
  fireEvent.change(field, { target: { value: "LEAF" } });
  expect(screen.getByRole("status").textContent).toBe("3 of 4 devices");
  expect(onFilter).not.toHaveBeenCalled();
  act(() => void vi.advanceTimersByTime(200));
  expect(onFilter.mock.calls).toEqual([["LEAF"]]);
  fireEvent.change(field, { target: { value: "nowhere" } });
  expect(screen.queryByRole("table")).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Clear filter" }));
  expect(screen.getByRole("status").textContent).toBe("4 of 4 devices");
  expect(document.activeElement).toBe(field);
});

test("exports what is shown, in its order", async () => {
  await renderUi(table({ csvName: "devices", sort: { id: "rate", desc: true }, filter: "leaf" }));
  fireEvent.click(screen.getByRole("button", { name: "Download CSV" }));
  expect(vi.mocked(saveCsv).mock.calls).toEqual([
    [
      "devices",
      ["Device", "Delivered (Gbit/s)"],
      [
        ["leaf-1", 7],
        ["leaf-10", 3],
        ["leaf-2", "not measured"],
      ],
    ],
  ]);
});

test("minor columns are left out where the table is too narrow, the last first, and all are shown on request", async () => {
  const heads = (e: Element) => e.querySelectorAll("thead th").length;
  vi.spyOn(HTMLElement.prototype, "scrollWidth", "get").mockImplementation(function (this: HTMLElement) {
    return heads(this) * 100;
  });
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(250);
  const wide: Column<Row>[] = [
    { id: "name", header: "Device", value: (r) => r.id },
    ...["Cap", "Limit", "Zone"].map((header) => ({ id: header, header, value: () => 1, minor: header !== "Zone" })),
    { id: "state", header: "State", value: () => "in sync" },
  ];
  await renderUi(table({ columns: wide, csvName: "devices" }));
  const shown = () => screen.getAllByRole("columnheader").map((h) => h.textContent);
  expect(shown()).toEqual(["Device", "Zone", "State"]); // still too wide, but neither is minor
  expect(screen.getByText("Left out for lack of room: Cap and Limit")).toBeTruthy();
  vi.mocked(saveCsv).mockClear();
  fireEvent.click(screen.getByRole("button", { name: "Download CSV" }));
  expect(vi.mocked(saveCsv).mock.calls[0]?.[1]).toEqual(["Device", "Cap", "Limit", "Zone", "State"]);
  fireEvent.click(screen.getByRole("button", { name: "Show all columns" }));
  expect(shown()).toEqual(["Device", "Cap", "Limit", "Zone", "State"]);
  fireEvent.click(screen.getByRole("button", { name: "Fit the width" }));
  expect(shown()).toEqual(["Device", "Zone", "State"]);
  vi.restoreAllMocks();
});

test("the file of a simulated fabric says so in each row", async () => {
  vi.mocked(saveCsv).mockClear();
  await renderUi(<SimulatedContext value>{table({ csvName: "devices", filter: "leaf-10" })}</SimulatedContext>);
  fireEvent.click(screen.getByRole("button", { name: "Download CSV" }));
  expect(vi.mocked(saveCsv).mock.calls[0]?.slice(1)).toEqual([
    ["Device", "Delivered (Gbit/s)", "Source"],
    [["leaf-10", 3, "Simulated"]],
  ]);
});

function Selecting() {
  const [selected, onSelect] = useState<ReadonlySet<string>>(new Set());
  return table({ selected, onSelect, actions: <output data-testid="selected">{[...selected].join(" ")}</output> });
}

test("selects single rows and all rows that the filter lets through", async () => {
  await renderUi(<Selecting />);
  const selected = () => screen.getByTestId("selected").textContent;
  fireEvent.click(screen.getByRole("checkbox", { name: "Select leaf-2" }));
  expect(selected()).toBe("leaf-2");
  const all = screen.getByRole<HTMLInputElement>("checkbox", { name: "Select all rows shown" });
  expect(all.indeterminate).toBe(true);
  fireEvent.click(all);
  expect(selected()?.split(" ")).toHaveLength(4);
  fireEvent.click(all);
  expect(selected()).toBe("");
});

test("opens the detail of a row below it, and links a row that has a page", async () => {
  await renderUi(table({ expanded: (r) => `detail of ${r.id}`, href: (r) => `/devices/${r.id}` }));
  const button = screen.getByRole("button", { name: "Details of leaf-2" });
  expect(button.getAttribute("aria-expanded")).toBe("false");
  fireEvent.click(button);
  expect(button.getAttribute("aria-expanded")).toBe("true");
  expect(document.getElementById(button.getAttribute("aria-controls") ?? "")?.textContent).toBe("detail of leaf-2");
  expect(screen.getByRole("table").getAttribute("aria-rowcount")).toBe("6");
  expect(screen.getByRole("link", { name: "leaf-2" }).getAttribute("href")).toBe("/devices/leaf-2");
});

test("shows what stands for an empty table", async () => {
  await renderUi(table({ rows: [], empty: <p>No device yet</p> }));
  expect(screen.getByText("No device yet")).toBeTruthy();
});

test("keeps only the rows in sight in the document when there are many", async () => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(33);
  const many = Array.from({ length: 10_000 }, (_, i) => ({ id: `row-${i}`, rate: i }));
  await renderUi(table({ rows: many }));
  const found = screen.getByRole("table");
  expect(found.getAttribute("aria-rowcount")).toBe("10001");
  const shown = within(found).getAllByRole("rowheader");
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.length).toBeLessThan(100);
});

test("words the number of rows in Chinese", async () => {
  await renderUi(table({ count: undefined }), "zh");
  expect(screen.getByRole("status").textContent).toBe("4 / 4 行");
});
