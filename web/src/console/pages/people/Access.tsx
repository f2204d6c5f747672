import { List, Stack, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useSignInMethods } from "../../../shell/me";
import { QueryView } from "../../../ui/states";
import { Part } from "../../parts/Part";
import { useRoles } from "./queries";

/** What each role may do, and how people sign in. */
export function Access() {
  const { t } = useTranslation("people");
  const roles = useRoles();
  return (
    <Stack gap="lg">
      <Part title={t("roles-explained")}>
        <QueryView query={roles}>{({ items }) => <Rights roles={items} />}</QueryView>
      </Part>
      <SignInMethods />
    </Stack>
  );
}

/** Objects by role: a cell says in words what the role may do with the object. */
function Rights({ roles }: { roles: Schemas["RoleInfo"][] }) {
  const { t } = useTranslation(["people", "common"]);
  const about = new Map(roles.flatMap((r) => r.rights.map((x) => [x.object, x.about] as const)));
  const actions = (role: Schemas["RoleInfo"], object: string) =>
    role.rights.find((x) => x.object === object)?.actions ?? [];
  return (
    <Stack gap="sm">
      <List size="sm">
        {roles.map((r) => (
          <List.Item key={r.role}>
            {t("role-line", {
              role: t(`words:role.${r.role}`, { defaultValue: r.role }),
              about: t(`role-about.${r.role}`, { defaultValue: "" }),
            })}
          </List.Item>
        ))}
      </List>
      <section
        className="fl-table-box"
        aria-label={t("rights")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll only a box that has the focus
        tabIndex={0}
      >
        <table aria-label={t("rights")}>
          <thead>
            <tr>
              <th scope="col">{t("object")}</th>
              {roles.map((r) => (
                <th scope="col" key={r.role}>
                  {t(`words:role.${r.role}`, { defaultValue: r.role })}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {[...about].map(([object, english]) => (
              <tr key={object}>
                <th scope="row">{t(`words:object.${object}`, { defaultValue: english })}</th>
                {roles.map((r) => (
                  <td key={r.role}>
                    {actions(r, object)
                      .map((a) => t(`words:action.${a}`))
                      .join(t("list-separator")) || <span className="fl-missing">{t("right-none")}</span>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <Text size="sm" c="dimmed">
        {t("rights-note")}
      </Text>
    </Stack>
  );
}

function SignInMethods() {
  const { t } = useTranslation(["people", "common"]);
  const methods = useSignInMethods();
  return (
    <Part title={t("sign-in-methods")}>
      <QueryView query={methods} lines={2}>
        {(m) => (
          <Stack gap="xs">
            <Table w="auto">
              <Table.Tbody>
                <Table.Tr>
                  <Table.Th scope="row">{t("way.password")}</Table.Th>
                  <Table.Td>{t(m.password ? "method-on" : "method-off")}</Table.Td>
                </Table.Tr>
                <Table.Tr>
                  <Table.Th scope="row">{t("way.oidc")}</Table.Th>
                  <Table.Td>
                    {m.oidc ? t("method-on-name", { name: m.oidc_name ?? t("way.oidc") }) : t("method-off")}
                  </Table.Td>
                </Table.Tr>
              </Table.Tbody>
            </Table>
            <Text size="sm" c="dimmed">
              {t("methods-where")}
            </Text>
          </Stack>
        )}
      </QueryView>
    </Part>
  );
}
