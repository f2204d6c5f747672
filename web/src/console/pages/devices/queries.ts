import { useQuery, useQueryClient } from "@tanstack/react-query";
import { all, answer, client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import type { Device } from "./model";

/** The latest reading of each device of the plan in force, as the service stored it. */
export function useDevices(fabric: string) {
  return useQuery({
    queryKey: keys.devices(fabric),
    queryFn: async () => {
      let plan = "";
      const items = await all<Device>(async (cursor) => {
        const page = await data(
          client.GET("/api/v1/fabrics/{fabric}/devices", {
            params: { path: { fabric }, query: { read: false, limit: 1000, cursor } },
          }),
        );
        plan = page.plan;
        return page;
      }, 50_000);
      return { plan, items };
    },
  });
}

/** Reads every device, when `refetch` is called. Events do not repeat it: each reading has its own time. */
export function useReadAll(fabric: string) {
  return useQuery({
    queryKey: keys.series("read-devices", fabric),
    queryFn: () =>
      data(client.GET("/api/v1/fabrics/{fabric}/devices", { params: { path: { fabric }, query: { read: true } } })),
    select: (l) => l.items,
    enabled: false,
    retry: false,
  });
}

/** A device with its stored reading, and the version of its policy as ETag. */
export function useDevice(fabric: string, device: string) {
  return useQuery({
    queryKey: keys.device(fabric, device),
    queryFn: () =>
      answer<Device>(client.GET("/api/v1/fabrics/{fabric}/devices/{device}", { params: { path: { fabric, device } } })),
  });
}

/** Reads a device now. Events of the device do not make the reading stale: it has its own time. */
export function useReadNow(fabric: string, device: string, enabled = false) {
  return useQuery({
    queryKey: keys.series("read-device", fabric, device),
    queryFn: () =>
      data<Device>(
        client.GET("/api/v1/fabrics/{fabric}/devices/{device}", {
          params: { path: { fabric, device }, query: { read: true } },
        }),
      ),
    enabled,
    retry: false,
    staleTime: 10_000,
  });
}

/** Marks everything that is known of devices. */
export function useDevicesChanged(fabric: string) {
  const cache = useQueryClient();
  return () => {
    for (const queryKey of [keys.devices(fabric), keys.device(fabric), keys.overview(fabric), keys.rollouts(fabric)])
      void cache.invalidateQueries({ queryKey });
  };
}
