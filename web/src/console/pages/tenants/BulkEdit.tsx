import { Modal } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCan } from "../../../shell/me";
import { ActionButton } from "../../parts/ActionButton";
import { BulkForm } from "./BulkForm";
import { BulkResult } from "./BulkResult";
import type { Tenant } from "./queries";
import { useBulkSave } from "./useBulkSave";

/** The button that changes the weights of the selected tenants, and its dialog. */
export function BulkEdit({ fabric, tenants, onDone }: { fabric: string; tenants: Tenant[]; onDone: () => void }) {
  const { t } = useTranslation("tenants");
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
      {of ? <BulkDialog fabric={fabric} tenants={of} onClose={() => setOf(undefined)} onDone={onDone} /> : null}
    </>
  );
}

type DialogProps = { fabric: string; tenants: Tenant[]; onClose: () => void; onDone: () => void };

/** Stays open while changes are saved, so that what is refused is seen. */
function BulkDialog({ fabric, tenants, onClose, onDone }: DialogProps) {
  const { t } = useTranslation(["tenants", "shell"]);
  const save = useBulkSave(fabric, onDone);
  const running = save.started && !save.ended;
  return (
    <Modal
      opened
      onClose={onClose}
      size="60rem"
      title={t("bulk-title", { n: tenants.length })}
      closeOnClickOutside={false}
      closeOnEscape={!running}
      withCloseButton={!running}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      {save.started ? (
        <BulkResult fabric={fabric} save={save} onClose={onClose} />
      ) : (
        <BulkForm fabric={fabric} tenants={tenants} onSave={save.run} onClose={onClose} />
      )}
    </Modal>
  );
}
