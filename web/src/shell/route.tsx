import { type AnyRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Loading, Missing } from "../ui/states";
import { parseSearch, stringifySearch } from "../ui/useUrlState";
import { Crashed } from "./CrashBoundary";

/** The search parameters of every page: texts by name (ui/useUrlState). */
type Search = Record<string, string>;

/** Accepts the parameters as they are: each page reads the ones that it knows. */
export const validateSearch = (search: Record<string, unknown>): Search =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );

/** A page in a chunk of its own. */
export const page = (load: () => Promise<{ default: React.ComponentType }>) =>
  lazyRouteComponent(load as () => Promise<{ default: React.ComponentType<Record<string, unknown>> }>);

/** How both applications write search parameters, and what they show for a page that loads, fails or does not exist. */
export const routeDefaults = {
  parseSearch,
  stringifySearch,
  defaultNotFoundComponent: Missing,
  defaultPendingComponent: () => <Loading />,
  defaultPendingMs: 200,
  defaultErrorComponent: ({ error }: { error: unknown }) => <Crashed cause={error} />,
  defaultPreload: "intent" as const,
  scrollRestoration: true,
};

/** Goes to an address of this application, or loads one of the other. */
export function goWith(router: AnyRouter, basepath: string) {
  return (to: string) => {
    if (to.startsWith(basepath)) void router.navigate({ href: to } as never);
    else window.location.assign(to);
  };
}
