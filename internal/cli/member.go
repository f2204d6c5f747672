package cli

import (
	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

func (c *cli) member() *cobra.Command {
	var tenant, role string
	list := c.verb("member", "list", "  fairlane member list --tenant red", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.memberList(cmd, tenant) })
	put := c.verb("member", "set USER", "  fairlane member set ada --tenant red --role tenant-viewer", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.memberSet(cmd, tenant, args[0], role) })
	put.Flags().StringVar(&role, "role", "tenant-viewer", c.t("flag.tenant-role"))
	del := c.verb("member", "delete USER", "  fairlane member delete ada --tenant red", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.memberDelete(cmd, tenant, args[0]) })
	for _, cmd := range []*cobra.Command{list, put, del} {
		cmd.Flags().StringVar(&tenant, "tenant", "", c.t("flag.tenant"))
	}
	c.writes(put, del)
	return c.noun("member", list, put, del)
}

// inTenant connects and checks that a tenant was named.
func (c *cli) inTenant(cmd *cobra.Command, tenant string) (*gen.ClientWithResponses, string, error) {
	if tenant == "" {
		return nil, "", c.usage("err.need-flag", "flag", "tenant")
	}
	return c.pick(cmd)
}

func (c *cli) memberList(cmd *cobra.Command, tenant string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) ([]gen.Member, *string, error) {
		r, err := client.ListMembersWithResponse(cmd.Context(), fabric, tenant, &gen.ListMembersParams{Limit: pageSize(), Cursor: cursor})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return nil, nil, err
		}
		return r.JSON200.Items, r.JSON200.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table { return c.memberTable(all) })
}

func (c *cli) memberTable(list []gen.Member) *table {
	t := c.newTable("name", "display-name", "role", "source")
	for _, m := range list {
		t.add(m.User, orZero(m.DisplayName), m.Role, m.Source)
	}
	return t
}

func (c *cli) memberSet(cmd *cobra.Command, tenant, user, role string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	r, err := client.PutMemberWithResponse(cmd.Context(), fabric, tenant, user, &gen.PutMemberParams{DryRun: set(c.dry)}, gen.MemberPut{Role: gen.TenantRole(role)})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	c.kept(cmd, "msg.member-set", "user", user, "tenant", tenant, "role", r.JSON200.Role)
	return c.print(cmd, r.JSON200, func() *table { return c.memberTable([]gen.Member{*r.JSON200}) })
}

func (c *cli) memberDelete(cmd *cobra.Command, tenant, user string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	r, err := client.DeleteMemberWithResponse(cmd.Context(), fabric, tenant, user, &gen.DeleteMemberParams{DryRun: set(c.dry)})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	c.kept(cmd, "msg.member-deleted", "user", user, "tenant", tenant)
	return nil
}

func (c *cli) serviceAccount() *cobra.Command {
	var tenant, role, display string
	list := c.verb("service-account", "list", "  fairlane service-account list\n  fairlane service-account list --tenant red", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.accountList(cmd, tenant) })
	create := c.verb("service-account", "create NAME", "  fairlane service-account create ci --role operator\n  fairlane service-account create ci --tenant red --role tenant-admin", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error {
			if role == "" {
				return c.usage("err.need-flag", "flag", "role")
			}
			return c.accountCreate(cmd, tenant, gen.ServiceAccountCreate{Name: args[0], DisplayName: set(display), Role: gen.Role(role)})
		})
	create.Flags().StringVar(&role, "role", "", c.t("flag.account-role"))
	create.Flags().StringVar(&display, "display-name", "", c.t("flag.display-name"))
	del := c.verb("service-account", "delete NAME", "  fairlane service-account delete ci", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.accountDelete(cmd, tenant, args[0]) })
	for _, cmd := range []*cobra.Command{list, create, del} {
		cmd.Flags().StringVar(&tenant, "tenant", "", c.t("flag.account-tenant"))
	}
	c.writes(create, del)
	return c.noun("service-account", list, create, del)
}

func (c *cli) accountList(cmd *cobra.Command, tenant string) error {
	client, fabric, err := c.accountHome(cmd, tenant)
	if err != nil {
		return err
	}
	all, err := c.accounts(cmd, client, fabric, tenant)
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table { return c.accountTable(all) })
}

// accounts lists the service accounts of a tenant, or those that act on everything.
func (c *cli) accounts(cmd *cobra.Command, client *gen.ClientWithResponses, fabric, tenant string) ([]gen.ServiceAccount, error) {
	return pages(func(cursor *string) ([]gen.ServiceAccount, *string, error) {
		if tenant != "" {
			r, err := client.ListTenantServiceAccountsWithResponse(cmd.Context(), fabric, tenant, &gen.ListTenantServiceAccountsParams{Limit: pageSize(), Cursor: cursor})
			if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
				return nil, nil, err
			}
			return r.JSON200.Items, r.JSON200.NextCursor, nil
		}
		r, err := client.ListServiceAccountsWithResponse(cmd.Context(), &gen.ListServiceAccountsParams{Limit: pageSize(), Cursor: cursor})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return nil, nil, err
		}
		return r.JSON200.Items, r.JSON200.NextCursor, nil
	})
}

// accountHome connects; a fabric is picked only when a tenant is meant.
func (c *cli) accountHome(cmd *cobra.Command, tenant string) (*gen.ClientWithResponses, string, error) {
	if tenant != "" {
		return c.pick(cmd)
	}
	client, err := c.client()
	return client, "", err
}

func (c *cli) accountTable(list []gen.ServiceAccount) *table {
	t := c.newTable("name", "display-name", "role", "created")
	for _, a := range list {
		t.add(a.Name, a.DisplayName, a.Role, a.CreatedAt.Format(timeFormat))
	}
	return t
}

func (c *cli) accountCreate(cmd *cobra.Command, tenant string, body gen.ServiceAccountCreate) error {
	client, fabric, err := c.accountHome(cmd, tenant)
	if err != nil {
		return err
	}
	var made *gen.ServiceAccount
	if tenant != "" {
		r, err := client.CreateTenantServiceAccountWithResponse(cmd.Context(), fabric, tenant, &gen.CreateTenantServiceAccountParams{DryRun: given(c.dry)}, body)
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return err
		}
		made = r.JSON201
	} else {
		r, err := client.CreateServiceAccountWithResponse(cmd.Context(), &gen.CreateServiceAccountParams{DryRun: given(c.dry)}, body)
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return err
		}
		made = r.JSON201
	}
	c.kept(cmd, "msg.account-created", "name", made.Name)
	return c.print(cmd, made, func() *table { return c.accountTable([]gen.ServiceAccount{*made}) })
}

func (c *cli) accountDelete(cmd *cobra.Command, tenant, name string) error {
	client, fabric, err := c.accountHome(cmd, tenant)
	if err != nil {
		return err
	}
	if tenant != "" {
		r, err := client.DeleteTenantServiceAccountWithResponse(cmd.Context(), fabric, tenant, name, &gen.DeleteTenantServiceAccountParams{DryRun: given(c.dry)})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return err
		}
	} else {
		r, err := client.DeleteServiceAccountWithResponse(cmd.Context(), name, &gen.DeleteServiceAccountParams{DryRun: given(c.dry)})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return err
		}
	}
	c.kept(cmd, "msg.account-deleted", "name", name)
	return nil
}
