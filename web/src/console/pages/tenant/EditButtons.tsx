import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";

type Props = { step: "preview" | "save"; busy: boolean; off: boolean; onClose: () => void };

/** Leads from the form to the preview, then to the plan. */
export function EditButtons({ step, busy, off, onClose }: Props) {
  const { t } = useTranslation(["tenant", "shell"]);
  return (
    <>
      <Button variant="default" onClick={onClose}>
        {t("shell:cancel")}
      </Button>
      <Button type="submit" loading={busy} disabled={off}>
        {t(step === "save" ? "save-compile" : "preview")}
      </Button>
    </>
  );
}
