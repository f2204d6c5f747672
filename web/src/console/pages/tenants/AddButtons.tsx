import { Button, Group } from "@mantine/core";
import type { Ref } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import type { TenantForm } from "./tenantForm";

type Props = {
  ref: Ref<HTMLButtonElement>;
  admission: Schemas["Admission"] | undefined;
  form: TenantForm;
  busy: boolean;
  made: boolean;
  onClose: () => void;
};

/** One button that leads on: to the preview, then to the tenant and its plan. It names its effect. */
export function AddButtons({ ref, admission, form, busy, made, onClose }: Props) {
  const { t } = useTranslation(["tenants", "shell"]);
  const effect = made ? "continue" : admission ? (admission.verdict === "no" ? "create-anyway" : "create") : "preview";
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        {t("shell:cancel")}
      </Button>
      <Button ref={ref} type="submit" loading={busy} color={effect === "create-anyway" ? "red.9" : undefined}>
        {t(effect, { tenant: form.name.trim() })}
      </Button>
    </Group>
  );
}
