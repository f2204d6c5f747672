import { Stack, Text, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { Empty } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useOperationKey } from "../../../ui/useOperationKey";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { GrantFields } from "./GrantRows";
import { type Account, type Grant, usePeopleChanged } from "./queries";
import { Tokens } from "./Tokens";
import { useGrantWord } from "./words";

/** The accounts of programs that belong to no tenant, each with its tokens. */
export function Accounts({ accounts, allowed }: { accounts: Account[]; allowed: boolean }) {
  const { t } = useTranslation("people");
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<string>();
  const columns = useAccountColumns(allowed, setDeleting);
  const add = (
    <ActionButton allowed={allowed} size="xs" onClick={() => setAdding(true)}>
      {t("account-add")}
    </ActionButton>
  );
  return (
    <>
      <DataTable
        caption={t("accounts")}
        rows={accounts}
        columns={columns}
        rowId={(a) => a.name}
        expanded={(a) => <Tokens owner={{ account: a.name }} allowed={allowed} />}
        filterLabel={t("accounts-filter")}
        csvName="fairlane-service-accounts"
        count={(shown, total) => t("accounts-count", { shown, total })}
        actions={add}
        empty={<Empty title={t("accounts-none")} why={t("accounts-none-why")} action={add} />}
      />
      {adding ? <AddAccount onClose={() => setAdding(false)} /> : null}
      {deleting ? <DeleteAccount account={deleting} onClose={() => setDeleting(undefined)} /> : null}
    </>
  );
}

function useAccountColumns(allowed: boolean, onDelete: (account: string) => void): Column<Account>[] {
  const { t } = useTranslation(["people", "common"]);
  const word = useGrantWord();
  return useMemo<Column<Account>[]>(
    () => [
      { id: "name", header: t("common:name"), value: (a) => a.name },
      {
        id: "display",
        header: t("display-name"),
        value: (a) => a.display_name || undefined,
        cell: (a) => <bdi>{a.display_name}</bdi>,
        missing: "",
      },
      { id: "role", header: t("role"), value: word },
      { id: "created", header: t("created"), value: (a) => a.created_at, cell: (a) => <When at={a.created_at} /> },
      {
        id: "delete",
        header: t("actions"),
        cell: (a) => (
          <ActionButton
            allowed={allowed}
            size="compact-sm"
            variant="default"
            aria-label={t("account-delete", { account: a.name })}
            onClick={() => onDelete(a.name)}
          >
            {t("common:delete")}
          </ActionButton>
        ),
      },
    ],
    [t, word, allowed, onDelete],
  );
}

function AddAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["people", "common"]);
  const [name, setName] = useState("");
  const [display, setDisplay] = useState("");
  const [grant, setGrant] = useState<Grant>({ role: "auditor" });
  const write = useWrite();
  const errors = useFieldTexts(write.problem);
  const changed = usePeopleChanged();
  const word = useGrantWord();
  const body = {
    name: name.trim(),
    role: grant.role,
    ...(grant.fabric ? { fabric: grant.fabric } : {}),
    ...(display.trim() ? { display_name: display.trim() } : {}),
  };
  const key = useOperationKey(body);
  const save = async () => {
    const params = { header: { "Idempotency-Key": key } };
    if (!(await write.run(() => data(client.POST("/api/v1/service-accounts", { params, body }))))) return;
    await changed();
    onClose();
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("account-add")}
      effect={t("account-add-do", { account: body.name })}
      busy={write.busy}
      problem={write.problem}
      disabled={body.name === ""}
      onConfirm={() => void save()}
    >
      <Stack gap="sm">
        <TextInput
          label={t("common:name")}
          description={t("account-name-is")}
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={errors.get("/name")}
          required
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label={t("display-name")}
          value={display}
          maxLength={200}
          onChange={(e) => setDisplay(e.currentTarget.value)}
          error={errors.get("/display_name")}
          autoComplete="off"
        />
        <GrantFields grant={grant} onChange={setGrant} error={errors.get("/role") ?? errors.get("/fabric")} wideOnly />
        <Text size="sm">{t("account-will", { role: word(grant) })}</Text>
      </Stack>
    </TypedConfirm>
  );
}

function DeleteAccount({ account, onClose }: { account: string; onClose: () => void }) {
  const { t } = useTranslation("people");
  const write = useWrite();
  const changed = usePeopleChanged();
  const remove = async () => {
    const params = { path: { account } };
    if (!(await write.run(() => data(client.DELETE("/api/v1/service-accounts/{account}", { params }))))) return;
    onClose();
    await changed(account);
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("account-delete", { account })}
      type={account}
      effect={t("account-delete-do", { account })}
      danger
      busy={write.busy}
      problem={write.problem}
      onConfirm={() => void remove()}
    >
      <Text>{t("account-delete-why")}</Text>
    </TypedConfirm>
  );
}
