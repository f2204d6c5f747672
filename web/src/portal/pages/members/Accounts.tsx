import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan } from "../../../shell/me";
import { Icon } from "../../../ui/icons";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useOperationKey } from "../../../ui/useOperationKey";
import { useFieldTexts } from "../../../ui/useWrite";
import { When } from "../../../ui/When";
import { useTenantName } from "../../tenant";
import { TokenForm } from "./TokenForm";
import { type Token, TokenList } from "./TokenList";
import { useSend } from "./useSend";

type Account = Schemas["ServiceAccount"];
type Role = Schemas["TenantRole"];

const base = "/api/v1/fabrics/{fabric}/tenants/{tenant}/service-accounts";

/** The service accounts of the tenant, each with its tokens. */
export function Accounts() {
  const { t } = useTranslation("members");
  const m = useTenantName();
  const writes = useCan()("service-account", "write", m.fabric, m.tenant);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string>();
  const accounts = useQuery({
    queryKey: keys.serviceAccounts(m.fabric, m.tenant),
    queryFn: () =>
      all((cursor) => data(client.GET(base, { params: { path: { ...m }, query: { limit: 1000, cursor } } }))),
  });
  const columns = useColumns(writes ? setRemoving : undefined);
  const add = writes ? (
    <Button leftSection={<Icon name="plus" />} onClick={() => setAdding(true)}>
      {t("add-account")}
    </Button>
  ) : null;
  return (
    <QueryView query={accounts}>
      {(items) => (
        <>
          <DataTable
            caption={t("part.accounts")}
            rows={items}
            columns={columns}
            rowId={(x) => x.name}
            actions={add}
            expanded={(x) => <AccountTokens account={x.name} writes={writes} />}
            count={(shown, total) => t("account-count", { shown, total })}
            empty={<Empty title={t("no-accounts")} why={t("no-accounts-why")} action={add} />}
          />
          {adding ? <AddAccount onClose={() => setAdding(false)} /> : null}
          {removing ? <RemoveAccount account={removing} onClose={() => setRemoving(undefined)} /> : null}
        </>
      )}
    </QueryView>
  );
}

function useColumns(onRemove: ((name: string) => void) | undefined): Column<Account>[] {
  const { t } = useTranslation(["members", "common"]);
  return useMemo(
    () => [
      { id: "name", header: t("account"), value: (x) => x.name, width: 10 },
      { id: "role", header: t("role"), value: (x) => t(`words:role.${x.role}`, { defaultValue: x.role }) },
      { id: "made", header: t("made"), value: (x) => x.created_at, cell: (x) => <When at={x.created_at} /> },
      ...(onRemove
        ? [
            {
              id: "do",
              header: t("do"),
              cell: (x: Account) => (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t("account-remove-of", { name: x.name })}
                  onClick={() => onRemove(x.name)}
                >
                  {t("member-remove")}
                </Button>
              ),
            },
          ]
        : []),
    ],
    [t, onRemove],
  );
}

function AccountTokens({ account, writes }: { account: string; writes: boolean }) {
  const { t } = useTranslation("members");
  const m = useTenantName();
  const path = { ...m, account };
  const stale = keys.tokens(m.fabric, m.tenant, account);
  const tokens = useQuery({
    queryKey: stale,
    queryFn: () => data<{ items: Token[] }>(client.GET(`${base}/{account}/tokens`, { params: { path } })),
  });
  return (
    <Stack gap="md" py="sm">
      <QueryView query={tokens}>
        {({ items }) => (
          <TokenList
            caption={t("tokens-of", { name: account })}
            tokens={items}
            stale={stale}
            revoke={
              writes
                ? (token) =>
                    data(client.DELETE(`${base}/{account}/tokens/{token}`, { params: { path: { ...path, token } } }))
                : undefined
            }
          />
        )}
      </QueryView>
      {writes ? (
        <TokenForm
          label={t("token-new-of", { name: account })}
          stale={stale}
          create={(body) => data(client.POST(`${base}/{account}/tokens`, { params: { path }, body }))}
        />
      ) : null}
    </Stack>
  );
}

function AddAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["members", "common"]);
  const m = useTenantName();
  const { busy, problem, send } = useSend();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("tenant-viewer");
  const errors = useFieldTexts(problem);
  const body = { name, role };
  const key = useOperationKey(body);
  const create = () =>
    data(client.POST(base, { params: { path: { ...m }, header: { "Idempotency-Key": key } }, body }));
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("add-account")}
      effect={t("account-effect", { name: name || t("account"), role: t(`words:role.${role}`) })}
      disabled={name === ""}
      busy={busy}
      problem={problem}
      onConfirm={() => void send(create, [keys.serviceAccounts(m.fabric, m.tenant)], onClose)}
    >
      <Group align="start">
        <TextInput
          label={t("account")}
          description={t("token-name-how")}
          value={name}
          error={errors.get("/name")}
          maxLength={63}
          data-autofocus
          onChange={(e) => setName(e.currentTarget.value)}
        />
        <NativeSelect
          label={t("role")}
          value={role}
          data={["tenant-viewer", "tenant-admin"].map((r) => ({ value: r, label: t(`words:role.${r}`) }))}
          onChange={(e) => setRole(e.currentTarget.value as Role)}
        />
      </Group>
      <Text size="sm">{t(`role-means.${role}`)}</Text>
    </TypedConfirm>
  );
}

function RemoveAccount({ account, onClose }: { account: string; onClose: () => void }) {
  const { t } = useTranslation("members");
  const m = useTenantName();
  const { busy, problem, send } = useSend();
  const remove = () => data(client.DELETE(`${base}/{account}`, { params: { path: { ...m, account } } }));
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("account-remove-of", { name: account })}
      effect={t("account-remove-effect", { name: account })}
      danger
      busy={busy}
      problem={problem}
      onConfirm={() => void send(remove, [keys.serviceAccounts(m.fabric, m.tenant)], onClose)}
    >
      <Text>{t("account-remove-why")}</Text>
    </TypedConfirm>
  );
}
