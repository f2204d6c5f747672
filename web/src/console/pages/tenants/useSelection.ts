import { useMemo, useState } from "react";
import { useUrlState } from "../../../ui/useUrlState";
import type { Tenant } from "./queries";

/** Selected names up to which the address holds them; a longer list would make an address that proxies refuse. */
const inAddress = 60;

/** The selected tenants: in the address while they are few. Names that no longer exist are left out. */
export function useSelection(tenants: Tenant[]) {
  const [url, setUrl] = useUrlState({ selected: "" });
  const [many, setMany] = useState<ReadonlySet<string>>();
  const of = useMemo(() => {
    const names = many ?? new Set(url.selected.split(",").filter(Boolean));
    return tenants.filter((t) => names.has(t.name));
  }, [tenants, many, url.selected]);
  const selected = useMemo(() => new Set(of.map((t) => t.name)), [of]);
  const select = (names: ReadonlySet<string>) => {
    setMany(names.size > inAddress ? names : undefined);
    setUrl({ selected: names.size > inAddress ? "" : [...names].join(",") });
  };
  return { of, selected, select };
}
