import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { page, routeDefaults, validateSearch } from "../shell/route";
import { Missing } from "../ui/states";
import { ConsoleFrame } from "./ConsoleFrame";

const root = createRootRoute({ component: ConsoleFrame, notFoundComponent: Missing, validateSearch });

/** Pages of one fabric, below /console/f/$fabric. */
const ofFabric = {
  overview: page(() => import("./pages/Overview")),
  map: page(() => import("./pages/FabricMap")),
  tenants: page(() => import("./pages/Tenants")),
  "tenants/$tenant": page(() => import("./pages/Tenant")),
  policies: page(() => import("./pages/Policies")),
  plans: page(() => import("./pages/Plans")),
  "plans/$plan": page(() => import("./pages/Plan")),
  rollouts: page(() => import("./pages/Rollouts")),
  "rollouts/$rollout": page(() => import("./pages/Rollout")),
  devices: page(() => import("./pages/Devices")),
  "devices/$device": page(() => import("./pages/Device")),
  "what-if": page(() => import("./pages/WhatIf")),
  alerts: page(() => import("./pages/Alerts")),
};

/** Pages of the whole service, below /console. */
const ofService = {
  "": page(() => import("./pages/Start")),
  audit: page(() => import("./pages/Audit")),
  people: page(() => import("./pages/People")),
  settings: page(() => import("./pages/Settings")),
};

const routes = [
  ...Object.entries(ofFabric).map(([path, component]) =>
    createRoute({ getParentRoute: () => root, path: `/console/f/$fabric/${path}`, component }),
  ),
  ...Object.entries(ofService).map(([path, component]) =>
    createRoute({ getParentRoute: () => root, path: `/console/${path}`, component }),
  ),
];

export const router = createRouter({ routeTree: root.addChildren(routes), ...routeDefaults });
