import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Frame, type NavItem } from "../shell/Frame";
import { isSimulated, useFabricName, useFabrics } from "../shell/fabrics";
import { LiveBanner } from "../shell/LiveBanner";
import { isOperator, useCan, useMe } from "../shell/me";
import { goWith } from "../shell/route";
import { StateBadge } from "../ui/StateBadge";
import { SimulatedContext } from "../ui/simulated";
import { Missing } from "../ui/states";
import { FabricSwitcher } from "./FabricSwitcher";

/** Pages of a fabric in the order of the navigation, with the second key of their shortcut. */
const ofFabric: [id: string, key: string][] = [
  ["overview", "o"],
  ["map", "m"],
  ["tenants", "t"],
  ["policies", "p"],
  ["plans", "l"],
  ["rollouts", "r"],
  ["devices", "d"],
  ["what-if", "w"],
  ["alerts", "a"],
];
const ofService: [id: string, key: string][] = [
  ["audit", "u"],
  ["people", "e"],
  ["settings", "s"],
];

/** The frame of the console. The fabric comes from the address; outside of one, the last fabric's pages stay in the navigation. */
export function ConsoleFrame() {
  const { t } = useTranslation("shell");
  const router = useRouter();
  const { data: me } = useMe();
  const { data: fabrics } = useFabrics();
  const path = useRouterState({ select: (s) => s.location.pathname });
  const inAddress = useFabricName();
  const fabric = useNavigatedFabric(
    inAddress,
    fabrics?.map((f) => f.name),
  );
  const shown = fabrics?.find((f) => f.name === fabric);
  const can = useCan();
  // A member of single tenants finds nothing here, whatever the address; Start leads them to the portal.
  const foreign = me !== undefined && !isOperator(me) && path.replace(/\/$/, "") !== "/console";
  const readOnly = me !== undefined && !foreign && !can("tenant", "write", fabric);
  const items = useMemo<NavItem[]>(() => {
    const base = `/console/f/${encodeURIComponent(fabric)}`;
    const section = t("nav-service");
    return [
      ...(fabric
        ? ofFabric.map(([id, key]) => ({
            id,
            label: t(`nav.${id}`),
            to: `${base}/${id}`,
            shortcut: key,
            section: fabric,
          }))
        : []),
      ...ofService.map(([id, key]) => ({ id, label: t(`nav.${id}`), to: `/console/${id}`, shortcut: key, section })),
    ];
  }, [fabric, t]);
  const go = useMemo(() => goWith(router, "/console"), [router]);
  return (
    <Frame
      home="/console/"
      items={foreign ? [] : items}
      go={go}
      fabric={(!foreign && fabric) || undefined}
      search={!foreign}
      simulated={!foreign && isSimulated(shown)}
      readOnly={readOnly}
      switcher={
        fabrics?.length && !foreign ? (
          <FabricSwitcher fabrics={fabrics.map((f) => f.name)} fabric={inAddress} path={path} go={go} />
        ) : null
      }
      badges={
        <>
          {isSimulated(shown) && !foreign ? <StateBadge tone="simulated">{t("simulated-fabric")}</StateBadge> : null}
          {readOnly ? (
            <StateBadge tone="neutral" icon="lock">
              {t("read-only")}
            </StateBadge>
          ) : null}
        </>
      }
      banners={inAddress && !foreign ? <LiveBanner fabric={inAddress} /> : null}
    >
      <SimulatedContext value={inAddress !== "" && isSimulated(shown)}>
        {foreign ? <Missing /> : <Outlet />}
      </SimulatedContext>
    </Frame>
  );
}

const stored = "fairlane.fabric";

/** The fabric whose pages the navigation offers: that of the address, else the last one seen, else the first. */
function useNavigatedFabric(inAddress: string, names: string[] | undefined): string {
  if (inAddress) {
    sessionStorage.setItem(stored, inAddress);
    return inAddress;
  }
  const last = sessionStorage.getItem(stored) ?? "";
  return names?.includes(last) ? last : (names?.[0] ?? "");
}
