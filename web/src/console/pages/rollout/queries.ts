import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useOperationKey } from "../../../ui/useOperationKey";
import type { Event, Rollout } from "./model";

/** A rollout with its devices. The stream's events make it stale. */
export function useRollout(fabric: string, id: number) {
  return useQuery({
    queryKey: keys.rollout(fabric, id),
    queryFn: () =>
      data<Rollout>(
        client.GET("/api/v1/fabrics/{fabric}/rollouts/{rollout}", { params: { path: { fabric, rollout: id } } }),
      ),
  });
}

type ReadEvents = { events: Event[]; cursor?: string };

/** The events of a rollout, oldest first. Events never change, so each read continues after the newest event of the one before. */
export function useRolloutEvents(fabric: string, id: number) {
  const cache = useQueryClient();
  const queryKey = keys.rollout(fabric, id, "events");
  return useQuery({
    queryKey,
    queryFn: async (): Promise<ReadEvents> => {
      let { events, cursor } = cache.getQueryData<ReadEvents>(queryKey) ?? { events: [] };
      for (;;) {
        const page = await data(
          client.GET("/api/v1/fabrics/{fabric}/rollouts/{rollout}/events", {
            params: { path: { fabric, rollout: id }, query: { limit: 1000, cursor } },
          }),
        );
        if (page.items.length > 0) events = [...events, ...page.items];
        cursor = page.last_cursor || undefined;
        if (!page.next_cursor) return { events, cursor };
      }
    },
    select: (read) => read.events,
  });
}

/** The last 1000 rollouts, newest first, without their devices. */
export function useRollouts(fabric: string) {
  return useQuery({
    queryKey: keys.rollouts(fabric),
    queryFn: () =>
      data(client.GET("/api/v1/fabrics/{fabric}/rollouts", { params: { path: { fabric }, query: { limit: 1000 } } })),
    select: (l) => l.items,
  });
}

/** Marks what a request to a rollout changes. */
function useRolloutChanged(fabric: string) {
  const cache = useQueryClient();
  return (id: number) => {
    for (const queryKey of [keys.rollouts(fabric), keys.rollout(fabric, id), keys.overview(fabric)])
      void cache.invalidateQueries({ queryKey });
  };
}

/** After a rollout was started: marks what it changes, and opens its page. */
export function useOpenRollout(fabric: string) {
  const navigate = useNavigate();
  const changed = useRolloutChanged(fabric);
  return ({ id }: Pick<Rollout, "id">) => {
    changed(id);
    void navigate({
      to: "/console/f/$fabric/rollouts/$rollout",
      params: { fabric, rollout: String(id) } as never,
    });
  };
}

type Request = "pause" | "resume" | "cancel" | "confirm";

/** Sends a request without a body to a rollout. */
export function useRequest(fabric: string, ro: Pick<Rollout, "id" | "revision">, request: Request) {
  const changed = useRolloutChanged(fabric);
  const key = useOperationKey([fabric, ro.id, ro.revision, request]);
  return useMutation({
    mutationFn: () =>
      data<Rollout>(
        client.POST(`/api/v1/fabrics/{fabric}/rollouts/{rollout}/${request}`, {
          params: { path: { fabric, rollout: ro.id }, header: { "Idempotency-Key": key } },
        }) as Promise<{ data?: Rollout; error?: unknown; response: Response }>,
      ),
    onSettled: () => changed(ro.id),
  });
}

type Back = Schemas["RolloutBack"];

/** Waves that a roll-back would have. Nothing is started. */
export function useBackPreview(fabric: string, ro: Pick<Rollout, "id" | "revision">, body: Back, enabled: boolean) {
  return useQuery({
    queryKey: keys.rollout(fabric, ro.id, "roll-back", ro.revision, body),
    queryFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/rollouts/{rollout}/roll-back", {
          params: { path: { fabric, rollout: ro.id }, query: { dry_run: true } },
          body,
        }),
      ) as Promise<Schemas["RolloutPreview"]>,
    enabled,
    retry: false,
  });
}

/** Rolls back: the answer is the rollout itself, or the new one that restores an earlier state. */
export function useBack(fabric: string, ro: Pick<Rollout, "id" | "revision">, body: Back) {
  const changed = useRolloutChanged(fabric);
  const key = useOperationKey([fabric, ro.id, ro.revision, body]);
  return useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/rollouts/{rollout}/roll-back", {
          params: { path: { fabric, rollout: ro.id }, header: { "Idempotency-Key": key } },
          body,
        }),
      ) as Promise<Rollout>,
    onSettled: () => changed(ro.id),
  });
}
