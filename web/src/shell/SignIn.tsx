import { Button, Divider, Modal, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../api/client";
import { keys } from "../api/keys";
import { signedIn, useSignInNeeded } from "../api/session";
import { ProblemNote } from "../ui/ProblemNote";
import { type Me, useSignInMethods } from "./me";

/**
 * Sign-in over the page, when the service refuses the session. The page below stays as it is, so that a form keeps its
 * content; a page that had no reader yet has nothing below.
 */
export function SignInOverlay() {
  const { t } = useTranslation("shell");
  const needed = useSignInNeeded();
  const queries = useQueryClient();
  const known = queries.getQueryData<Me>(keys.me());
  return (
    <Modal
      opened={needed}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={known ? t("sign-in-again") : undefined}
      attributes={known ? undefined : { content: { "aria-label": t("sign-in") } }}
      fullScreen={!known}
      centered
      transitionProps={{ duration: 0 }}
    >
      <SignInForm again={known?.name} />
    </Modal>
  );
}

/** Shows the application once somebody has signed in: before, it would only collect refusals. */
export function SignedInOnce({ children }: { children: React.ReactNode }) {
  const needed = useSignInNeeded();
  const [begun, setBegun] = useState(!needed);
  if (!needed && !begun) setBegun(true);
  return begun ? children : null;
}

function SignInForm({ again }: { again: string | undefined }) {
  const { t } = useTranslation("shell");
  const queries = useQueryClient();
  const methods = useSignInMethods();
  const [name, setName] = useState(again ?? "");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();

  async function submit() {
    setBusy(true);
    setProblem(undefined);
    try {
      const got = await data(client.POST("/api/v1/sign-in", { body: { name, password } }));
      if (again && got.name !== again) {
        window.location.reload(); // another person: nothing of the first one may stay in memory
        return;
      }
      setPassword("");
      signedIn();
      await queries.invalidateQueries();
    } catch (cause) {
      setProblem(cause);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Stack gap="md" maw={380} mx="auto" mt={again ? 0 : "12vh"}>
      {again ? (
        <Text>{t("sign-in-again-why")}</Text>
      ) : (
        <Title order={1}>{t("sign-in-to", { product: "Fairlane" })}</Title>
      )}
      {methods.data?.password === false ? null : (
        <form
          onSubmit={(e) => {
            e.preventDefault();
            void submit();
          }}
        >
          <Stack gap="sm">
            <TextInput
              label={t("user-name")}
              name="username"
              autoComplete="username"
              value={name}
              onChange={(e) => setName(e.currentTarget.value)}
              required
              data-autofocus={again ? undefined : true}
            />
            <PasswordInput
              label={t("password")}
              name="password"
              autoComplete="current-password"
              value={password}
              onChange={(e) => setPassword(e.currentTarget.value)}
              required
              data-autofocus={again ? true : undefined}
              visibilityToggleButtonProps={{ "aria-label": t("show-password"), tabIndex: 0 }}
            />
            {problem ? <ProblemNote problem={problem} /> : null}
            <Button type="submit" loading={busy}>
              {t("sign-in")}
            </Button>
          </Stack>
        </form>
      )}
      {methods.data?.oidc ? <OidcButton name={methods.data.oidc_name} divided={methods.data.password} /> : null}
    </Stack>
  );
}

function OidcButton({ name, divided }: { name: string | undefined; divided: boolean }) {
  const { t } = useTranslation("shell");
  const back = window.location.pathname + window.location.search;
  return (
    <>
      {divided ? <Divider label={t("or")} /> : null}
      <Button
        component="a"
        variant="default"
        href={`/api/v1/sign-in/oidc?return_to=${encodeURIComponent(back.length <= 500 ? back : window.location.pathname)}`}
      >
        {name ? t("sign-in-with", { name }) : t("sign-in-oidc")}
      </Button>
    </>
  );
}
