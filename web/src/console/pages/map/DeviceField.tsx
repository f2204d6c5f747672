import { Autocomplete, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useDraft } from "../../../ui/useDraft";
import { useDevices } from "./queries";

type Kind = Schemas["SearchResult"]["kind"];

/** A field for a device, with completion by the service's search. A name that several devices have is offered as their GUIDs. */
export function DeviceField(p: {
  fabric: string;
  label: string;
  placeholder?: string;
  value: string;
  kinds: Kind[];
  onChange?: (text: string) => void;
  /** A suggestion was chosen, or Enter was pressed. */
  onSubmit: (text: string) => void;
  error?: string;
  width?: string;
}) {
  const { t } = useTranslation("shell");
  const [text, setText] = useDraft(p.value);
  const [wanted] = useDebouncedValue(text.trim(), 150);
  const found = useDevices(p.fabric, wanted, p.kinds);
  const { options, details } = useMemo(() => {
    const times = new Map<string, number>();
    for (const r of found) times.set(r.name, (times.get(r.name) ?? 0) + 1);
    const details = new Map(
      found.map((r) => [times.get(r.name) === 1 && r.name !== "" ? r.name : r.id, { kind: r.kind, name: r.name }]),
    );
    return { options: [...details.keys()].slice(0, 20), details };
  }, [found]);
  return (
    <Autocomplete
      label={p.label}
      placeholder={p.placeholder}
      value={text}
      maxLength={100}
      data={options}
      filter={({ options }) => options}
      error={p.error}
      onChange={(next) => {
        setText(next);
        p.onChange?.(next);
      }}
      onOptionSubmit={p.onSubmit}
      onKeyDown={(e) => {
        if (e.key === "Enter" && !e.currentTarget.getAttribute("aria-activedescendant")) p.onSubmit(text.trim());
      }}
      renderOption={({ option }) => (
        <div>
          <span className="fl-name">{option.value}</span>
          <Text span size="xs" c="dimmed" ml="xs">
            {t(`kind-${details.get(option.value)?.kind ?? "host"}`)}
            {details.get(option.value)?.name === option.value ? "" : ` · ${details.get(option.value)?.name ?? ""}`}
          </Text>
        </div>
      )}
      comboboxProps={{ width: "max-content", position: "bottom-start" }}
      style={{ width: p.width ?? "14rem" }}
    />
  );
}
