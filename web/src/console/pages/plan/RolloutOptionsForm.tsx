import { Fieldset, NumberInput, Select, SimpleGrid, Switch } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFieldTexts } from "../../../ui/useWrite";
import type { RolloutForm } from "./rolloutOptions";

type Props = { form: RolloutForm; onChange: (form: RolloutForm) => void; problem?: unknown };

/** Bounds of a rollout. Fields that the service refuses are marked with what is allowed. */
export function RolloutOptionsForm({ form, onChange, problem }: Props) {
  const { t } = useTranslation("plans");
  const errors = useFieldTexts(problem);
  const set = (patch: Partial<RolloutForm>) => onChange({ ...form, ...patch });
  const number = (name: "canary" | "wave" | "failureBudget", field: string, max: number) => (
    <NumberInput
      label={t(`option-${field}`)}
      description={t(`option-${field}-why`)}
      value={form[name]}
      onChange={(v) => set({ [name]: v })}
      min={0}
      max={max}
      allowDecimal={false}
      error={errors.get(`/options/${field}`)}
    />
  );
  return (
    <Fieldset legend={t("options-of-rollout")}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {number("canary", "canary", 49_151)}
        <Select
          label={t("option-domain")}
          description={t("option-domain-why")}
          data={(["leaf", "pod", "none"] as const).map((value) => ({ value, label: t(`domain-${value}`) }))}
          value={form.domain}
          onChange={(domain) => set({ domain: (domain ?? "leaf") as RolloutForm["domain"] })}
          allowDeselect={false}
          error={errors.get("/options/domain")}
        />
        {number("wave", "wave", 49_151)}
        {number("failureBudget", "failure_budget", 49_151)}
        <NumberInput
          label={t("option-confirm")}
          description={t("option-confirm-why")}
          value={form.confirmMinutes}
          onChange={(confirmMinutes) => set({ confirmMinutes })}
          min={0}
          max={1440}
          error={errors.get("/options/confirm_window_s")}
        />
        <div>
          <Switch
            label={t("option-verify")}
            description={t("option-verify-why")}
            checked={form.verifyShares}
            onChange={(e) => set({ verifyShares: e.currentTarget.checked })}
          />
          {form.verifyShares ? (
            <NumberInput
              mt="xs"
              label={t("option-max-error")}
              value={form.maxShareError}
              onChange={(maxShareError) => set({ maxShareError })}
              min={0}
              max={100}
              error={errors.get("/options/max_share_error")}
            />
          ) : null}
        </div>
      </SimpleGrid>
    </Fieldset>
  );
}
