import { Button, Checkbox, Group as Row, Text, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { useFilter } from "../../../ui/table/useFilter";
import { DeviceField } from "./DeviceField";
import type { FabricMap, Group, SetUrl, UrlState } from "./model";
import { useGroupName } from "./names";
import { drawnIn } from "./useDrawing";

/** Fields that search for a device and filter the groups and edges. */
export function Filters({ fabric, url, set }: { fabric: string; url: UrlState; set: SetUrl }) {
  const { t } = useTranslation("map");
  const filter = useFilter(url.filter, (text) => set({ filter: text }));
  return (
    <Row gap="sm" align="flex-end">
      <DeviceField
        fabric={fabric}
        label={t("find")}
        placeholder={t("find-placeholder")}
        value={url.find}
        kinds={["switch", "host", "port"]}
        onSubmit={(find) => set({ find, link: "" }, true)}
        width="18rem"
      />
      {url.find ? (
        <Button variant="default" onClick={() => set({ find: "", link: "" })}>
          {t("find-clear")}
        </Button>
      ) : null}
      <TextInput
        label={t("filter")}
        placeholder={t("filter-placeholder")}
        value={filter.text}
        maxLength={100}
        data-filter=""
        onChange={(e) => filter.change(e.currentTarget.value)}
        w="14rem"
      />
      <Checkbox
        label={t("only-contended")}
        checked={url.only === "contended"}
        onChange={(e) => set({ only: e.currentTarget.checked ? "contended" : "" })}
        mb={8}
      />
      <Checkbox
        label={t("hide-hosts")}
        checked={url.hosts === "hide"}
        onChange={(e) => set({ hosts: e.currentTarget.checked ? "hide" : "" })}
        mb={8}
      />
    </Row>
  );
}

/** Says which group holds the device that the reader searches for, with buttons that show it. */
export function Found({ map, groups, url, set }: { map: FabricMap; groups: Group[]; url: UrlState; set: SetUrl }) {
  const { t } = useTranslation("map");
  const name = useGroupName();
  if (!url.find) return null;
  const { found } = map;
  if (!found)
    return (
      <Text role="status" data-map-found="none">
        {t("found-none", { text: url.find })}
      </Text>
    );
  const holder = drawnIn(found.groups, new Set(groups.map((g) => g.id)));
  const group = groups.find((g) => g.id === holder);
  const last = found.groups.at(-1);
  const deeper = found.groups[found.groups.indexOf(holder ?? "") + 1];
  return (
    <Row gap="sm" role="status" data-map-found={holder ?? "elsewhere"}>
      <Icon name="search" />
      <Text className="fl-name">
        {group
          ? t(group.id === last ? "found-here" : "found-in", { device: found.name, group: name(group) })
          : t("found-elsewhere", { device: found.name })}
      </Text>
      {group && url.group !== group.id ? (
        <Button size="compact-sm" variant="light" onClick={() => set({ group: group.id, edge: "" }, true)}>
          {t("found-open")}
        </Button>
      ) : null}
      {group && deeper && holder ? (
        <Button size="compact-sm" variant="light" onClick={() => set({ expand: holder, group: "", edge: "" }, true)}>
          {t("found-expand")}
        </Button>
      ) : null}
      {group ? null : (
        <Button
          size="compact-sm"
          variant="light"
          onClick={() => set({ expand: "", filter: "", only: "", hosts: "" }, true)}
        >
          {t("whole-fabric")}
        </Button>
      )}
    </Row>
  );
}
