import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { Copyable } from "../../../ui/CopyAs";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { Said } from "../../../ui/Said";
import { To } from "../../parts/links";
import { Part } from "../../parts/Part";

type Report = Schemas["AuditReport"];

/** The check of the whole chain. The service reads every entry for it, so that only a press starts it. */
export function useCheck() {
  return useMutation({
    mutationFn: (expect: string) =>
      data<Report>(client.GET("/api/v1/audit/verify", { params: { query: expect ? { expect } : {} } })),
  });
}

type Props = { check: UseMutationResult<Report, Error, string> };

/** Checks that no entry was changed, removed or moved. */
export function ChainCheck({ check }: Props) {
  const { t } = useTranslation("audit");
  const [expect, setExpect] = useState("");
  return (
    <Part title={t("chain")}>
      <Stack gap="sm">
        <Text size="sm">{t("chain-why")}</Text>
        <form
          onSubmit={(e) => {
            e.preventDefault();
            check.mutate(expect.trim());
          }}
        >
          <Group align="flex-end" gap="sm">
            <TextInput
              label={t("expect")}
              description={t("expect-why")}
              value={expect}
              onChange={(e) => setExpect(e.currentTarget.value)}
              autoComplete="off"
              spellCheck={false}
              style={{ flex: "1 1 20rem", maxWidth: "40rem" }}
            />
            <Button type="submit" loading={check.isPending} variant="default">
              {t("check")}
            </Button>
          </Group>
        </form>
        {check.error ? <ProblemNote problem={check.error} /> : null}
        {check.data ? <Outcome report={check.data} /> : null}
      </Stack>
    </Part>
  );
}

function Outcome({ report: r }: { report: Report }) {
  const { t } = useTranslation("audit");
  return (
    <Alert
      color={r.ok ? "green" : "red"}
      variant="light"
      role="status"
      icon={<Icon name={r.ok ? "check" : "cross"} />}
      title={r.ok ? t("chain-whole", { n: r.entries }) : t("chain-broken", { seq: r.bad?.seq ?? 0 })}
      data-chain={r.ok ? "whole" : "broken"}
      data-entries={r.entries}
    >
      <Stack gap="sm">
        {r.bad ? (
          <Text size="sm">
            <Said said={r.bad.said} english={r.bad.reason} />{" "}
            <To to="/console/audit" search={{ seq: String(r.bad.seq) }}>
              {t("entry", { seq: r.bad.seq })}
            </To>
          </Text>
        ) : null}
        {r.first > 1 ? <Text size="sm">{t("chain-pruned", { first: r.first })}</Text> : null}
        {r.tail ? <Copyable label={t("tail")} text={r.tail} /> : null}
      </Stack>
    </Alert>
  );
}
