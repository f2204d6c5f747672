package remote

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// tokenFlags define the owner of a token and its rights.
type tokenFlags struct {
	account string
	scopes  []string
	life    time.Duration
}

// tokenOwner manages the tokens of one owner: the caller, a service account that acts on everything, or a tenant's
// service account.
type tokenOwner struct {
	list   func() (*gen.TokenList, error)
	create func(gen.TokenCreate) (*gen.NewToken, error)
	remove func(name string) error
}

func (c *cli) token() *cobra.Command {
	var f tokenFlags
	list := c.verb("token", "list", "  fairlane token list\n  fairlane token list --service-account ci", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.tokenList(cmd, f) })
	create := c.verb("token", "create NAME", "  fairlane token create laptop --scope '*:read' --expires-in 720h", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.tokenCreate(cmd, args[0], f) })
	create.Flags().StringSliceVar(&f.scopes, "scope", nil, c.t("flag.scope"))
	create.Flags().DurationVar(&f.life, "expires-in", 90*24*time.Hour, c.t("flag.expires-in"))
	del := c.verb("token", "delete NAME", "  fairlane token delete laptop", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.tokenDelete(cmd, args[0], f) })
	for _, cmd := range []*cobra.Command{list, create, del} {
		cmd.Flags().StringVar(&f.account, "service-account", "", c.t("flag.service-account"))
	}
	c.ofTenant(c.t("flag.account-tenant"), list, create, del)
	c.destroys(del, "ask.token-delete")
	return c.noun("token", list, create, del)
}

// owner returns the owner according to the flags.
func (c *cli) owner(cmd *cobra.Command, f tokenFlags) (*tokenOwner, error) {
	if c.tenantName != "" && f.account == "" {
		return nil, c.usage("err.need-flag", "flag", "service-account")
	}
	client, fabric, err := c.accountHome(cmd)
	if err != nil {
		return nil, err
	}
	ctx, account, tenant := cmd.Context(), f.account, c.tenantName
	listed, made := found[gen.TokenList](c), created[gen.NewToken](c)
	switch {
	case account == "":
		return &tokenOwner{
			func() (*gen.TokenList, error) { return listed(client.ListMyTokensWithResponse(ctx)) },
			func(b gen.TokenCreate) (*gen.NewToken, error) { return made(client.CreateMyTokenWithResponse(ctx, b)) },
			func(name string) error { return c.judge(client.DeleteMyTokenWithResponse(ctx, name)) },
		}, nil
	case tenant == "":
		return &tokenOwner{
			func() (*gen.TokenList, error) {
				return listed(client.ListServiceAccountTokensWithResponse(ctx, account))
			},
			func(b gen.TokenCreate) (*gen.NewToken, error) {
				return made(client.CreateServiceAccountTokenWithResponse(ctx, account, b))
			},
			func(name string) error {
				return c.judge(client.DeleteServiceAccountTokenWithResponse(ctx, account, name))
			},
		}, nil
	}
	return &tokenOwner{
		func() (*gen.TokenList, error) {
			return listed(client.ListTenantServiceAccountTokensWithResponse(ctx, fabric, tenant, account))
		},
		func(b gen.TokenCreate) (*gen.NewToken, error) {
			return made(client.CreateTenantServiceAccountTokenWithResponse(ctx, fabric, tenant, account, b))
		},
		func(name string) error {
			return c.judge(client.DeleteTenantServiceAccountTokenWithResponse(ctx, fabric, tenant, account, name))
		},
	}, nil
}

func (c *cli) tokenList(cmd *cobra.Command, f tokenFlags) error {
	o, err := c.owner(cmd, f)
	if err != nil {
		return err
	}
	list, err := o.list()
	if err != nil {
		return err
	}
	return c.print(cmd, list.Items, func() *table {
		t := c.newTable("name", "scopes", "created", "expires", "used")
		for _, x := range list.Items {
			t.add(x.Name, strings.Join(x.Scopes, " "), x.CreatedAt.Format(timeFormat), timeOrDash(x.ExpiresAt), timeOrDash(x.UsedAt))
		}
		return t
	})
}

func timeOrDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(timeFormat)
}

// tokenCreate prints only the token, so that it can be piped into a file.
func (c *cli) tokenCreate(cmd *cobra.Command, name string, f tokenFlags) error {
	o, err := c.owner(cmd, f)
	if err != nil {
		return err
	}
	made, err := o.create(gen.TokenCreate{Name: name, Scopes: f.scopes, ExpiresInS: new(int64(f.life.Seconds()))})
	if err != nil {
		return err
	}
	c.say(cmd, "msg.token-created", "name", name)
	if c.output == "table" {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), made.Secret)
		return err
	}
	return c.print(cmd, made)
}

func (c *cli) tokenDelete(cmd *cobra.Command, name string, f tokenFlags) error {
	o, err := c.owner(cmd, f)
	if err != nil {
		return err
	}
	if err := o.remove(name); err != nil {
		return err
	}
	c.say(cmd, "msg.token-deleted", "name", name)
	return nil
}
