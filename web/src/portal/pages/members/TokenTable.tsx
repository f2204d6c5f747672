import { Button, Text } from "@mantine/core";
import type { QueryKey } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { Empty } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { useSend } from "./useSend";

export type Token = Schemas["Token"];

type Props = {
  caption: string;
  tokens: Token[];
  /** Revokes a token by name; without it there is no button. */
  revoke?: (name: string) => Promise<unknown>;
  stale: QueryKey;
};

/** Tokens with scopes, times of expiry and use, and a button that revokes one after a question. */
export function TokenTable({ caption, tokens, revoke, stale }: Props) {
  const { t } = useTranslation("members");
  const [asked, setAsked] = useState<string>();
  const { busy, problem, send } = useSend();
  const columns = useColumns(revoke ? setAsked : undefined);
  return (
    <>
      <DataTable
        caption={caption}
        rows={tokens}
        columns={columns}
        rowId={(x) => x.name}
        filterLabel={tokens.length > 8 ? undefined : ""}
        count={(_, total) => t("token-count", { n: total })}
        empty={<Empty title={t("no-tokens")} why={t("no-tokens-why")} />}
      />
      {asked && revoke ? (
        <TypedConfirm
          opened
          onClose={() => setAsked(undefined)}
          title={t("revoke-title", { name: asked })}
          effect={t("revoke-effect", { name: asked })}
          danger
          busy={busy}
          problem={problem}
          onConfirm={() =>
            void send(
              () => revoke(asked),
              [stale],
              () => setAsked(undefined),
            )
          }
        >
          <Text>{t("revoke-why")}</Text>
        </TypedConfirm>
      ) : null}
    </>
  );
}

function useColumns(onRevoke: ((name: string) => void) | undefined): Column<Token>[] {
  const { t } = useTranslation(["members", "common"]);
  return useMemo(
    () => [
      { id: "name", header: t("token-name"), value: (x) => x.name, width: 8 },
      { id: "scopes", header: t("scopes"), value: (x) => x.scopes?.join(" ") || t("scopes-all") },
      {
        id: "expires",
        header: t("expires"),
        value: (x) => x.expires_at,
        cell: (x) => (x.expires_at ? <When at={x.expires_at} /> : t("common:never")),
        missing: t("common:never"),
      },
      {
        id: "used",
        header: t("used"),
        value: (x) => x.used_at,
        cell: (x) => (x.used_at ? <When at={x.used_at} /> : t("common:never")),
        missing: t("common:never"),
      },
      ...(onRevoke
        ? [
            {
              id: "do",
              header: t("do"),
              cell: (x: Token) => (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t("revoke-of", { name: x.name })}
                  onClick={() => onRevoke(x.name)}
                >
                  {t("revoke")}
                </Button>
              ),
            },
          ]
        : []),
    ],
    [t, onRevoke],
  );
}
