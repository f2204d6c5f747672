import { Modal } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCan } from "../../../shell/me";
import { ActionButton } from "../../parts/ActionButton";
import { BulkForm } from "./BulkForm";
import type { Tenant } from "./queries";

/** The button that changes the weights of the selected tenants, and its dialog. */
export function BulkEdit({ fabric, tenants, onDone }: { fabric: string; tenants: Tenant[]; onDone: () => void }) {
  const { t } = useTranslation(["tenants", "shell"]);
  const can = useCan();
  // The selection of the moment: rows that are read anew must not change what was previewed.
  const [of, setOf] = useState<Tenant[]>();
  return (
    <>
      <ActionButton
        size="xs"
        variant="default"
        allowed={can("tenant", "write", fabric)}
        reason={tenants.length === 0 ? t("bulk-none") : undefined}
        onClick={() => setOf(tenants)}
      >
        {t("bulk", { n: tenants.length })}
      </ActionButton>
      <Modal
        opened={of !== undefined}
        onClose={() => setOf(undefined)}
        size="60rem"
        title={t("bulk-title", { n: of?.length ?? 0 })}
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": t("shell:close") }}
      >
        {of ? <BulkForm fabric={fabric} tenants={of} onClose={() => setOf(undefined)} onDone={onDone} /> : null}
      </Modal>
    </>
  );
}
