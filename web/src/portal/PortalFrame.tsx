import { Button, Menu } from "@mantine/core";
import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Frame, type NavItem } from "../shell/Frame";
import { isSimulated, useFabrics } from "../shell/fabrics";
import { LiveBanner } from "../shell/LiveBanner";
import { allows, useMe } from "../shell/me";
import { goWith } from "../shell/route";
import { Icon } from "../ui/icons";
import { StateBadge } from "../ui/StateBadge";
import { SimulatedContext } from "../ui/simulated";
import { useTenantName } from "./tenant";
import { type MyTenant, placeOfTenant, sameTenant, sees, tenantsOf } from "./tenants";

/** Pages of a tenant in the order of the navigation, with the second key of their shortcut. */
const pages: [id: string, key: string][] = [
  ["share", "s"],
  ["history", "h"],
  ["endpoints", "e"],
  ["classes", "c"],
  ["notices", "n"],
  ["members", "m"],
];

/** The frame of the portal: one tenant at a time, with no data of any other. */
export function PortalFrame() {
  const { t } = useTranslation("shell");
  const router = useRouter();
  const { data: me } = useMe();
  const { fabric, tenant } = useTenantName();
  const { data: fabrics } = useFabrics();
  const shown = fabrics?.find((f) => f.name === fabric);
  const mine = useMemo(() => (me ? tenantsOf(me) : []), [me]);
  const shows = tenant !== "" && me !== undefined && sees(me, { fabric, tenant });
  const readOnly = shows && !allows(me, "class", "write", fabric, tenant);
  const items = useMemo<NavItem[]>(
    () =>
      shows
        ? pages.map(([id, key]) => ({
            id,
            label: t(`nav.${id}`),
            to: placeOfTenant({ fabric, tenant }, id),
            shortcut: key,
            section: tenant,
          }))
        : [],
    [fabric, tenant, shows, t],
  );
  const go = useMemo(() => goWith(router, "/portal"), [router]);
  return (
    <Frame
      home="/portal/"
      items={items}
      go={go}
      search={false}
      simulated={isSimulated(shown)}
      readOnly={readOnly}
      switcher={mine.length > 1 ? <TenantSwitcher mine={mine} current={{ fabric, tenant }} go={go} /> : null}
      badges={
        <>
          {isSimulated(shown) ? <StateBadge tone="simulated">{t("simulated-fabric")}</StateBadge> : null}
          {readOnly ? (
            <StateBadge tone="neutral" icon="lock">
              {t("read-only")}
            </StateBadge>
          ) : null}
        </>
      }
      banners={shows ? <LiveBanner fabric={fabric} /> : null}
    >
      <SimulatedContext value={isSimulated(shown)}>
        <Outlet />
      </SimulatedContext>
    </Frame>
  );
}

function TenantSwitcher({ mine, current, go }: { mine: MyTenant[]; current: MyTenant; go: (to: string) => void }) {
  const { t } = useTranslation("shell");
  const path = useRouterState({ select: (s) => s.location.pathname });
  const page = pages.find(([id]) => path.endsWith(`/${id}`))?.[0] ?? "share";
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <Button
          variant="default"
          rightSection={<Icon name="down" />}
          style={{ minWidth: 0 }}
          aria-label={t("tenant-choose")}
        >
          <span className="fl-name">
            {mine.some((m) => sameTenant(m, current)) ? `${current.fabric} / ${current.tenant}` : t("tenant-choose")}
          </span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: "auto" }}>
        {mine.map((m) => (
          <Menu.Item
            key={`${m.fabric}/${m.tenant}`}
            className="fl-name"
            onClick={() => go(placeOfTenant(m, page))}
            aria-current={sameTenant(m, current)}
          >
            {m.fabric} / {m.tenant}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
