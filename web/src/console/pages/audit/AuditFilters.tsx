import { Autocomplete, Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFabrics } from "../../../shell/fabrics";
import { useDraft } from "../../../ui/useDraft";
import { type AuditFilter, noFilter, parametersOf } from "./queries";
import { actionGroups } from "./words";

type Props = { filter: AuditFilter; onFilter: (filter: AuditFilter) => void };

/** The filters of the log, which apply when the form is submitted. */
export function AuditFilters({ filter, onFilter }: Props) {
  const { t } = useTranslation(["audit", "common"]);
  const [form, setForm] = useDraft(filter);
  const fabrics = useFabrics();
  const set = (patch: Partial<AuditFilter>) => setForm({ ...form, ...patch });
  const text = (name: "actor" | "object", label: string) => (
    <TextInput
      label={label}
      value={form[name]}
      maxLength={200}
      autoComplete="off"
      spellCheck={false}
      data-filter={name === "actor" ? true : undefined}
      onChange={(e) => set({ [name]: e.currentTarget.value })}
    />
  );
  const time = (name: "since" | "until", label: string) => (
    <TextInput
      type="datetime-local"
      step={1}
      label={label}
      value={localTime(form[name])}
      onChange={(e) => set({ [name]: isoTime(e.currentTarget.value) })}
    />
  );
  const names = fabrics.data?.map((f) => f.name) ?? [];
  const options = form.fabric && !names.includes(form.fabric) ? [form.fabric, ...names] : names;
  return (
    <form
      aria-label={t("filters")}
      onSubmit={(e) => {
        e.preventDefault();
        onFilter({ ...form, actor: form.actor.trim(), action: form.action.trim(), object: form.object.trim() });
      }}
    >
      <Group align="flex-end" gap="sm">
        {text("actor", t("common:actor"))}
        <Autocomplete
          label={t("action")}
          data={actionGroups}
          value={form.action}
          maxLength={100}
          onChange={(action) => set({ action })}
        />
        {text("object", t("object"))}
        <NativeSelect
          label={t("common:fabric")}
          value={form.fabric}
          onChange={(e) => set({ fabric: e.currentTarget.value })}
          data={[{ value: "", label: t("any") }, ...options]}
        />
        <NativeSelect
          label={t("outcome")}
          value={form.outcome}
          onChange={(e) => set({ outcome: e.currentTarget.value })}
          data={["", "done", "refused"].map((value) => ({ value, label: t(value ? `outcome.${value}` : "any") }))}
        />
        {time("since", t("since"))}
        {time("until", t("until"))}
        <NativeSelect
          label={t("order")}
          value={form.order}
          onChange={(e) => set({ order: e.currentTarget.value })}
          data={["newest", "oldest"].map((value) => ({ value, label: t(`order.${value}`) }))}
        />
        <Button type="submit">{t("show")}</Button>
        {Object.keys(parametersOf(filter)).length > 0 ? (
          <Button variant="default" onClick={() => onFilter(noFilter)}>
            {t("clear")}
          </Button>
        ) : null}
      </Group>
    </form>
  );
}

/** A time of the address as the field shows it: in the browser's zone, to the second. */
function localTime(iso: string): string {
  const at = new Date(iso);
  if (iso === "" || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function isoTime(local: string): string {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
