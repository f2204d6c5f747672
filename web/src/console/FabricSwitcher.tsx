import { Button, Menu, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../ui/icons";

/** Chooses the fabric; the page stays the same where each fabric has it. */
export function FabricSwitcher({
  fabrics,
  fabric,
  path,
  go,
}: {
  fabrics: string[];
  fabric: string;
  path: string;
  go: (to: string) => void;
}) {
  const { t } = useTranslation("shell");
  const [filter, setFilter] = useState("");
  const page = /^\/console\/f\/[^/]+\/([^/]+)/.exec(path)?.[1] ?? "overview";
  const part = filter.trim().toLowerCase();
  const shown = fabrics.filter((f) => f.toLowerCase().includes(part)).slice(0, 200);
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <Button
          variant="default"
          rightSection={<Icon name="down" />}
          style={{ minWidth: 0 }}
          aria-label={fabric ? t("fabric-is", { fabric }) : t("fabric-choose")}
        >
          <span className="fl-name">{fabric || t("fabric-choose")}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: "auto" }}>
        {fabrics.length > 8 ? (
          <TextInput
            aria-label={t("fabric-filter")}
            placeholder={t("fabric-filter")}
            value={filter}
            onChange={(e) => setFilter(e.currentTarget.value)}
            mb="xs"
          />
        ) : null}
        {shown.map((f) => (
          <Menu.Item
            key={f}
            className="fl-name"
            onClick={() => go(`/console/f/${encodeURIComponent(f)}/${page}`)}
            rightSection={f === fabric ? <Icon name="check" /> : null}
            aria-current={f === fabric}
          >
            {f}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
