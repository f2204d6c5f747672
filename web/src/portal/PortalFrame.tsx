import { Button, Menu } from "@mantine/core";
import { Outlet, useParams, useRouter, useRouterState } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Frame, type NavItem } from "../shell/Frame";
import { isSimulated, useFabrics } from "../shell/fabrics";
import { LiveBanner } from "../shell/LiveBanner";
import { allows, isOperator, useMe } from "../shell/me";
import { goWith } from "../shell/route";
import { Icon } from "../ui/icons";
import { StateBadge } from "../ui/StateBadge";
import { type MyTenant, placeOfTenant, tenantsOf } from "./tenants";

/** Pages of a tenant in the order of the navigation, with the second key of their shortcut. */
const pages: [id: string, key: string][] = [
  ["share", "s"],
  ["history", "h"],
  ["endpoints", "e"],
  ["classes", "c"],
  ["notices", "n"],
  ["members", "m"],
];

/** The frame of the portal: one tenant at a time, and nothing of any other. */
export function PortalFrame() {
  const { t } = useTranslation("shell");
  const router = useRouter();
  const { data: me } = useMe();
  const { fabric = "", tenant = "" } = useParams({ strict: false }) as { fabric?: string; tenant?: string };
  const { data: fabrics } = useFabrics();
  const shown = fabrics?.find((f) => f.name === fabric);
  const mine = useMemo(() => (me ? tenantsOf(me) : []), [me]);
  const own = mine.some((m) => m.fabric === fabric && m.tenant === tenant) || (me !== undefined && isOperator(me));
  const readOnly = own && tenant !== "" && me !== undefined && !allows(me, "class", "write", fabric, tenant);
  const items = useMemo<NavItem[]>(
    () =>
      tenant && own
        ? pages.map(([id, key]) => ({
            id,
            label: t(`nav.${id}`),
            to: placeOfTenant({ fabric, tenant }, id),
            shortcut: key,
            section: tenant,
          }))
        : [],
    [fabric, tenant, own, t],
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
      banners={fabric && own ? <LiveBanner fabric={fabric} /> : null}
    >
      <Outlet />
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
            {mine.some((m) => m.fabric === current.fabric && m.tenant === current.tenant)
              ? `${current.fabric} / ${current.tenant}`
              : t("tenant-choose")}
          </span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: "auto" }}>
        {mine.map((m) => (
          <Menu.Item
            key={`${m.fabric}/${m.tenant}`}
            className="fl-name"
            onClick={() => go(placeOfTenant(m, page))}
            aria-current={m.fabric === current.fabric && m.tenant === current.tenant}
          >
            {m.fabric} / {m.tenant}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
