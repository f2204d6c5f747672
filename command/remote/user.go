package remote

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/tenants"
)

// userFlags are the properties of a user as flags.
type userFlags struct {
	display, password string
	roles             []string
	disable, enable   bool
}

func (c *cli) user() *cobra.Command {
	var f userFlags
	create := c.verb("user", "create NAME", "  fairlane user create ada --role fabric-admin@* --password-file -\n  fairlane user create bob --role fabric-admin@lab", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.userCreate(cmd, args[0], f) })
	change := c.verb("user", "set NAME", "  fairlane user set ada --role operator@*\n  fairlane user set ada --disable", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.userSet(cmd, args[0], f) })
	for _, cmd := range []*cobra.Command{create, change} {
		cmd.Flags().StringVar(&f.display, "display-name", "", c.t("flag.display-name"))
		cmd.Flags().StringVar(&f.password, "password-file", "", c.t("flag.password-file"))
		cmd.Flags().StringSliceVar(&f.roles, "role", nil, c.t("flag.role"))
	}
	change.Flags().BoolVar(&f.disable, "disable", false, c.t("flag.disable"))
	change.Flags().BoolVar(&f.enable, "enable", false, c.t("flag.enable"))
	change.MarkFlagsMutuallyExclusive("disable", "enable")
	del := c.verb("user", "delete NAME", "  fairlane user delete ada", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.userDelete(cmd, args[0]) })
	c.destroys(del, "ask.user-delete")
	c.writes(create, change, del)
	c.matches(change, del)
	return c.noun("user", create, change, del,
		c.verb("user", "list", "  fairlane user list", cobra.NoArgs, listed(c, c.anywhere, c.userPage, c.userTable)),
		c.verb("user", "show NAME", "  fairlane user show ada -o yaml", cobra.ExactArgs(1), c.onName(c.anywhere, c.userShow)),
	)
}

// grants reads --role flags.
func (c *cli) grants(list []string) ([]gen.Grant, error) {
	out := make([]gen.Grant, len(list))
	for i, text := range list {
		g, err := tenants.ParseGrant(text)
		if err != nil {
			return nil, c.usage("err.role", "error", err)
		}
		out[i] = grantOut(g)
	}
	return out, nil
}

func grantOut(g tenants.Grant) gen.Grant {
	return gen.Grant{Role: gen.Role(g.Role), Fabric: given(g.Domain.Fabric), Tenant: given(g.Domain.Tenant)}
}

// grantOf returns the grant of a membership.
func grantOf(m *gen.Membership) tenants.Grant {
	return tenants.Grant{Role: tenants.Role(m.Role), Domain: tenants.Domain{Fabric: cmdline.OrZero(m.Fabric), Tenant: cmdline.OrZero(m.Tenant)}}
}

func (c *cli) userCreate(cmd *cobra.Command, name string, f userFlags) error {
	roles, err := c.grants(f.roles)
	if err != nil {
		return err
	}
	body := gen.UserCreate{Name: name, DisplayName: given(f.display), Roles: roles}
	if f.password != "" {
		text, err := c.newSecretFrom(cmd, f.password)
		if err != nil {
			return err
		}
		body.Password = &text
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	u, err := created[gen.User](c)(client.CreateUserWithResponse(cmd.Context(), &gen.CreateUserParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.user-kept", "name", name)
	return shown(c, cmd, u, c.userTable)
}

// userSet changes the given fields against the version that it read.
func (c *cli) userSet(cmd *cobra.Command, name string, f userFlags) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	r, err := client.GetUserWithResponse(cmd.Context(), name)
	had, err := found[gen.User](c)(r, err)
	if err != nil {
		return err
	}
	disabled := had.Disabled && !f.enable || f.disable
	body := gen.UserUpdate{DisplayName: &had.DisplayName, Disabled: &disabled, Roles: []gen.Grant{}}
	for _, m := range had.Memberships {
		if m.Source == gen.MembershipSourceLocal {
			body.Roles = append(body.Roles, gen.Grant{Role: m.Role, Fabric: m.Fabric, Tenant: m.Tenant})
		}
	}
	if cmd.Flags().Changed("role") {
		if body.Roles, err = c.grants(f.roles); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("display-name") {
		body.DisplayName = &f.display
	}
	if f.password != "" {
		text, err := c.newSecretFrom(cmd, f.password)
		if err != nil {
			return err
		}
		body.Password = &text
	}
	match := c.ifMatch(r.HTTPResponse.Header.Get("ETag"))
	u, err := found[gen.User](c)(client.UpdateUserWithResponse(cmd.Context(), name, &gen.UpdateUserParams{IfMatch: match, DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.user-kept", "name", name)
	return shown(c, cmd, u, c.userTable)
}

func (c *cli) userDelete(cmd *cobra.Command, name string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	match := c.ifMatch("*")
	if err := c.judge(client.DeleteUserWithResponse(cmd.Context(), name, &gen.DeleteUserParams{IfMatch: match, DryRun: given(c.dry)})); err != nil {
		return err
	}
	c.kept(cmd, "msg.user-deleted", "name", name)
	return nil
}

func (c *cli) userPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, cursor *string) (*page[gen.User], error) {
	list, err := found[gen.UserList](c)(client.ListUsersWithResponse(cmd.Context(), &gen.ListUsersParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.User])(list), err
}

func (c *cli) userShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, _, name string) error {
	u, err := found[gen.User](c)(client.GetUserWithResponse(cmd.Context(), name))
	if err != nil {
		return err
	}
	return shown(c, cmd, u, c.userTable)
}

func (c *cli) userTable(list []gen.User) *table {
	t := c.newTable("name", "display-name", "roles", "signs-in-by", "state", "version>")
	for _, u := range list {
		roles := make([]string, len(u.Memberships))
		for i := range u.Memberships {
			roles[i] = grantOf(&u.Memberships[i]).String()
		}
		var ways []string
		if u.HasPassword {
			ways = append(ways, c.t("word.password"))
		}
		if u.External {
			ways = append(ways, "OpenID")
		}
		state := c.t("word.active")
		if u.Disabled {
			state = c.t("word.disabled")
		}
		t.add(u.Name, u.DisplayName, strings.Join(roles, " "), strings.Join(ways, " "), state, u.Version)
	}
	return t
}

func (c *cli) role() *cobra.Command {
	return c.noun("role", c.verb("role", "list", "  fairlane role list", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		list, err := found[gen.RoleList](c)(client.ListRolesWithResponse(cmd.Context()))
		if err != nil {
			return err
		}
		return c.print(cmd, list.Items, func() *table {
			t := c.newTable("role", "object", "may", "about")
			for _, role := range list.Items {
				for _, right := range role.Rights {
					t.add(role.Role, right.Object, strings.Trim(strings.ReplaceAll(fmt.Sprint(right.Actions), " ", ", "), "[]"), right.About)
				}
			}
			return t
		})
	}))
}
