package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// tokenFlags say whose token it is, and what it may do.
type tokenFlags struct {
	account, tenant string
	scopes          []string
	life            time.Duration
}

// tokenOwner is one of the three places of tokens: one's own, those of a service account that acts
// on everything, and those of a tenant's.
type tokenOwner struct {
	list   func(*cobra.Command) (response, []byte, *gen.TokenList, error)
	create func(*cobra.Command, gen.TokenCreate) (response, []byte, *gen.NewToken, error)
	remove func(*cobra.Command, string) (response, []byte, error)
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
		cmd.Flags().StringVar(&f.tenant, "tenant", "", c.t("flag.account-tenant"))
	}
	return c.noun("token", list, create, del)
}

// owner picks whose tokens are meant.
func (c *cli) owner(cmd *cobra.Command, f tokenFlags) (tokenOwner, error) {
	switch {
	case f.tenant != "" && f.account == "":
		return tokenOwner{}, c.usage("err.need-flag", "flag", "service-account")
	case f.tenant != "":
		return c.tenantOwner(cmd, f)
	}
	client, err := c.client()
	if err != nil {
		return tokenOwner{}, err
	}
	if f.account == "" {
		return tokenOwner{
			list: func(cmd *cobra.Command) (response, []byte, *gen.TokenList, error) {
				r, err := client.ListMyTokensWithResponse(cmd.Context())
				if err != nil {
					return nil, nil, nil, err
				}
				return r, r.Body, r.JSON200, nil
			},
			create: func(cmd *cobra.Command, b gen.TokenCreate) (response, []byte, *gen.NewToken, error) {
				r, err := client.CreateMyTokenWithResponse(cmd.Context(), b)
				if err != nil {
					return nil, nil, nil, err
				}
				return r, r.Body, r.JSON201, nil
			},
			remove: func(cmd *cobra.Command, name string) (response, []byte, error) {
				r, err := client.DeleteMyTokenWithResponse(cmd.Context(), name)
				if err != nil {
					return nil, nil, err
				}
				return r, r.Body, nil
			},
		}, nil
	}
	return tokenOwner{
		list: func(cmd *cobra.Command) (response, []byte, *gen.TokenList, error) {
			r, err := client.ListServiceAccountTokensWithResponse(cmd.Context(), f.account)
			if err != nil {
				return nil, nil, nil, err
			}
			return r, r.Body, r.JSON200, nil
		},
		create: func(cmd *cobra.Command, b gen.TokenCreate) (response, []byte, *gen.NewToken, error) {
			r, err := client.CreateServiceAccountTokenWithResponse(cmd.Context(), f.account, b)
			if err != nil {
				return nil, nil, nil, err
			}
			return r, r.Body, r.JSON201, nil
		},
		remove: func(cmd *cobra.Command, name string) (response, []byte, error) {
			r, err := client.DeleteServiceAccountTokenWithResponse(cmd.Context(), f.account, name)
			if err != nil {
				return nil, nil, err
			}
			return r, r.Body, nil
		},
	}, nil
}

func (c *cli) tenantOwner(cmd *cobra.Command, f tokenFlags) (tokenOwner, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return tokenOwner{}, err
	}
	return tokenOwner{
		list: func(cmd *cobra.Command) (response, []byte, *gen.TokenList, error) {
			r, err := client.ListTenantServiceAccountTokensWithResponse(cmd.Context(), fabric, f.tenant, f.account)
			if err != nil {
				return nil, nil, nil, err
			}
			return r, r.Body, r.JSON200, nil
		},
		create: func(cmd *cobra.Command, b gen.TokenCreate) (response, []byte, *gen.NewToken, error) {
			r, err := client.CreateTenantServiceAccountTokenWithResponse(cmd.Context(), fabric, f.tenant, f.account, b)
			if err != nil {
				return nil, nil, nil, err
			}
			return r, r.Body, r.JSON201, nil
		},
		remove: func(cmd *cobra.Command, name string) (response, []byte, error) {
			r, err := client.DeleteTenantServiceAccountTokenWithResponse(cmd.Context(), fabric, f.tenant, f.account, name)
			if err != nil {
				return nil, nil, err
			}
			return r, r.Body, nil
		},
	}, nil
}

func (c *cli) tokenList(cmd *cobra.Command, f tokenFlags) error {
	o, err := c.owner(cmd, f)
	if err != nil {
		return err
	}
	r, body, list, err := o.list(cmd)
	if err := c.judge(r, func() []byte { return body }, err); err != nil {
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

// tokenCreate prints the token alone, so that it can be piped into a file.
func (c *cli) tokenCreate(cmd *cobra.Command, name string, f tokenFlags) error {
	o, err := c.owner(cmd, f)
	if err != nil {
		return err
	}
	seconds := int64(f.life.Seconds())
	r, body, made, err := o.create(cmd, gen.TokenCreate{Name: name, Scopes: f.scopes, ExpiresInS: &seconds})
	if err := c.judge(r, func() []byte { return body }, err); err != nil {
		return err
	}
	c.say(cmd, "msg.token-created", "name", name)
	if c.output == "table" {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), made.Secret)
		return err
	}
	return c.print(cmd, made, nil)
}

func (c *cli) tokenDelete(cmd *cobra.Command, name string, f tokenFlags) error {
	o, err := c.owner(cmd, f)
	if err != nil {
		return err
	}
	r, body, err := o.remove(cmd, name)
	if err := c.judge(r, func() []byte { return body }, err); err != nil {
		return err
	}
	c.say(cmd, "msg.token-deleted", "name", name)
	return nil
}
