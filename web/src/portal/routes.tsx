import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { page, routeDefaults, validateSearch } from "../shell/route";
import { Missing } from "../ui/states";
import { OfTenant, ToShare } from "./OfTenant";
import { PortalFrame } from "./PortalFrame";

const root = createRootRoute({ component: PortalFrame, notFoundComponent: Missing, validateSearch });

/** Pages of one tenant, below /portal/f/$fabric/t/$tenant. */
const ofTenant = {
  share: page(() => import("./pages/MyShare")),
  history: page(() => import("./pages/History")),
  endpoints: page(() => import("./pages/Endpoints")),
  classes: page(() => import("./pages/Classes")),
  notices: page(() => import("./pages/Notices")),
  members: page(() => import("./pages/Members")),
};

const tenant = createRoute({ getParentRoute: () => root, path: "/portal/f/$fabric/t/$tenant", component: OfTenant });

const tenantRoutes = [
  createRoute({ getParentRoute: () => tenant, path: "/", component: ToShare }),
  ...Object.entries(ofTenant).map(([path, component]) =>
    createRoute({ getParentRoute: () => tenant, path, component }),
  ),
];

const routes = [
  createRoute({ getParentRoute: () => root, path: "/portal", component: page(() => import("./pages/Welcome")) }),
  tenant.addChildren(tenantRoutes),
];

export const router = createRouter({ routeTree: root.addChildren(routes), ...routeDefaults });
