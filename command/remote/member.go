package remote

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/tenants"
)

func (c *cli) member() *cobra.Command {
	var role string
	list := c.verb("member", "list", "  fairlane member list --tenant red\n  fairlane member list --fabric lab", cobra.NoArgs, listed(c, c.pick, c.memberPage, c.memberTable))
	put := c.verb("member", "set USER", "  fairlane member set ada --tenant red --role tenant-viewer\n  fairlane member set ada --role operator", cobra.ExactArgs(1),
		c.onName(c.pick, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, user string) error {
			return c.memberSet(cmd, client, fabric, user, role)
		}))
	put.Flags().StringVar(&role, "role", "", c.t("flag.member-role"))
	del := c.verb("member", "delete USER", "  fairlane member delete ada --tenant red\n  fairlane member delete ada --fabric lab", cobra.ExactArgs(1), c.onName(c.pick, c.memberDelete))
	c.ofTenant(c.t("flag.member-tenant"), list, put, del)
	c.writes(put, del)
	c.destroys(del, "ask.member-delete")
	return c.noun("member", list, put, del)
}

func (c *cli) memberPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Member], error) {
	if c.tenantName == "" {
		list, err := found[gen.MemberList](c)(client.ListFabricMembersWithResponse(cmd.Context(), fabric, &gen.ListFabricMembersParams{Limit: pageSize(), Cursor: cursor}))
		return (*page[gen.Member])(list), err
	}
	list, err := found[gen.MemberList](c)(client.ListMembersWithResponse(cmd.Context(), fabric, c.tenantName, &gen.ListMembersParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Member])(list), err
}

func (c *cli) memberTable(list []gen.Member) *table {
	t := c.newTable("name", "display-name", "role", "source")
	for _, m := range list {
		t.add(m.User, cmdline.OrZero(m.DisplayName), m.Role, m.Source)
	}
	return t
}

// memberSet grants a role in the named tenant or, without one, on the fabric. A role on a fabric has no default.
func (c *cli) memberSet(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, user, role string) error {
	if c.tenantName == "" {
		if role == "" {
			return c.usage("err.need-flag", "flag", "role")
		}
		m, err := found[gen.Member](c)(client.PutFabricMemberWithResponse(cmd.Context(), fabric, user, &gen.PutFabricMemberParams{DryRun: given(c.dry)}, gen.FabricMemberPut{Role: gen.FabricRole(role)}))
		if err != nil {
			return err
		}
		c.kept(cmd, "msg.member-set-fabric", "user", user, "fabric", fabric, "role", m.Role)
		return shown(c, cmd, m, c.memberTable)
	}
	body := gen.MemberPut{Role: gen.TenantRole(cmp.Or(role, string(tenants.RoleTenantViewer)))}
	m, err := found[gen.Member](c)(client.PutMemberWithResponse(cmd.Context(), fabric, c.tenantName, user, &gen.PutMemberParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.member-set", "user", user, "tenant", c.tenantName, "role", m.Role)
	return shown(c, cmd, m, c.memberTable)
}

func (c *cli) memberDelete(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, user string) error {
	if c.tenantName == "" {
		if err := c.judge(client.DeleteFabricMemberWithResponse(cmd.Context(), fabric, user, &gen.DeleteFabricMemberParams{DryRun: given(c.dry)})); err != nil {
			return err
		}
		c.kept(cmd, "msg.member-deleted-fabric", "user", user, "fabric", fabric)
		return nil
	}
	if err := c.judge(client.DeleteMemberWithResponse(cmd.Context(), fabric, c.tenantName, user, &gen.DeleteMemberParams{DryRun: given(c.dry)})); err != nil {
		return err
	}
	c.kept(cmd, "msg.member-deleted", "user", user, "tenant", c.tenantName)
	return nil
}

func (c *cli) serviceAccount() *cobra.Command {
	var role, display string
	list := c.verb("service-account", "list", "  fairlane service-account list\n  fairlane service-account list --tenant red", cobra.NoArgs,
		listed(c, c.accountHome, c.accountPage, c.accountTable))
	create := c.verb("service-account", "create NAME", "  fairlane service-account create ci --role operator@lab\n  fairlane service-account create ci --tenant red --role tenant-admin", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error {
			body, err := c.accountRole(role)
			if err != nil {
				return err
			}
			body.Name, body.DisplayName = args[0], given(display)
			return c.accountCreate(cmd, body)
		})
	create.Flags().StringVar(&role, "role", "", c.t("flag.account-role"))
	create.Flags().StringVar(&display, "display-name", "", c.t("flag.display-name"))
	del := c.verb("service-account", "delete NAME", "  fairlane service-account delete ci", cobra.ExactArgs(1), c.onName(c.accountHome, c.accountDelete))
	c.ofTenant(c.t("flag.account-tenant"), list, create, del)
	c.writes(create, del)
	c.destroys(del, "ask.service-account-delete")
	return c.noun("service-account", list, create, del)
}

// accountRole parses --role of a service account: ROLE, or ROLE@* and ROLE@FABRIC without a tenant.
func (c *cli) accountRole(text string) (body gen.ServiceAccountCreate, err error) {
	role, _, placed := strings.Cut(text, "@")
	switch {
	case text == "":
		return body, c.usage("err.need-flag", "flag", "role")
	case !placed:
		return gen.ServiceAccountCreate{Role: gen.Role(role)}, nil
	case c.tenantName != "":
		return body, c.usage("err.account-role", "found", text)
	}
	g, err := tenants.ParseGrant(text)
	switch {
	case err != nil:
		return body, c.usage("err.role", "error", err)
	case g.Domain.Tenant != "":
		return body, c.usage("err.account-role", "found", text)
	}
	return gen.ServiceAccountCreate{Role: gen.Role(g.Role), Fabric: given(g.Domain.Fabric)}, nil
}

// accountPage lists the service accounts of the named tenant, or those without a tenant.
func (c *cli) accountPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.ServiceAccount], error) {
	return c.accountPageOf(cmd, client, fabric, c.tenantName, cursor)
}

