import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Empty } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { stringifySearch } from "../../../ui/useUrlState";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import type { User } from "./queries";
import { UserState } from "./UserDrawer";
import { useGrantWord } from "./words";

type Props = {
  users: User[];
  allowed: boolean;
  filter: string;
  onFilter: (filter: string) => void;
  onAdd: () => void;
};

/** All accounts of people. */
export function Users({ users, allowed, filter, onFilter, onAdd }: Props) {
  const { t } = useTranslation(["people", "common"]);
  const columns = useUserColumns();
  return (
    <DataTable
      caption={t("users")}
      rows={users}
      columns={columns}
      rowId={(u) => u.name}
      href={(u) => `/console/people${stringifySearch({ filter, user: u.name })}`}
      filter={filter}
      onFilter={onFilter}
      filterLabel={t("users-filter")}
      csvName="fairlane-users"
      count={(shown, total) => t("users-count", { shown, total })}
      actions={
        <ActionButton allowed={allowed} onClick={onAdd} size="xs">
          {t("user-add")}
        </ActionButton>
      }
      empty={<Empty title={t("users-none")} why={t("users-none-why")} />}
    />
  );
}

function useUserColumns(): Column<User>[] {
  const { t } = useTranslation(["people", "common"]);
  const word = useGrantWord();
  return useMemo<Column<User>[]>(
    () => [
      { id: "name", header: t("common:name"), value: (u) => u.name, width: 9 },
      {
        id: "display",
        header: t("display-name"),
        value: (u) => u.display_name || undefined,
        cell: (u) => <bdi>{u.display_name}</bdi>,
        missing: "",
        width: 10,
      },
      {
        id: "roles",
        header: t("roles"),
        value: (u) => u.memberships.map(word).join(t("list-separator")) || undefined,
        missing: t("common:none"),
        width: 14,
      },
      {
        id: "way",
        minor: true,
        header: t("sign-in"),
        value: (u) =>
          [u.has_password ? t("way.password") : "", u.external ? t("way.oidc") : ""]
            .filter(Boolean)
            .join(t("list-separator")) || t("way.none"),
      },
      {
        id: "state",
        header: t("common:state"),
        value: (u) => t(u.disabled ? "state.disabled" : "state.active"),
        cell: (u) => <UserState user={u} />,
      },
      {
        id: "signed-in",
        header: t("signed-in-at"),
        value: (u) => u.signed_in_at,
        cell: (u) => (u.signed_in_at ? <When at={u.signed_in_at} /> : t("common:never")),
        missing: t("common:never"),
      },
    ],
    [t, word],
  );
}
