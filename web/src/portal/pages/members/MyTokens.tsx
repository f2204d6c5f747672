import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { TokenForm } from "./TokenForm";
import { type Token, TokenList } from "./TokenList";

/** The reader's own tokens. */
export function MyTokens() {
  const { t } = useTranslation("members");
  const stale = keys.tokens("mine");
  const tokens = useQuery({
    queryKey: stale,
    queryFn: () => data<{ items: Token[] }>(client.GET("/api/v1/me/tokens")),
  });
  return (
    <Stack gap="md">
      <QueryView query={tokens}>
        {({ items }) => (
          <TokenList
            caption={t("part.tokens")}
            tokens={items}
            stale={stale}
            revoke={(token) => data(client.DELETE("/api/v1/me/tokens/{token}", { params: { path: { token } } }))}
          />
        )}
      </QueryView>
      <TokenForm
        label={t("token-new")}
        stale={stale}
        create={(body) => data(client.POST("/api/v1/me/tokens", { body }))}
      />
    </Stack>
  );
}