func (c *cli) accountPageOf(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, tenant string, cursor *string) (*page[gen.ServiceAccount], error) {
	list := found[gen.ServiceAccountList](c)
	if tenant == "" {
		all, err := list(client.ListServiceAccountsWithResponse(cmd.Context(), &gen.ListServiceAccountsParams{Limit: pageSize(), Cursor: cursor}))
		return (*page[gen.ServiceAccount])(all), err
	}
	all, err := list(client.ListTenantServiceAccountsWithResponse(cmd.Context(), fabric, tenant, &gen.ListTenantServiceAccountsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.ServiceAccount])(all), err
}

// accountHome connects; it picks a fabric only if a tenant is named.
func (c *cli) accountHome(cmd *cobra.Command, _ ...string) (*apiclient.ClientWithResponses, string, error) {
	if c.tenantName != "" {
		return c.pick(cmd)
	}
	return c.anywhere(cmd)
}

func (c *cli) accountTable(list []gen.ServiceAccount) *table {
	t := c.newTable("name", "display-name", "role", "created")
	for _, a := range list {
		t.add(a.Name, a.DisplayName, accountRoleOf(&a), a.CreatedAt.Format(timeFormat))
	}
	return t
}

// accountRoleOf returns the role of a service account, with the fabric on which it is held, if any.
func accountRoleOf(a *gen.ServiceAccount) string {
	if a.Fabric == nil {
		return string(a.Role)
	}
	return string(a.Role) + "@" + *a.Fabric
}

func (c *cli) accountCreate(cmd *cobra.Command, body gen.ServiceAccountCreate) error {
	client, fabric, err := c.accountHome(cmd)
	if err != nil {
		return err
	}
	made, err := c.newAccount(cmd, client, fabric, c.tenantName, given(c.dry), body)
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.account-created", "name", made.Name)
	return shown(c, cmd, made, c.accountTable)
}

// newAccount creates a service account of a tenant, or one without a tenant.
func (c *cli) newAccount(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, tenant string, dry *bool, body gen.ServiceAccountCreate) (*gen.ServiceAccount, error) {
	if tenant == "" {
		return created[gen.ServiceAccount](c)(client.CreateServiceAccountWithResponse(cmd.Context(), &gen.CreateServiceAccountParams{DryRun: dry}, body))
	}
	return created[gen.ServiceAccount](c)(client.CreateTenantServiceAccountWithResponse(cmd.Context(), fabric, tenant, &gen.CreateTenantServiceAccountParams{DryRun: dry}, body))
}

func (c *cli) accountDelete(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	var err error
	if c.tenantName == "" {
		err = c.judge(client.DeleteServiceAccountWithResponse(cmd.Context(), name, &gen.DeleteServiceAccountParams{DryRun: given(c.dry)}))
	} else {
		err = c.judge(client.DeleteTenantServiceAccountWithResponse(cmd.Context(), fabric, c.tenantName, name, &gen.DeleteTenantServiceAccountParams{DryRun: given(c.dry)}))
	}
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.account-deleted", "name", name)
	return nil
}
