import { Group, Stack, Title } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { asProblem, ProblemNote } from "../../../ui/ProblemNote";
import type { Tenant } from "../tenants/queries";
import { Conflicts } from "./Conflicts";
import { type Draft, draftOf, parsed } from "./draft";
import { EditButtons } from "./EditButtons";
import { EditFields } from "./EditFields";
import { EditPreview } from "./EditPreview";
import { changedFields, type Declared, declaredOf, editsOf, type FieldName, merged, type Side } from "./merge";
import { useChangePreview, useSave, useTheirs } from "./useEdit";

type Props = { fabric: string; tenant: Tenant; etag: string; onClose: () => void };

/**
 * Edits a tenant. The form keeps the version with which it began: when another person changed the tenant meanwhile, both versions are shown and
 * merged by field, and nothing is lost.
 */
export function EditTenant({ fabric, tenant, etag, onClose }: Props) {
  const { t } = useTranslation("tenant");
  const [base, setBase] = useState({ declared: declaredOf(tenant), etag });
  const [draft, setDraft] = useState<Draft>(() => draftOf(base.declared));
  const { declared, wrong } = parsed(draft, base.declared);
  const changes = declared ? changedFields(base.declared, declared) : [];
  const preview = useChangePreview(fabric, tenant.name);
  const save = useSave(fabric, tenant.name);
  const conflict = asProblem(save.error).status === 412;
  const theirs = useTheirs(fabric, tenant.name, conflict);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const asked = declared ? JSON.stringify(declared) + base.etag : "";
  const shown = preview.data?.asked === asked ? preview.data : undefined;
  const resolve = (mine: Declared, choices: Partial<Record<FieldName, Side>>) => {
    if (!theirs.data) return;
    const other = declaredOf(theirs.data.body);
    setBase({ declared: other, etag: theirs.data.etag });
    setDraft(draftOf(merged(mine, other, choices)));
    save.reset();
  };
  return (
    <section className="fl-panel" aria-label={t("edit-title", { tenant: tenant.name })}>
      <form
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          if (!declared || changes.length === 0 || conflict) return;
          if (shown) save.mutate({ declared, etag: base.etag });
          else
            preview.mutate({ asked, declared, etag: base.etag, edits: editsOf(tenant.name, base.declared, declared) });
        }}
      >
        <Stack gap="md">
          <Title order={2} ref={heading} tabIndex={-1}>
            {t("edit-title", { tenant: tenant.name })}
          </Title>
          <EditFields
            fabric={fabric}
            draft={draft}
            onChange={setDraft}
            wrong={wrong}
            problem={save.error ?? preview.error}
          />
          {preview.error ? <ProblemNote problem={preview.error} /> : null}
          {shown && declared && !conflict ? (
            <EditPreview fabric={fabric} changes={changes} whatIf={shown.whatIf} />
          ) : null}
          {conflict && theirs.data && declared ? (
            <Conflicts
              original={base.declared}
              mine={declared}
              theirs={theirs.data.body}
              onResolve={(choices) => resolve(declared, choices)}
            />
          ) : save.error ? (
            <ProblemNote problem={save.error} />
          ) : null}
          <Group justify="flex-end">
            <EditButtons
              step={shown ? "save" : "preview"}
              busy={preview.isPending || save.isPending}
              off={!declared || changes.length === 0 || conflict}
              onClose={onClose}
            />
          </Group>
        </Stack>
      </form>
    </section>
  );
}
