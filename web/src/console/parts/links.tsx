import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";

type ToProps = {
  /** Path of the route, such as "/console/f/$fabric/plans/$plan". */
  to: string;
  params?: Record<string, string>;
  search?: Record<string, string>;
  title?: string;
  children: React.ReactNode;
};

/** A link to a page of the console. Names may be long or written from right to left. */
export function To({ to, params, search, title, children }: ToProps) {
  return (
    <Anchor
      inherit
      underline="always"
      className="fl-name"
      title={title}
      renderRoot={(props) => <Link to={to} params={params as never} search={search as never} {...props} />}
    >
      {children}
    </Anchor>
  );
}

type Named = {
  name: string;
  /** The fabric of the object; that of the page by default. */
  fabric?: string;
};

/** A tenant, as a link to its page. */
export function TenantName({ name, fabric }: Named) {
  const here = useFabricName();
  return (
    <To to="/console/f/$fabric/tenants/$tenant" params={{ fabric: fabric ?? here, tenant: name }}>
      {name}
    </To>
  );
}

/** `word(name)`: the name of a device as pages show it. What stands for the placements has words instead of a name. */
export function useDeviceWord(): (name: string) => string {
  const { t } = useTranslation("common");
  return useCallback((name) => (name === "subnet-manager" ? t("kind.subnet-manager") : name), [t]);
}

/** A device by its name or id, as a link to its page. */
export function DeviceName({ name, fabric, id }: Named & { id?: string }) {
  const here = useFabricName();
  const word = useDeviceWord();
  return (
    <To to="/console/f/$fabric/devices/$device" params={{ fabric: fabric ?? here, device: id ?? name }}>
      {word(name)}
    </To>
  );
}

/** A direction of a link, as a link to the map with it selected. */
export function LinkName({ name, fabric }: Named) {
  const here = useFabricName();
  return (
    <To to="/console/f/$fabric/map" params={{ fabric: fabric ?? here }} search={{ link: name }}>
      {name}
    </To>
  );
}

/** The first characters of a plan's name: enough to distinguish the plans of a fabric. */
export const shortPlan = (name: string) => name.slice(0, 12);

/** A plan by the first characters of its hash, the whole of it as title, as a link to its page. */
export function PlanName({ name, fabric }: Named) {
  const here = useFabricName();
  return (
    <To to="/console/f/$fabric/plans/$plan" params={{ fabric: fabric ?? here, plan: name }} title={name}>
      <code>{shortPlan(name)}</code>
    </To>
  );
}

/** A rollout by its number, as a link to its page. */
export function RolloutName({ id, fabric }: { id: number; fabric?: string }) {
  const { t } = useTranslation("parts");
  const here = useFabricName();
  return (
    <To to="/console/f/$fabric/rollouts/$rollout" params={{ fabric: fabric ?? here, rollout: String(id) }}>
      {t("rollout", { id })}
    </To>
  );
}

/** A revision of the policy, as a link to it. */
export function RevisionName({ revision, fabric }: { revision: number; fabric?: string }) {
  const { t } = useTranslation("parts");
  const here = useFabricName();
  return (
    <To to="/console/f/$fabric/policies" params={{ fabric: fabric ?? here }} search={{ revision: String(revision) }}>
      {t("revision", { revision })}
    </To>
  );
}

/** A list of names: the first ones, then how many more there are. */
export function Names({
  names,
  count = names.length,
  of: One,
  most = 8,
}: {
  names: string[];
  /** Number of all names, where `names` are the first ones. */
  count?: number;
  of?: React.ComponentType<{ name: string }>;
  most?: number;
}) {
  const { t } = useTranslation("parts");
  const shown = names.slice(0, most);
  const comma = t("list-separator");
  return (
    <span>
      {shown.map((name, i) => (
        <span key={name}>
          {i > 0 ? comma : null}
          {One ? <One name={name} /> : <span className="fl-name">{name}</span>}
        </span>
      ))}
      {count > shown.length ? t("and-more", { n: count - shown.length }) : null}
    </span>
  );
}
