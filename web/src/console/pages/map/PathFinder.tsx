import { Button, Group as Row, Stack, Text, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useSay } from "../../../i18n/say";
import { asProblem } from "../../../ui/ProblemNote";
import { QueryView } from "../../../ui/states";
import { useDraft } from "../../../ui/useDraft";
import { DeviceField } from "./DeviceField";
import { Hops } from "./Hops";
import type { SetUrl, UrlState } from "./model";
import type { usePath } from "./queries";

/** The form of a path, and the route that the service traces for it. */
export function PathFinder({
  fabric,
  url,
  set,
  query,
}: {
  fabric: string;
  url: UrlState;
  set: SetUrl;
  query: ReturnType<typeof usePath>;
}) {
  const { t } = useTranslation("map");
  const say = useSay();
  const [src, setSrc] = useDraft(url.src);
  const [dst, setDst] = useDraft(url.dst);
  const [tenant, setTenant] = useDraft(url.tenant);
  const errors = query.error ? (asProblem(query.error).document?.errors ?? []) : [];
  const errorOf = (field: string) => {
    const e = errors.find((x) => x.pointer === field);
    return e ? say(e.said, e.detail) : undefined;
  };
  const marked = errors.some((e) => ["src", "dst", "tenant"].includes(e.pointer));
  const shown = url.src !== "" && url.dst !== "";
  return (
    <Stack gap="md">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          set({ src: src.trim(), dst: dst.trim(), tenant: tenant.trim() }, true);
        }}
      >
        <Row gap="sm" align="flex-start">
          <DeviceField
            fabric={fabric}
            label={t("path-src")}
            value={src}
            kinds={["host", "port"]}
            onChange={setSrc}
            onSubmit={setSrc}
            error={errorOf("src")}
          />
          <DeviceField
            fabric={fabric}
            label={t("path-dst")}
            value={dst}
            kinds={["host", "port"]}
            onChange={setDst}
            onSubmit={setDst}
            error={errorOf("dst")}
          />
          <TextInput
            label={t("path-tenant")}
            value={tenant}
            maxLength={63}
            onChange={(e) => setTenant(e.currentTarget.value)}
            error={errorOf("tenant")}
            w="12rem"
          />
          <Button type="submit" mt={25} disabled={src.trim() === "" || dst.trim() === ""}>
            {t("path-trace")}
          </Button>
          {shown ? (
            <Button variant="default" mt={25} onClick={() => set({ src: "", dst: "", tenant: "" }, true)}>
              {t("path-clear")}
            </Button>
          ) : null}
        </Row>
      </form>
      {shown ? (
        query.error && marked ? (
          <Text role="alert" size="sm">
            {t("path-invalid")}
          </Text>
        ) : (
          <QueryView query={query}>{(path) => <Hops fabric={fabric} path={path} />}</QueryView>
        )
      ) : (
        <Text size="sm" c="dimmed">
          {t("path-hint")}
        </Text>
      )}
    </Stack>
  );
}
