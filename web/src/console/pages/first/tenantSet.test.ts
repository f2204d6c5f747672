import { expect, test } from "vitest";
import { readTenantSet } from "./tenantSet";

test("a declaration is an object with tenants, or their list", () => {
  const gold = { name: "gold", weight: 4 };
  expect(readTenantSet(JSON.stringify([gold]))).toEqual({ set: { tenants: [gold] } });
  expect(readTenantSet(JSON.stringify({ version: 1, tenants: [gold], flows: [] }))).toEqual({
    set: { tenants: [gold], flows: [] },
  });
});

test("what is no declaration is named", () => {
  expect(readTenantSet("tenants:\n  - {name: gold}")).toEqual({ wrong: "json" });
  expect(readTenantSet('{"tenant": []}')).toEqual({ wrong: "shape" });
});
