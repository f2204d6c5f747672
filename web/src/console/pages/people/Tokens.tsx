import { Group, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { StateBadge } from "../../../ui/StateBadge";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useWrite } from "../../../ui/useWrite";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { NewTokenDialog } from "./NewTokenDialog";
import { type Owner, revokeToken, type Token, usePeopleChanged, useTokens } from "./queries";

type Props = { owner: Owner; allowed: boolean };

/** The tokens of an owner, without their secrets, which the service does not keep. */
export function Tokens({ owner, allowed }: Props) {
  const { t } = useTranslation("people");
  const query = useTokens(owner);
  const [adding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<string>();
  const add = (
    <ActionButton allowed={allowed} size="xs" onClick={() => setAdding(true)}>
      {t("token-add")}
    </ActionButton>
  );
  const columns = useTokenColumns(allowed, setRevoking);
  return (
    <div data-tokens={owner.account ?? "me"}>
      <QueryView query={query}>
        {({ items }) => (
          <DataTable
            caption={owner.account ? t("tokens-of", { account: owner.account }) : t("tokens-mine")}
            rows={items}
            columns={columns}
            rowId={(token) => token.name}
            filterLabel=""
            count={(_, total) => t("tokens-count", { n: total })}
            actions={add}
            empty={<Empty title={t("tokens-none")} why={t("tokens-none-why")} action={add} />}
          />
        )}
      </QueryView>
      {adding ? <NewTokenDialog owner={owner} onClose={() => setAdding(false)} /> : null}
      {revoking ? <Revoke owner={owner} token={revoking} onClose={() => setRevoking(undefined)} /> : null}
    </div>
  );
}

function useTokenColumns(allowed: boolean, onRevoke: (token: string) => void): Column<Token>[] {
  const { t } = useTranslation(["people", "common"]);
  return useMemo<Column<Token>[]>(
    () => [
      { id: "name", header: t("common:name"), value: (x) => x.name },
      {
        id: "scopes",
        header: t("scopes"),
        value: (x) => x.scopes?.join(" ") || t("scopes-all"),
      },
      { id: "expires", header: t("expires"), value: (x) => x.expires_at, cell: (x) => <Expiry token={x} /> },
      {
        id: "used",
        header: t("used"),
        value: (x) => x.used_at,
        cell: (x) => (x.used_at ? <When at={x.used_at} /> : t("common:never")),
        missing: t("common:never"),
      },
      {
        id: "revoke",
        header: t("actions"),
        cell: (x) => (
          <ActionButton
            allowed={allowed}
            size="compact-sm"
            variant="default"
            aria-label={t("token-revoke-what", { token: x.name })}
            onClick={() => onRevoke(x.name)}
          >
            {t("token-revoke")}
          </ActionButton>
        ),
      },
    ],
    [t, allowed, onRevoke],
  );
}

function Expiry({ token }: { token: Token }) {
  const { t } = useTranslation("people");
  if (!token.expires_at) return <>{t("expires-never")}</>;
  return (
    <Group gap="xs" wrap="nowrap">
      <When at={token.expires_at} />
      {Date.parse(token.expires_at) < Date.now() ? <StateBadge tone="neutral">{t("expired")}</StateBadge> : null}
    </Group>
  );
}

function Revoke({ owner, token, onClose }: { owner: Owner; token: string; onClose: () => void }) {
  const { t } = useTranslation("people");
  const write = useWrite();
  const changed = usePeopleChanged();
  const revoke = async () => {
    if (!(await write.run(() => revokeToken(owner, token)))) return;
    onClose();
    await changed();
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("token-revoke-what", { token })}
      effect={t("token-revoke-what", { token })}
      danger
      busy={write.busy}
      problem={write.problem}
      onConfirm={() => void revoke()}
    >
      <Text>{t("token-revoke-why")}</Text>
    </TypedConfirm>
  );
}
