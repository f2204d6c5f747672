import { Alert, Button, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data } from "../api/client";
import { keys } from "../api/keys";
import { useFormat } from "../format/useFormat";
import { Icon } from "../ui/icons";
import { useNow } from "../ui/now";
import { ProblemNote } from "../ui/ProblemNote";
import { type Me, useMe } from "./me";

/** Seconds before the end of a session at which the reader is warned (WCAG 2.2.1 asks for 20 s; the console gives 5 min). */
const warnBefore = 300;

/** Warns before a session ends, and extends one that ends by idleness. */
export function SessionWarning() {
  const { t } = useTranslation("shell");
  const format = useFormat();
  const { data: me } = useMe();
  const queries = useQueryClient();
  const now = useNow(10);
  const extend = useMutation({
    mutationFn: () => data(client.POST("/api/v1/me/session/extend")),
    onSuccess: (session) => queries.setQueryData<Me>(keys.me(), (old) => (old ? { ...old, session } : old)),
  });
  if (!me?.session) return null;
  const idle = (Date.parse(me.session.idle_expires_at) - now) / 1000;
  const whole = (Date.parse(me.session.expires_at) - now) / 1000;
  const left = Math.min(idle, whole);
  if (!(left <= warnBefore) || left <= 0) return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Icon name="clock" />}
      role="status"
      m="md"
      title={t("session-ends", { left: format.duration(Math.max(10, Math.round(left / 10) * 10)) ?? "" })}
    >
      <Stack align="flex-start">
        {idle < whole ? (
          <Button size="compact-sm" loading={extend.isPending} onClick={() => extend.mutate()}>
            {t("session-extend")}
          </Button>
        ) : (
          t("session-sign-in-again")
        )}
        {extend.error ? <ProblemNote problem={extend.error} /> : null}
      </Stack>
    </Alert>
  );
}
