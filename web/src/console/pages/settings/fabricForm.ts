import { useQuery } from "@tanstack/react-query";
import { answer, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";

export type Fabric = Schemas["Fabric"];

/** The texts of the form of a fabric. An empty plane leaves the choice to the service. */
export type FabricForm = { name: string; plane: string; source: string; time_scale: string };

export const emptyFabric: FabricForm = { name: "", plane: "", source: "", time_scale: "1" };

/** Sources by plane, with an example of each. */
const sources: { scheme: string; plane: "ib" | "ethernet" | "any"; example: string }[] = [
  { scheme: "umad", plane: "ib", example: "umad:mlx5_0:1" },
  { scheme: "ibsim", plane: "ib", example: "ibsim:unix:lab" },
  { scheme: "ibsim-udp", plane: "ib", example: "ibsim:udp:127.0.0.1:7070" },
  { scheme: "ethernet", plane: "ethernet", example: "ethernet:/etc/fairlane/inventory.yaml" },
  { scheme: "file", plane: "any", example: "file:/etc/fairlane/fabric.yaml" },
];

/** The sources that fit a plane; all of them while none is chosen. */
export const sourcesOf = (plane: string) =>
  sources.filter((s) => plane === "" || s.plane === "any" || s.plane === (plane === "ib" ? "ib" : "ethernet"));

/** Seconds of the fabric's own time per second; undefined for what is no positive number. */
export function timeScaleOf(text: string): number | undefined {
  const n = Number(text.trim().replace(",", "."));
  return text.trim() !== "" && Number.isFinite(n) && n > 0 ? n : undefined;
}

/** Declares the fabric; nothing is sent there yet. */
export const createFabric = (form: FabricForm, key: string) =>
  answer<Fabric>(
    client.POST("/api/v1/fabrics", {
      params: { header: { "Idempotency-Key": key } },
      body: {
        name: form.name.trim(),
        source: form.source.trim(),
        time_scale: timeScaleOf(form.time_scale),
        ...(form.plane ? { plane: form.plane as Schemas["Plane"] } : {}),
      },
    }),
  );

/** Replaces the source of a fabric that was read with an ETag. */
export const updateFabric = (name: string, etag: string, body: Schemas["FabricUpdate"]) =>
  answer<Fabric>(
    client.PUT("/api/v1/fabrics/{fabric}", {
      params: { path: { fabric: name }, header: { "If-Match": etag } },
      body,
    }),
  );

export const readFabric = (fabric: string) =>
  answer<Fabric>(client.GET("/api/v1/fabrics/{fabric}", { params: { path: { fabric } } }));

/** A fabric as it is stored now, with the ETag for a change. */
export const useFabricVersion = (fabric: string) =>
  useQuery({ queryKey: keys.fabric(fabric, "version"), queryFn: () => readFabric(fabric), gcTime: 0 });

/** Reads the fabric's nodes, ports and links from the fabric itself. */
export const discover = (fabric: string, key: string) =>
  data<Schemas["Snapshot"]>(
    client.POST("/api/v1/fabrics/{fabric}/discover", {
      params: { path: { fabric }, header: { "Idempotency-Key": key } },
    }),
  );
