import { TagsInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { expandPorts } from "./ports";

type Props = {
  fabric: string;
  label: string;
  description?: string;
  value: string[];
  onChange: (value: string[]) => void;
  error?: string;
  disabled?: boolean;
};

/** Ports by typing: names of hosts with completion, `host/P1`, GUIDs, and sets such as `host-[001-004]`. */
export function PortsField({ fabric, value, error, description, ...rest }: Props) {
  const { t } = useTranslation(["tenants", "parts"]);
  const [typed, setTyped] = useState("");
  const [settled] = useDebouncedValue(typed.trim(), 150);
  const found = useHosts(fabric, settled);
  const names = expandPorts(value);
  const wrong = names === undefined ? t("ports-set-wrong") : undefined;
  return (
    <TagsInput
      {...rest}
      value={value}
      searchValue={typed}
      onSearchChange={setTyped}
      data={found.data ?? []}
      filter={({ options }) => options}
      splitChars={[" ", ";", "\n"]}
      acceptValueOnBlur
      description={
        names && names.length > 0
          ? t("ports-are", { n: names.length, first: names.slice(0, 3).join(t("parts:list-separator")) })
          : description
      }
      error={error ?? wrong}
      maxDropdownHeight={220}
      clearable
      clearButtonProps={{ "aria-label": t("ports-clear") }}
    />
  );
}

/** Names of hosts that match, at most 20; the service searches the topology. */
function useHosts(fabric: string, text: string) {
  return useQuery({
    queryKey: keys.search("hosts", fabric, text),
    queryFn: async () => {
      const got = await data<Schemas["SearchAnswer"]>(
        client.GET("/api/v1/search", { params: { query: { q: text, fabric, limit: 20 } } }),
      );
      return [...new Set(got.results.filter((r) => r.kind === "host" || r.kind === "port").map((r) => r.name))];
    },
    enabled: text.length > 0 && !/[[\]]/.test(text),
    placeholderData: (before) => before,
    staleTime: 60_000,
  });
}
