import { useRouter } from "@tanstack/react-router";
import { lazy, useEffect } from "react";
import { useFabrics } from "../../shell/fabrics";
import { isOperator, useMe } from "../../shell/me";
import { QueryView } from "../../ui/states";

const FirstVisit = lazy(() => import("./FirstVisit"));

/** Leads to the overview of the fabric seen last, or the first; a service without a fabric gets the first visit. */
export default function Start() {
  const router = useRouter();
  const me = useMe();
  const fabrics = useFabrics();
  const member = me.data !== undefined && !isOperator(me.data);
  const names = fabrics.data?.map((f) => f.name) ?? [];
  const last = sessionStorage.getItem("fairlane.fabric") ?? "";
  const to = names.includes(last) ? last : names[0];
  useEffect(() => {
    if (member) window.location.replace("/portal/");
    else if (me.data && to)
      void router.navigate({ href: `/console/f/${encodeURIComponent(to)}/overview`, replace: true } as never);
  }, [member, me.data, to, router]);
  return <QueryView query={fabrics}>{(list) => (list.length === 0 && !member ? <FirstVisit /> : null)}</QueryView>;
}
