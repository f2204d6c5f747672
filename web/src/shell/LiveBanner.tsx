import { Alert } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useLive, useLiveConnection } from "../api/live";
import { Icon } from "../ui/icons";
import { When } from "../ui/When";

/** Keeps the page's stream open, and says when what the page shows may be old. */
export function LiveBanner({ fabric }: { fabric: string }) {
  const { t } = useTranslation("shell");
  const queryClient = useQueryClient();
  useLiveConnection(fabric, queryClient);
  const state = useLive();
  // No banner for the first attempt of a page: it would push the page down for a moment.
  if (state.mode === "reconnecting" && state.reason !== "starting")
    return (
      <Alert
        color="yellow"
        variant="light"
        icon={<Icon name="broken" />}
        role="status"
        mb="md"
        title={t("reconnecting")}
        data-live="reconnecting"
      >
        {state.lastAnswerAt ? (
          <>
            {t("stale-since")} <When at={state.lastAnswerAt.toISOString()} />
          </>
        ) : (
          t("stale-never")
        )}
      </Alert>
    );
  if (state.mode === "polling")
    return (
      <Alert color="gray" variant="light" icon={<Icon name="clock" />} role="status" mb="md" data-live="polling">
        {t("polling")}
      </Alert>
    );
  return <span data-live={state.mode} hidden />;
}
