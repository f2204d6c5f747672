import { type ReactNode, useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { TokenTable } from "../../../ui/TokenTable";
import { ActionButton } from "../../parts/ActionButton";
import { NewTokenDialog } from "./NewTokenDialog";
import { type Owner, revokeToken, usePeopleChanged, useTokens } from "./queries";

type Props = { owner: Owner; allowed: boolean };

/** The tokens of an owner, and the dialog that creates one. */
export function Tokens({ owner, allowed }: Props) {
  const { t } = useTranslation("people");
  const query = useTokens(owner);
  const changed = usePeopleChanged();
  const [adding, setAdding] = useState(false);
  const button = useCallback(
    ({ word, what }: { word: string; what: string }, begin: () => void): ReactNode => (
      <ActionButton allowed={allowed} size="compact-sm" variant="default" aria-label={what} onClick={begin}>
        {word}
      </ActionButton>
    ),
    [allowed],
  );
  return (
    <div data-tokens={owner.account ?? "me"}>
      <QueryView query={query}>
        {({ items }) => (
          <TokenTable
            caption={owner.account ? t("tokens-of", { account: owner.account }) : t("tokens-mine")}
            tokens={items}
            button={button}
            revoke={async (token) => {
              await revokeToken(owner, token);
              await changed();
            }}
            add={
              <ActionButton allowed={allowed} size="xs" onClick={() => setAdding(true)}>
                {t("token-add")}
              </ActionButton>
            }
          />
        )}
      </QueryView>
      {adding ? <NewTokenDialog owner={owner} onClose={() => setAdding(false)} /> : null}
    </div>
  );
}
