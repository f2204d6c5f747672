import { Group, Text } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../api/client";
import { StateBadge } from "./StateBadge";
import { Empty } from "./states";
import { TypedConfirm } from "./TypedConfirm";
import { type Column, DataTable } from "./table/DataTable";
import { useWrite } from "./useWrite";
import { When } from "./When";

type Token = Schemas["Token"];

type Props = {
  caption: string;
  tokens: Token[];
  /** The button of a token that begins its revocation; without it there is none. */
  button?: (label: { word: string; what: string }, begin: () => void) => ReactNode;
  /** Revokes a token by name, and reads the list again. */
  revoke: (name: string) => Promise<unknown>;
  /** What stands above the table and in its place while there is no token: a button that creates one. */
  add?: ReactNode;
};

/** Tokens, without their secrets, which the service does not keep: scopes, times of expiry and use, and a button that revokes one after a question. */
export function TokenTable({ caption, tokens, button, revoke, add }: Props) {
  const { t } = useTranslation("tokens");
  const [asked, setAsked] = useState<string>();
  const columns = useColumns(button, setAsked);
  return (
    <>
      <DataTable
        caption={caption}
        rows={tokens}
        columns={columns}
        rowId={(x) => x.name}
        filterLabel={tokens.length > 8 ? undefined : ""}
        count={(_, total) => t("count", { n: total })}
        actions={add}
        empty={<Empty title={t("none")} why={t("none-why")} action={add} />}
      />
      {asked ? <Revoke token={asked} revoke={revoke} onClose={() => setAsked(undefined)} /> : null}
    </>
  );
}

function useColumns(button: Props["button"], ask: (token: string) => void): Column<Token>[] {
  const { t } = useTranslation(["tokens", "common"]);
  return useMemo(
    () => [
      { id: "name", header: t("common:name"), value: (x) => x.name, width: 8 },
      { id: "scopes", header: t("scopes"), value: (x) => x.scopes?.join(" ") || t("scopes-all") },
      {
        id: "expires",
        header: t("expires"),
        value: (x) => x.expires_at,
        cell: (x) => <Expiry at={x.expires_at} />,
        missing: t("common:never"),
      },
      {
        id: "used",
        header: t("used"),
        value: (x) => x.used_at,
        cell: (x) => (x.used_at ? <When at={x.used_at} /> : t("common:never")),
        missing: t("common:never"),
      },
      ...(button
        ? [
            {
              id: "revoke",
              header: t("actions"),
              cell: (x: Token) =>
                button({ word: t("revoke"), what: t("revoke-what", { token: x.name }) }, () => ask(x.name)),
            },
          ]
        : []),
    ],
    [t, button, ask],
  );
}

function Expiry({ at }: { at: string | undefined }) {
  const { t } = useTranslation(["tokens", "common"]);
  if (!at) return <>{t("common:never")}</>;
  return (
    <Group gap="xs" wrap="nowrap">
      <When at={at} />
      {Date.parse(at) < Date.now() ? <StateBadge tone="neutral">{t("expired")}</StateBadge> : null}
    </Group>
  );
}

function Revoke({ token, revoke, onClose }: { token: string; revoke: Props["revoke"]; onClose: () => void }) {
  const { t } = useTranslation("tokens");
  const write = useWrite();
  const what = t("revoke-what", { token });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={what}
      effect={what}
      danger
      busy={write.busy}
      problem={write.problem}
      onConfirm={() => void write.run(() => revoke(token)).then((done) => done && onClose())}
    >
      <Text>{t("revoke-why")}</Text>
    </TypedConfirm>
  );
}
