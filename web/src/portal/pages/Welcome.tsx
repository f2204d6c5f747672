import { Button } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { isOperator, useMe } from "../../shell/me";
import { Empty, QueryView } from "../../ui/states";
import { placeOfTenant, tenantsOf } from "../tenants";

/** Leads the reader to its own: the console for operators, the first tenant for members. */
export default function Welcome() {
  const { t } = useTranslation("shell");
  const router = useRouter();
  const me = useMe();
  const first = me.data ? tenantsOf(me.data)[0] : undefined;
  const operator = me.data ? isOperator(me.data) : false;
  useEffect(() => {
    if (operator) window.location.replace("/console/");
    else if (first) void router.navigate({ href: placeOfTenant(first), replace: true } as never);
  }, [operator, first, router]);
  return (
    <QueryView query={me}>
      {() =>
        operator || first ? null : (
          <Empty
            title={t("no-tenant")}
            why={t("no-tenant-why")}
            action={
              <Button variant="default" onClick={() => void me.refetch()}>
                {t("try-again")}
              </Button>
            }
          />
        )
      }
    </QueryView>
  );
}
