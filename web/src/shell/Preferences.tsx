import { ActionIcon, Menu, Modal, useMantineColorScheme } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data } from "../api/client";
import { signedOut } from "../api/session";
import { languages, setLanguage, useLanguage } from "../i18n";
import { Icon } from "../ui/icons";
import { asProblem, ProblemNote } from "../ui/ProblemNote";
import { useMe } from "./me";

const names = { en: "English", zh: "中文" } as const;

/** Language, theme, shortcuts and sign-out, at the same place on each page. */
export function Preferences({ onHelp }: { onHelp: () => void }) {
  const { t } = useTranslation("shell");
  const language = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { data: me } = useMe();
  const queries = useQueryClient();
  const leave = () => {
    queries.clear();
    signedOut();
    window.location.assign("/portal/");
  };
  const out = useMutation({
    mutationFn: () => data(client.POST("/api/v1/sign-out")),
    onSuccess: leave,
    onError: (cause) => {
      if (asProblem(cause).status === 401) leave(); // the session had ended before
    },
  });
  return (
    <>
      <ActionIcon variant="default" size="lg" onClick={onHelp} aria-label={t("help")} title={t("help")}>
        <Icon name="help" />
      </ActionIcon>
      <Menu position="bottom-end" width={230}>
        <Menu.Target>
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={t("account", { name: me?.name ?? "" })}
            title={t("account", { name: me?.name ?? "" })}
          >
            <Icon name="person" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {me ? <Menu.Label className="fl-name">{me.display_name || me.name}</Menu.Label> : null}
          <Menu.Label>{t("language")}</Menu.Label>
          {languages.map((l) => (
            <Menu.Item
              key={l}
              lang={l === "zh" ? "zh-CN" : l}
              onClick={() => void setLanguage(l)}
              rightSection={l === language ? <Icon name="check" /> : null}
              aria-current={l === language}
            >
              {names[l]}
            </Menu.Item>
          ))}
          <Menu.Label>{t("theme")}</Menu.Label>
          {(["light", "dark", "auto"] as const).map((s) => (
            <Menu.Item
              key={s}
              onClick={() => setColorScheme(s)}
              rightSection={s === colorScheme ? <Icon name="check" /> : null}
              aria-current={s === colorScheme}
            >
              {t(`theme-${s}`)}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item onClick={() => out.mutate()}>{t("sign-out")}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={out.isError}
        onClose={out.reset}
        title={t("sign-out")}
        closeButtonProps={{ "aria-label": t("close") }}
      >
        <ProblemNote problem={out.error} onRetry={() => out.mutate()} />
      </Modal>
    </>
  );
}
