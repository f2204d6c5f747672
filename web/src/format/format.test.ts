import { describe, expect, it } from "vitest";
import { csv } from "./csv";
import { ago } from "./time";
import {
  duration,
  exactRate,
  fixed,
  percent,
  rate,
  rateScale,
  share,
  signedPercent,
  signedShare,
  weightScale,
} from "./units";

describe("rates", () => {
  it.each([
    [12_500_000_000, "12.5 Gbit/s"],
    [999_600_000, "1 Gbit/s"],
    [57_142_857_143, "57.1 Gbit/s"],
    [0, "0 Gbit/s"],
    [1_500, "1.5 kbit/s"],
    [1_000_000_000_000, "1 Tbit/s"],
  ])("%d bit/s read %s", (bps, text) => expect(rate(bps, "en")).toBe(text));

  it.each([undefined, null, Number.NaN, Number.POSITIVE_INFINITY])("%s is no number", (value) =>
    expect(rate(value, "en")).toBeUndefined(),
  );

  it("of a column have one unit", () => {
    const scale = rateScale([100e9, 5e9, undefined], "en");
    expect([scale.unit, scale.format(100e9), scale.format(5e9), scale.format(undefined)]).toEqual([
      "Gbit/s",
      "100",
      "5",
      undefined,
    ]);
    expect(rateScale([8.25e9, 1e8], "en").format(1e8)).toBe("0.10");
  });
});

describe("shares", () => {
  it("have one decimal", () =>
    expect([share(0.1234, "en"), share(1, "zh"), share(undefined, "en")]).toEqual(["12.3 %", "100.0 %", undefined]));
  it("show the sign of a difference", () =>
    expect([signedShare(0.01, "en"), signedShare(-0.005, "en"), signedShare(0, "en")]).toEqual([
      "+1.0 %",
      "−0.5 %",
      "0.0 %",
    ]));
});

describe("columns", () => {
  it("give all weights the decimals of the finest, so that points align", () => {
    const column = (...weights: number[]) => weights.map(weightScale(weights, "en"));
    expect(column(1, 2.5, 10)).toEqual(["1.0", "2.5", "10.0"]);
    expect(column(1, 2)).toEqual(["1", "2"]);
    expect(column(0.125, 4)).toEqual(["0.125", "4.000"]);
    expect([fixed(1.5, 2, "en"), fixed(2, 2, "en"), fixed(undefined, 2, "en")]).toEqual(["1.50", "2.00", undefined]);
  });
  it("leave the sign of percent to the header", () =>
    expect([percent(0.1, "en"), signedPercent(0.01, "en"), signedPercent(-0.005, "zh")]).toEqual([
      "10.0",
      "+1.0",
      "−0.5",
    ]));
  it("show declared rates without loss", () =>
    expect([exactRate(40_404_000_001, "en"), exactRate(1e9, "zh")]).toEqual(["40.404000001 Gbit/s", "1 Gbit/s"]));
});

describe("durations", () => {
  it.each([
    [0, "0 s", "0 秒"],
    [0.25, "250 ms", "250 毫秒"],
    [200, "3 min 20 s", "3 分 20 秒"],
    [86_405, "1 d", "1 天"],
    [187_200, "2 d 4 h", "2 天 4 小时"],
  ])("of %d s", (seconds, en, zh) => expect([duration(seconds, "en"), duration(seconds, "zh")]).toEqual([en, zh]));
});

it("times are relative in both languages", () => {
  const now = Date.parse("2026-11-21T10:00:00Z");
  expect([ago("2026-11-21T09:57:00Z", now, "en"), ago("2026-11-21T09:57:00Z", now, "zh")]).toEqual([
    "3 min ago",
    "3分钟前",
  ]);
  expect(ago(now, now, "en")).toBe("0 sec ago");
});

describe("CSV", () => {
  it("quotes by RFC 4180", () =>
    expect(
      csv(
        ["a", 'b"c'],
        [
          ["x,y", 1],
          [undefined, "z\n"],
        ],
      ),
    ).toBe('a,"b""c"\r\n"x,y",1\r\n,"z\n"\r\n'));
  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1"])("makes no formula of %j", (text) =>
    expect(csv(["a"], [[text]])).toContain(`'${text.trimEnd()}`),
  );
  it("keeps numbers", () => expect(csv(["a"], [[-1.5]])).toBe("a\r\n-1.5\r\n"));
});
