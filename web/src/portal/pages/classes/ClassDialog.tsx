import { Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answer, client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { asProblem } from "../../../ui/ProblemNote";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useOperationKey } from "../../../ui/useOperationKey";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { NotMeasured } from "../../../ui/values";
import { useTenantName } from "../../tenant";
import type { MyTenant } from "../../tenants";
import { type Class, sharesOf, weightOf } from "./shares";

/** A change of one class. */
export type Change = { kind: "add" } | { kind: "weight"; name: string } | { kind: "remove"; name: string };

type Props = { change: Change; classes: Class[]; entitled?: number; onClose: () => void };

/** Asks for a change of one class, and shows what each class of the tenant gets before and after it. */
export function ClassDialog({ change, classes, entitled, onClose }: Props) {
  const { t } = useTranslation("classes");
  const m = useTenantName();
  const queries = useQueryClient();
  const start = change.kind === "weight" ? classes.find((c) => c.name === change.name)?.weight : 1;
  const [name, setName] = useState("");
  const [text, setText] = useState(String(start ?? 1));
  const [version, setVersion] = useVersion(m, change.kind === "add" ? undefined : change.name);
  const { busy, problem, run } = useWrite();
  const errors = useFieldTexts(problem);
  const weight = weightOf(text);
  const key = useOperationKey({ name, weight });
  const subject = change.kind === "add" ? name : change.name;
  const after = changed(classes, change, name, weight);
  const effect = t(`effect.${change.kind}`, { name: subject || t("class"), weight: text });

  const refresh = () => queries.invalidateQueries({ queryKey: keys.tenant(m.fabric, m.tenant) });
  const send = () =>
    run(async () => {
      try {
        await write(m, change, { name, weight: weight ?? 0 }, { version: version ?? "", key });
      } catch (cause) {
        if (asProblem(cause).status === 412) {
          await refresh();
          setVersion(undefined); // the next press is based on what the page shows now
        }
        throw cause;
      }
      await refresh();
      onClose();
    });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t(`title.${change.kind}`, { name: subject })}
      effect={effect}
      danger={change.kind === "remove"}
      disabled={
        (change.kind !== "remove" && (weight === undefined || subject === "")) ||
        (change.kind !== "add" && version === undefined)
      }
      busy={busy}
      problem={problem}
      onConfirm={() => void send()}
    >
      <Stack gap="sm">
        {change.kind === "add" ? (
          <TextInput
            label={t("name")}
            description={t("name-how")}
            value={name}
            maxLength={63}
            data-autofocus
            error={errors.get("/name")}
            onChange={(e) => setName(e.currentTarget.value)}
          />
        ) : null}
        {change.kind === "remove" ? null : (
          <TextInput
            label={t("weight")}
            description={t("weight-how")}
            inputMode="decimal"
            value={text}
            data-autofocus={change.kind === "weight" ? true : undefined}
            error={weight === undefined ? t("weight-wrong") : errors.get("/weight")}
            onChange={(e) => setText(e.currentTarget.value)}
          />
        )}
        <Preview before={classes} after={after} entitled={entitled} />
        <Text size="sm">{t("others-same")}</Text>
        <Text size="sm">{t(`way-back.${change.kind}`)}</Text>
      </Stack>
    </TypedConfirm>
  );
}

/**
 * The version of a class that the change is based on: that of the first reading, until the setter drops it. Each class has a version of its
 * own.
 */
function useVersion(m: MyTenant, name: string | undefined) {
  const [version, setVersion] = useState<string>();
  const read = useQuery({
    queryKey: keys.tenant(m.fabric, m.tenant, "class", name),
    queryFn: () =>
      answer(
        client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/classes/{class}", {
          params: { path: { ...m, class: name ?? "" } },
        }),
      ),
    enabled: name !== undefined,
    staleTime: 0,
  });
  if (version === undefined && read.data && !read.isFetching) setVersion(read.data.etag);
  return [version, setVersion] as const;
}

/** The classes after a change; as before while its fields are not valid. */
function changed(classes: Class[], change: Change, name: string, weight: number | undefined): Class[] {
  if (change.kind === "remove") return classes.filter((c) => c.name !== change.name);
  if (weight === undefined) return classes;
  if (change.kind === "weight") return classes.map((c) => (c.name === change.name ? { ...c, weight } : c));
  return name === "" || classes.some((c) => c.name === name) ? classes : [...classes, { name, weight }];
}

type Sent = { version: string; key: string };

function write(m: MyTenant, change: Change, c: Class, { version, key }: Sent): Promise<unknown> {
  const ifMatch = { "If-Match": version };
  if (change.kind === "add")
    return data(
      client.POST("/api/v1/fabrics/{fabric}/tenants/{tenant}/classes", {
        params: { path: { ...m }, header: { "Idempotency-Key": key } },
        body: c,
      }),
    );
  const path = { ...m, class: change.name };
  if (change.kind === "weight")
    return data(
      client.PUT("/api/v1/fabrics/{fabric}/tenants/{tenant}/classes/{class}", {
        params: { path, header: ifMatch },
        body: { weight: c.weight },
      }),
    );
  return data(
    client.DELETE("/api/v1/fabrics/{fabric}/tenants/{tenant}/classes/{class}", { params: { path, header: ifMatch } }),
  );
}

/** The part of each class before and after. Nothing outside of the tenant is in it. */
function Preview({ before, after, entitled }: { before: Class[]; after: Class[]; entitled?: number }) {
  const { t } = useTranslation("classes");
  const format = useFormat();
  const was = new Map(sharesOf(before, entitled).map((c) => [c.name, c]));
  const will = new Map(sharesOf(after, entitled).map((c) => [c.name, c]));
  const names = [...new Set([...was.keys(), ...will.keys()])];
  const cell = (c: { share: number; bps: number | undefined } | undefined) =>
    c === undefined ? (
      t("no-class")
    ) : (
      <>
        {format.share(c.share)} · {format.rate(c.bps) ?? <NotMeasured />}
      </>
    );
  return (
    <Table data-preview="classes">
      <Table.Caption>{t("preview")}</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("class")}</Table.Th>
          <Table.Th>{t("before")}</Table.Th>
          <Table.Th>{t("after")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {names.map((n) => (
          <Table.Tr key={n}>
            <Table.Th scope="row" className="fl-name">
              {n}
            </Table.Th>
            <Table.Td className="fl-numeric">{cell(was.get(n))}</Table.Td>
            <Table.Td className="fl-numeric">{cell(will.get(n))}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
