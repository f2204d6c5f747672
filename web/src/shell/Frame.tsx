import { AppShell, Burger, Button, Group, NavLink, ScrollArea, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { usePreloadedTemplates } from "../i18n/say";
import { Icon } from "../ui/icons";
import { Loading } from "../ui/states";
import { Help } from "./Help";
import { Preferences } from "./Preferences";
import { SessionWarning } from "./SessionWarning";
import { type Shortcut, usePaletteKey, useShortcuts, useShortcutsOn } from "./shortcuts";

const Palette = lazy(() => import("./Palette"));

/** An entry of the navigation. */
export type NavItem = { id: string; label: string; to: string; section?: string; shortcut?: string };

type FrameProps = {
  home: string;
  items: NavItem[];
  /** What stands beside the product's name: the switcher of fabrics or tenants. */
  switcher?: React.ReactNode;
  /** Badges of the header: simulated, read only. */
  badges?: React.ReactNode;
  simulated?: boolean;
  readOnly?: boolean;
  /** Banners above the page: stale data, a waiting confirmation. */
  banners?: React.ReactNode;
  fabric?: string;
  go: (to: string) => void;
  /** Whether the palette searches the service, or only the pages. */
  search: boolean;
  children: React.ReactNode;
};

/** The frame of both applications: header, navigation, banners, palette, shortcuts, help. */
export function Frame(p: FrameProps) {
  const { t } = useTranslation("shell");
  const [nav, { toggle, close }] = useDisclosure(false);
  const [help, helpActions] = useDisclosure(false);
  const [palette, setPalette] = useState(false);
  const openPalette = useCallback(() => setPalette(true), []);
  const [on, setOn] = useShortcutsOn();
  const path = useRouterState({ select: (s) => s.location.pathname });
  const shortcuts = useFrameShortcuts(p, openPalette, helpActions.open);
  useShortcuts(shortcuts, on);
  usePaletteKey(openPalette);
  usePreloadedTemplates();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the path changes
  useEffect(close, [path]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 210, breakpoint: "sm", collapsed: { mobile: !nav } }}
      padding="md"
    >
      <a href="#main" className="fl-skip">
        {t("skip")}
      </a>
      <AppShell.Header className="fl-header" data-simulated={p.simulated} data-readonly={p.readOnly}>
        <HeaderLine frame={p} nav={nav} toggleNav={toggle} onSearch={openPalette} onHelp={helpActions.open} />
      </AppShell.Header>
      <AppShell.Navbar
        p="xs"
        className="fl-nav"
        data-open={nav}
        aria-label={t("navigation")}
        onKeyDown={(e) => e.key === "Escape" && close()}
        onBlur={(e) => {
          const to = e.relatedTarget; // an open menu covers the page, so it closes when the focus leaves it
          if (to && !e.currentTarget.contains(to) && !to.hasAttribute("aria-expanded")) close();
        }}
      >
        <ScrollArea>
          <Navigation items={p.items} path={path} />
          <Group gap="xs" hiddenFrom="sm" p="sm">
            {p.badges}
            <Button variant="default" leftSection={<Icon name="search" />} onClick={openPalette}>
              {t("search")}
            </Button>
          </Group>
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="main">
        <SessionWarning />
        {p.banners}
        <Suspense fallback={<Loading />}>{p.children}</Suspense>
      </AppShell.Main>
      <Help opened={help} onClose={helpActions.close} shortcuts={shortcuts} on={on} setOn={setOn} />
      {palette ? (
        <Suspense fallback={null}>
          <Palette items={p.items} fabric={p.fabric} searches={p.search} go={p.go} onClose={() => setPalette(false)} />
        </Suspense>
      ) : null}
    </AppShell>
  );
}

type HeaderProps = {
  frame: FrameProps;
  nav: boolean;
  toggleNav: () => void;
  onSearch: () => void;
  onHelp: () => void;
};

function HeaderLine({ frame, nav, toggleNav, onSearch, onHelp }: HeaderProps) {
  const { t } = useTranslation("shell");
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
      <Group gap="sm" wrap="nowrap" style={{ minWidth: 0 }}>
        <Burger
          opened={nav}
          onClick={toggleNav}
          hiddenFrom="sm"
          size="sm"
          aria-label={t("navigation")}
          aria-expanded={nav}
        />
        <Text component={Link} to={frame.home} fw={700} c="inherit" td="none" visibleFrom="xs">
          Fairlane
        </Text>
        {frame.switcher}
      </Group>
      <Group gap="xs" wrap="nowrap">
        <Group gap="xs" wrap="nowrap" visibleFrom="sm">
          {frame.badges}
        </Group>
        <Button
          variant="default"
          leftSection={<Icon name="search" />}
          onClick={onSearch}
          aria-keyshortcuts="Control+K Meta+K"
          visibleFrom="sm"
        >
          {t("search")}
        </Button>
        <Preferences onHelp={onHelp} />
      </Group>
    </Group>
  );
}

function Navigation({ items, path }: { items: NavItem[]; path: string }) {
  return items.map((item, i) => (
    <div key={item.id}>
      {item.section && item.section !== items[i - 1]?.section ? (
        <Text size="xs" c="dimmed" px="sm" pt="sm" pb={4} className="fl-name">
          {item.section}
        </Text>
      ) : null}
      <NavLink
        renderRoot={(props) => <Link to={item.to} {...props} />}
        label={item.label}
        active={path === item.to || path.startsWith(`${item.to}/`)}
        aria-current={path === item.to ? "page" : undefined}
        variant="light"
      />
    </div>
  ));
}

function useFrameShortcuts(p: FrameProps, palette: () => void, help: () => void): Shortcut[] {
  const { t } = useTranslation("shell");
  const { items, go } = p;
  return useMemo(
    () => [
      ...items.flatMap((i) => (i.shortcut ? [{ keys: `g ${i.shortcut}`, label: i.label, run: () => go(i.to) }] : [])),
      {
        keys: "/",
        label: t("shortcut-filter"),
        run: () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
      },
      { keys: "?", label: t("help"), run: help },
      { keys: "s", label: t("palette"), run: palette },
    ],
    [items, go, t, palette, help],
  );
}
