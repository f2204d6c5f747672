import { Highlight, Modal, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../api/client";
import { keys } from "../api/keys";
import { Icon } from "../ui/icons";
import { ProblemNote } from "../ui/ProblemNote";
import type { NavItem } from "./Frame";

type Entry = { key: string; kind: string; name: string; detail?: string; to: string };

/** Where an object that the search found is shown; undefined where no page shows it. */
function placeOf(r: Schemas["SearchResult"]): string | undefined {
  const fabric = r.fabric ? `/console/f/${encodeURIComponent(r.fabric)}` : "";
  const id = encodeURIComponent(r.id);
  switch (r.kind) {
    case "fabric":
      return `/console/f/${id}/overview`;
    case "tenant":
      return `${fabric}/tenants/${id}`;
    case "plan":
      return `${fabric}/plans/${id}`;
    case "rollout":
      return `${fabric}/rollouts/${id}`;
    case "switch":
    case "host":
      return `${fabric}/map?find=${id}`;
    case "port":
      return `${fabric}/devices/${id}`;
    case "user":
      return `/console/people?user=${id}`;
    default:
      return undefined;
  }
}

/** What distinguishes objects of one name: the GUID of a device, and the fabric when it is not that of the page. */
function detailOf(r: Schemas["SearchResult"], fabric: string | undefined): { detail?: string } {
  const guid = r.kind === "switch" || r.kind === "host" || r.kind === "port" ? r.detail : undefined;
  const detail = [guid, r.fabric !== fabric ? r.fabric : undefined].filter(Boolean).join(" · ");
  return detail ? { detail } : {};
}

/** Pages and objects by name: arrows choose, Enter opens. */
export default function Palette({
  items,
  fabric,
  searches,
  go,
  onClose,
}: {
  items: NavItem[];
  fabric: string | undefined;
  searches: boolean;
  go: (to: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation("shell");
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const { entries, more, busy, problem } = useEntries(text, items, fabric, searches);
  const list = useRef<HTMLDivElement>(null);
  const at = Math.min(chosen, Math.max(0, entries.length - 1));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen entry scrolls into view when it changes
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at, entries]);
  const open = (e: Entry | undefined) => {
    if (!e) return;
    onClose();
    go(e.to);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      size="lg"
      padding="sm"
      yOffset="10vh"
      returnFocus={false}
      attributes={{ content: { "aria-label": t("palette") } }}
      transitionProps={{ duration: 0 }}
    >
      <TextInput
        data-autofocus
        leftSection={<Icon name="search" />}
        placeholder={t("palette-placeholder")}
        aria-label={t("palette")}
        role="combobox"
        aria-expanded={entries.length > 0}
        aria-autocomplete="list"
        aria-controls="palette-list"
        aria-activedescendant={entries[at] ? `palette-${at}` : undefined}
        value={text}
        maxLength={100}
        onChange={(e) => {
          setText(e.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown" || e.key === "ArrowUp") {
            e.preventDefault();
            setChosen((at + (e.key === "ArrowDown" ? 1 : entries.length - 1)) % Math.max(1, entries.length));
          } else if (e.key === "Enter") open(entries[at]);
        }}
      />
      <div
        ref={list}
        id="palette-list"
        role="listbox"
        aria-label={t("palette")}
        style={{ maxHeight: "50vh", overflowY: "auto", marginTop: 8 }}
      >
        {entries.map((e, i) => (
          <UnstyledButton
            key={e.key}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            tabIndex={-1}
            onClick={() => open(e)}
            w="100%"
            p="xs"
            style={{ background: i === at ? "var(--fl-info-ground)" : undefined, borderRadius: 4 }}
          >
            <Text span size="xs" c="dimmed" mr="xs">
              {e.kind}
            </Text>{" "}
            <Highlight component="span" highlight={text.trim()} className="fl-name">
              {e.name}
            </Highlight>{" "}
            {e.detail ? (
              <Text span size="sm" c="dimmed" ml="xs">
                {e.detail}
              </Text>
            ) : null}
          </UnstyledButton>
        ))}
      </div>
      {problem ? (
        <ProblemNote problem={problem} />
      ) : (
        <Text size="sm" c="dimmed" role="status" mt="xs">
          {entries.length === 0 && !busy
            ? t("palette-none")
            : more
              ? t("palette-more")
              : t("palette-count", { n: entries.length })}
        </Text>
      )}
    </Modal>
  );
}

function useEntries(text: string, items: NavItem[], fabric: string | undefined, searches: boolean) {
  const { t } = useTranslation(["shell", "common"]);
  const [wanted] = useDebouncedValue(text.trim(), 120);
  const found = useQuery({
    queryKey: keys.search(fabric ?? "", wanted),
    queryFn: ({ signal }) =>
      data(
        client.GET("/api/v1/search", {
          params: { query: { q: wanted, limit: 20, ...(fabric ? { fabric } : {}) } },
          signal,
        }),
      ),
    enabled: searches && wanted !== "",
    placeholderData: (old) => old,
  });
  const entries = useMemo(() => {
    const part = text.trim().toLowerCase();
    const pages: Entry[] = items
      .filter((i) => i.label.toLowerCase().includes(part))
      .map((i) => ({
        key: `page ${i.id}`,
        kind: t("palette-page"),
        name: i.label,
        to: i.to,
        ...(i.section ? { detail: i.section } : {}),
      }));
    const objects: Entry[] = (part ? (found.data?.results ?? []) : []).flatMap((r) => {
      const to = placeOf(r);
      return to
        ? [
            {
              key: `${r.kind} ${r.fabric ?? ""} ${r.id}`,
              kind: t(`kind-${r.kind}`),
              name: r.name || r.id,
              to,
              ...detailOf(r, fabric),
            },
          ]
        : [];
    });
    return [...objects, ...pages].slice(0, 40);
  }, [text, items, found.data, fabric, t]);
  const busy = found.isFetching || (searches && wanted !== text.trim());
  return { entries, more: found.data?.more === true, busy, problem: found.error };
}
