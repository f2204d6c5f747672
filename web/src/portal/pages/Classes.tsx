import { Button, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/useFormat";
import { useCan } from "../../shell/me";
import { Icon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Empty, QueryView } from "../../ui/states";
import { type Column, DataTable } from "../../ui/table/DataTable";
import { Rate } from "../../ui/values";
import { Why } from "../../ui/Why";
import { apiOf, titleOf, useNowFigures, useTenant, useTenantName } from "../tenant";
import { type Change, ClassDialog } from "./classes/ClassDialog";
import { type Class, type ClassShare, sharesOf } from "./classes/shares";

export default function Classes() {
  const { t } = useTranslation(["classes", "shell"]);
  const m = useTenantName();
  const tenant = useTenant();
  const now = useNowFigures();
  const writes = useCan()("class", "write", m.fabric, m.tenant);
  const [change, setChange] = useState<Change>();
  const classes = tenant.data?.body.classes;
  return (
    <Page
      title={titleOf(m, t("shell:nav.classes"))}
      answer={classes ? t("answer", { n: classes.length }) : null}
      actions={
        writes && classes?.length ? (
          <Button leftSection={<Icon name="plus" />} onClick={() => setChange({ kind: "add" })}>
            {t("add")}
          </Button>
        ) : null
      }
      copy={{
        command: `fairlane class list --tenant ${m.tenant} --fabric ${m.fabric}`,
        api: `GET ${apiOf(m)}/classes`,
      }}
      ready={classes !== undefined && !now.isPending}
    >
      <QueryView query={tenant}>
        {({ body }) => (
          <>
            <Text>{t("effect-when")}</Text>
            <ClassTable
              classes={body.classes}
              entitled={now.data?.entitled_bps}
              onChange={writes ? setChange : undefined}
            />
            {change ? (
              <ClassDialog
                change={change}
                classes={body.classes}
                entitled={now.data?.entitled_bps}
                onClose={() => setChange(undefined)}
              />
            ) : null}
          </>
        )}
      </QueryView>
    </Page>
  );
}

type TableProps = { classes: Class[]; entitled?: number; onChange?: (change: Change) => void };

function ClassTable({ classes, entitled, onChange }: TableProps) {
  const { t } = useTranslation("classes");
  const m = useTenantName();
  const shares = useMemo(() => sharesOf(classes, entitled), [classes, entitled]);
  const sum = classes.reduce((a, c) => a + c.weight, 0);
  const columns = useColumns(shares, sum, entitled, onChange);
  return (
    <DataTable
      caption={t("table")}
      rows={shares}
      columns={columns}
      rowId={(c) => c.name}
      filterLabel={shares.length > 8 ? undefined : ""}
      csvName={`fairlane-${m.tenant}-classes`}
      count={(_, total) => t("count", { n: total })}
      empty={
        <Empty
          title={t("empty")}
          why={t(onChange ? "empty-why" : "empty-why-viewer")}
          action={
            onChange ? (
              <Button leftSection={<Icon name="plus" />} onClick={() => onChange({ kind: "add" })}>
                {t("add")}
              </Button>
            ) : null
          }
        />
      }
    />
  );
}

function useColumns(
  shares: ClassShare[],
  sum: number,
  entitled: number | undefined,
  onChange: ((change: Change) => void) | undefined,
): Column<ClassShare>[] {
  const { t } = useTranslation("classes");
  const format = useFormat();
  const weight = useMemo(() => format.weightScale(shares.map((c) => c.weight)), [format, shares]);
  return useMemo(
    () => [
      { id: "name", header: t("name"), value: (c) => c.name, width: 10 },
      { id: "weight", header: t("weight"), value: (c) => c.weight, cell: (c) => weight(c.weight), align: "end" },
      {
        id: "share",
        header: t("share"),
        value: (c) => c.share,
        align: "end",
        cell: (c) => (
          <Why
            reasoning={{
              of: t("share-of", { name: c.name }),
              value: format.share(c.share),
              sentence: t("share-why"),
              formula: "share = weight / sum(weights)",
              inputs: [
                { name: t("weight"), value: format.weight(c.weight) },
                { name: t("sum"), value: format.weight(sum) },
                { name: t("entitled"), value: <Rate bps={entitled} /> },
              ],
            }}
          >
            {format.share(c.share)}
          </Why>
        ),
      },
      { id: "rate", header: t("rate"), value: (c) => c.bps, align: "end", cell: (c) => <Rate bps={c.bps} /> },
      ...(onChange
        ? [{ id: "do", header: t("do"), cell: (c: ClassShare) => <Actions name={c.name} onChange={onChange} /> }]
        : []),
    ],
    [t, format, weight, sum, entitled, onChange],
  );
}

function Actions({ name, onChange }: { name: string; onChange: (change: Change) => void }) {
  const { t } = useTranslation("classes");
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        mr="xs"
        aria-label={t("edit-of", { name })}
        onClick={() => onChange({ kind: "weight", name })}
      >
        {t("edit")}
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={t("remove-of", { name })}
        onClick={() => onChange({ kind: "remove", name })}
      >
        {t("remove")}
      </Button>
    </>
  );
}
