import "./rangePicker.css";
import { Button } from "@mantine/core";
import { type FormEvent, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { zoneOf } from "./dates";
import { fromField, lasts, type RangeValue, resolveRange, toField } from "./range";

export { lengths, parseRange, type RangeValue, rangeSearch, resolveRange } from "./range";

type RangePickerProps = {
  value: RangeValue;
  onChange: (value: RangeValue) => void;
  /** The present in seconds since 1970; the clock's when left out. */
  now?: number;
};

/** The one time range of a page: the last hours or days, or two moments. */
export function RangePicker({ value, onChange, now = Date.now() / 1000 }: RangePickerProps) {
  const { t } = useTranslation("ui");
  const [custom, setCustom] = useState(false);
  const fixed = !("last" in value);
  const open = custom || fixed;
  const choose = (next: RangeValue) => {
    setCustom(false);
    onChange(next);
  };
  return (
    <fieldset className="fl-range fl-no-print" aria-label={t("range.name")}>
      {lasts.map((l) => {
        const on = !open && "last" in value && value.last === l;
        return (
          <Button
            key={l}
            size="xs"
            variant={on ? "filled" : "default"}
            aria-pressed={on}
            aria-label={t("range.last", { length: t(`range.${l}`) })}
            onClick={() => choose({ last: l })}
          >
            {t(`range.${l}`)}
          </Button>
        );
      })}
      <Button
        size="xs"
        variant={open ? "filled" : "default"}
        aria-pressed={fixed}
        aria-expanded={open}
        onClick={() => setCustom(true)}
      >
        {t("range.custom")}
      </Button>
      {open ? <Custom key={JSON.stringify(value)} value={value} now={now} onChange={choose} /> : null}
    </fieldset>
  );
}

function Custom({ value, now, onChange }: { value: RangeValue; now: number; onChange: (value: RangeValue) => void }) {
  const { t, i18n } = useTranslation("ui");
  const id = useId();
  const start = resolveRange(value, now);
  const [from, setFrom] = useState(toField(start.from));
  const [to, setTo] = useState(toField(start.to));
  const [wrong, setWrong] = useState(false);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const [a, b] = [fromField(from), fromField(to)];
    const bad = a === undefined || b === undefined || b <= a;
    setWrong(bad);
    if (!bad) onChange({ from: a, to: b });
  };
  return (
    <form className="fl-range-custom" onSubmit={submit} noValidate>
      <label>
        {t("range.from")}
        <input
          type="datetime-local"
          value={from}
          onChange={(e) => setFrom(e.currentTarget.value)}
          aria-describedby={`${id}-zone`}
        />
      </label>
      <label>
        {t("range.to")}
        <input
          type="datetime-local"
          value={to}
          onChange={(e) => setTo(e.currentTarget.value)}
          aria-invalid={wrong || undefined}
          aria-describedby={wrong ? `${id}-wrong` : `${id}-zone`}
        />
      </label>
      <Button size="xs" type="submit" variant="default">
        {t("range.apply")}
      </Button>
      <span id={`${id}-zone`} className="fl-unit">
        {t("range.zone", { zone: zoneOf(i18n.language) })}
      </span>
      {wrong ? (
        <span id={`${id}-wrong`} role="alert" className="fl-range-wrong">
          {t("range.order")}
        </span>
      ) : null}
    </form>
  );
}
