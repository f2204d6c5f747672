import { Button } from "@mantine/core";
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Schemas } from "../../../api/client";
import { TokenTable } from "../../../ui/TokenTable";

export type Token = Schemas["Token"];

type Props = {
  caption: string;
  tokens: Token[];
  /** Revokes a token by name; without it there is no button. */
  revoke?: (name: string) => Promise<unknown>;
  stale: QueryKey;
};

const button = ({ word, what }: { word: string; what: string }, begin: () => void): ReactNode => (
  <Button size="compact-sm" variant="default" aria-label={what} onClick={begin}>
    {word}
  </Button>
);

/** The table of tokens; members without the right to revoke one see no button. */
export function TokenList({ caption, tokens, revoke, stale }: Props) {
  const queries = useQueryClient();
  return (
    <TokenTable
      caption={caption}
      tokens={tokens}
      button={revoke && button}
      revoke={async (name) => {
        await revoke?.(name);
        await queries.invalidateQueries({ queryKey: stale });
      }}
    />
  );
}
