import { Drawer, Group, List, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { StateBadge } from "../../../ui/StateBadge";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useWrite } from "../../../ui/useWrite";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { To } from "../../parts/links";
import { EditUser } from "./EditUser";
import { type User, usePeopleChanged, useUser } from "./queries";
import { useGrantWord } from "./words";

/** One user: its sign-in, its roles with their sources, and buttons that change or delete it. */
export function UserDrawer({ user, allowed, onClose }: { user: string; allowed: boolean; onClose: () => void }) {
  const { t } = useTranslation("shell");
  const query = useUser(user);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={<bdi>{user}</bdi>}
      closeButtonProps={{ "aria-label": t("close") }}
    >
      <QueryView query={query}>
        {({ body, etag }) => <Detail user={body} etag={etag} allowed={allowed} onGone={onClose} />}
      </QueryView>
    </Drawer>
  );
}

type DetailProps = { user: User; etag: string; allowed: boolean; onGone: () => void };

function Detail({ user: u, etag, allowed, onGone }: DetailProps) {
  const { t } = useTranslation(["people", "common"]);
  const [dialog, setDialog] = useState<"edit" | "delete">();
  return (
    <Stack gap="md" data-user={u.name}>
      {u.display_name ? (
        <Text className="fl-name">
          <bdi>{u.display_name}</bdi>
        </Text>
      ) : null}
      <Group gap="sm">
        <UserState user={u} />
      </Group>
      <SignInFacts user={u} />
      <Memberships user={u} />
      <Group gap="sm">
        <ActionButton allowed={allowed} variant="default" onClick={() => setDialog("edit")}>
          {t("user-edit-open")}
        </ActionButton>
        <ActionButton allowed={allowed} variant="default" onClick={() => setDialog("delete")}>
          {t("user-delete-open")}
        </ActionButton>
      </Group>
      <Group gap="md">
        <To to="/console/audit" search={{ actor: u.name }}>
          {t("audit-by")}
        </To>
        <To to="/console/audit" search={{ action: "user.", object: u.name }}>
          {t("audit-about")}
        </To>
      </Group>
      {dialog === "edit" ? <EditUser user={u} etag={etag} onClose={() => setDialog(undefined)} /> : null}
      {dialog === "delete" ? (
        <DeleteUser user={u} etag={etag} onClose={() => setDialog(undefined)} onGone={onGone} />
      ) : null}
    </Stack>
  );
}

/** Whether a user can sign in. */
export function UserState({ user: u }: { user: User }) {
  const { t } = useTranslation("people");
  return u.disabled ? (
    <StateBadge tone="neutral" icon="lock">
      {t("state.disabled")}
    </StateBadge>
  ) : (
    <StateBadge tone="good">{t("state.active")}</StateBadge>
  );
}

function SignInFacts({ user: u }: { user: User }) {
  const { t } = useTranslation("people");
  const ways = [...(u.has_password ? [t("way.password")] : []), ...(u.external ? [t("way.oidc")] : [])];
  return (
    <div>
      <Text size="sm">{t("signs-in", { ways: ways.join(t("list-separator")) || t("way.none") })}</Text>
      <Text size="sm">
        {u.signed_in_at ? (
          <>
            {t("signed-in")} <When at={u.signed_in_at} />
          </>
        ) : (
          t("signed-in-never")
        )}
      </Text>
    </div>
  );
}

function Memberships({ user: u }: { user: User }) {
  const { t } = useTranslation("people");
  const word = useGrantWord();
  return (
    <div>
      <Title order={2}>{t("roles")}</Title>
      {u.memberships.length === 0 ? <Text size="sm">{t("roles-none")}</Text> : null}
      <List size="sm">
        {u.memberships.map((m) => (
          <List.Item key={`${m.source} ${m.role} ${m.fabric} ${m.tenant}`}>
            {word(m)} <span className="fl-missing">{t(`source.${m.source}`)}</span>
          </List.Item>
        ))}
      </List>
    </div>
  );
}

type DeleteProps = { user: User; etag: string; onClose: () => void; onGone: () => void };

function DeleteUser({ user: u, etag, onClose, onGone }: DeleteProps) {
  const { t } = useTranslation("people");
  const write = useWrite();
  const changed = usePeopleChanged();
  const remove = async () => {
    const params = { path: { user: u.name }, header: { "If-Match": etag } };
    if (!(await write.run(() => data(client.DELETE("/api/v1/users/{user}", { params }))))) return;
    onGone();
    await changed(u.name);
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("user-delete", { user: u.name })}
      type={u.name}
      effect={t("user-delete-do", { user: u.name })}
      danger
      busy={write.busy}
      problem={write.problem}
      onConfirm={() => void remove()}
    >
      <Text>{t("user-delete-why")}</Text>
    </TypedConfirm>
  );
}
