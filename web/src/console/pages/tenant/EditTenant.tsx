import { Group, Stack, Title } from "@mantine/core";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useMergedForm } from "../../parts/useMergedForm";
import type { Tenant } from "../tenants/queries";
import { changedFields, editsOf } from "./declared";
import { draftOf, parsed } from "./draft";
import { EditButtons } from "./EditButtons";
import { EditFields } from "./EditFields";
import { EditMerge } from "./EditMerge";
import { EditPreview } from "./EditPreview";
import { useChangePreview, useSave } from "./useEdit";

type Props = { fabric: string; tenant: Tenant; etag: string; onClose: () => void };

/** Edits a tenant. The form keeps the version with which it began; a newer one is merged into it by field. */
export function EditTenant({ fabric, tenant, etag, onClose }: Props) {
  const { t } = useTranslation("tenant");
  const merged = useMergedForm({ body: tenant, etag }, draftOf);
  const { form: draft, base, send, open } = merged;
  const { declared, wrong } = parsed(draft, base.body);
  const changes = declared ? changedFields(base.body, declared) : [];
  const preview = useChangePreview(fabric, tenant.name, send);
  const save = useSave(fabric, tenant.name, send);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const of = JSON.stringify([declared, base.etag]);
  const shown = preview.data?.of === of ? preview.data : undefined;
  const off = changes.length === 0 || open > 0;
  return (
    <section className="fl-panel" aria-label={t("edit-title", { tenant: tenant.name })}>
      <form
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          if (!declared || off) return;
          if (shown) save.mutate({ of, declared });
          else preview.mutate({ of, declared, edits: editsOf(tenant.name, base.body, declared) });
        }}
      >
        <Stack gap="md">
          <Title order={2} ref={heading} tabIndex={-1}>
            {t("edit-title", { tenant: tenant.name })}
          </Title>
          <EditMerge merged={merged} />
          <EditFields
            fabric={fabric}
            draft={draft}
            onChange={merged.setForm}
            wrong={wrong}
            problem={save.error ?? preview.error}
          />
          {preview.error ? <ProblemNote problem={preview.error} /> : null}
          {shown ? <EditPreview changes={changes} whatIf={shown.whatIf} /> : null}
          {save.error ? <ProblemNote problem={save.error} /> : null}
          <Group justify="flex-end">
            <EditButtons
              step={shown ? "save" : "preview"}
              busy={preview.isPending || save.isPending}
              off={off}
              onClose={onClose}
            />
          </Group>
        </Stack>
      </form>
    </section>
  );
}
