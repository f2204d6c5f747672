import type { Schemas } from "../../../api/client";
import { bpsOf, namePattern, weightOf } from "./amounts";
import { expandPorts } from "./ports";

/** The texts of the dialog that adds a tenant. */
export type TenantForm = {
  name: string;
  weight: string;
  ports: string[];
  to: string[];
  guarantee: string;
  cap: string;
  pkey: string;
  /** Whether the traffic of the preview is declared as flows. */
  traffic: boolean;
};

export const emptyForm: TenantForm = {
  name: "",
  weight: "1",
  ports: [],
  to: [],
  guarantee: "",
  cap: "",
  pkey: "",
  traffic: true,
};

/** Fields of the form that have texts of errors. */
export type Field = "name" | "weight" | "ports" | "to" | "guarantee" | "cap" | "pkey";

/** What is wrong by field, as keys of the catalogue. */
export function mistakes(f: TenantForm): Partial<Record<Field, string>> {
  const out: Partial<Record<Field, string>> = {};
  const [guarantee, cap] = [bpsOf(f.guarantee), bpsOf(f.cap)];
  if (!namePattern.test(f.name.trim())) out.name = "wrong-name";
  if (weightOf(f.weight) === undefined) out.weight = "wrong-weight";
  if (guarantee === undefined) out.guarantee = "wrong-rate";
  if (cap === undefined) out.cap = "wrong-rate";
  else if (cap > 0 && guarantee !== undefined && cap < guarantee) out.cap = "wrong-cap";
  if (f.pkey.trim() !== "" && !/^0x[0-9a-f]{1,4}$/i.test(f.pkey.trim())) out.pkey = "wrong-pkey";
  const ports = expandPorts(f.ports);
  if (ports && ports.length === 0) out.ports = "wrong-no-ports";
  else if (ports?.length === 1 && f.to.length === 0) out.to = "wrong-alone";
  return out;
}

/** The question whether the tenant can be admitted. */
export function admissionOf(f: TenantForm): Schemas["AdmissionRequest"] {
  const to = expandPorts(f.to) ?? [];
  return {
    tenant: f.name.trim(),
    weight: weightOf(f.weight),
    guarantee_bps: bpsOf(f.guarantee),
    cap_bps: bpsOf(f.cap),
    ports: expandPorts(f.ports),
    ...(to.length > 0 ? { to } : {}),
  };
}

/** The tenant to create: it is attached to the ports that it sends from and to those that it sends to. */
export function creationOf(f: TenantForm): Schemas["TenantCreate"] {
  const ports = [...new Set([...(expandPorts(f.ports) ?? []), ...(expandPorts(f.to) ?? [])])];
  return {
    name: f.name.trim(),
    weight: weightOf(f.weight) ?? 1,
    guarantee_bps: bpsOf(f.guarantee),
    cap_bps: bpsOf(f.cap),
    ...(f.pkey.trim() ? { pkey: f.pkey.trim() } : {}),
    attachments: ports.map((port) => ({ port })),
  };
}

/** The field that a JSON pointer of the service names. */
export function fieldOf(pointer: string): Field | undefined {
  const first = pointer.split("/")[1] ?? "";
  const fields: Record<string, Field> = {
    name: "name",
    tenant: "name",
    weight: "weight",
    ports: "ports",
    attachments: "ports",
    to: "to",
    guarantee_bps: "guarantee",
    cap_bps: "cap",
    pkey: "pkey",
  };
  return fields[first];
}
