package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// csrfHeader carries a session's CSRF token.
const csrfHeader = "X-CSRF-Token"

// alone builds a command without subcommands.
func (c *cli) alone(use, example string, run func(*cobra.Command, []string) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	return &cobra.Command{Use: use, Short: c.t("cmd." + name), Example: example, Args: cobra.NoArgs, RunE: run}
}

func (c *cli) login() *cobra.Command {
	var user, file string
	var life time.Duration
	var methods bool
	cmd := c.alone("login", "  fairlane login --user ada --password-file - < password.txt", func(cmd *cobra.Command, _ []string) error {
		if methods {
			return c.signInMethods(cmd)
		}
		if user == "" {
			return c.usage("err.need-flag", "flag", "user")
		}
		password, err := c.secretFrom(cmd, file, "msg.password")
		if err != nil {
			return err
		}
		return c.signIn(cmd, user, password, life)
	})
	cmd.Flags().StringVar(&user, "user", "", c.t("flag.user"))
	cmd.Flags().BoolVar(&methods, "methods", false, c.t("flag.methods"))
	cmd.Flags().StringVar(&file, "password-file", "-", c.t("flag.password-file"))
	cmd.Flags().DurationVar(&life, "expires-in", 30*24*time.Hour, c.t("flag.expires-in"))
	return cmd
}

// signInMethods lists the methods of sign-in. An OpenID provider needs a browser, so its address is printed.
func (c *cli) signInMethods(cmd *cobra.Command) error {
	client, err := c.dialAnonymously()
	if err != nil {
		return err
	}
	m, err := found[gen.SignInMethods](c)(client.ListSignInMethodsWithResponse(cmd.Context()))
	if err != nil {
		return err
	}
	return c.print(cmd, m, func() *table {
		t := c.newTable("signs-in-by", "url")
		t.whole = true // users copy addresses, so none is shortened
		if m.Password {
			t.add(c.t("word.password"), c.base())
		}
		if m.Oidc {
			t.add(cmdline.OrZero(m.OidcName), strings.TrimRight(c.base(), "/")+"/api/v1/sign-in/oidc")
		}
		return t
	})
}

// session signs a user in and calls use with the client of the session, and with the editor that adds its CSRF token to
// requests that change something. The session ends afterwards.
func (c *cli) session(cmd *cobra.Command, user, password string, use func(*apiclient.ClientWithResponses, apiclient.RequestEditorFn) error) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client, err := c.dial("", &http.Client{Jar: jar, Timeout: time.Minute})
	if err != nil {
		return err
	}
	in, err := found[gen.SignedIn](c)(client.SignInWithResponse(cmd.Context(), gen.SignIn{Name: user, Password: password}))
	if err != nil {
		return err
	}
	repeat := func(_ context.Context, r *http.Request) error {
		r.Header.Set(csrfHeader, in.CsrfToken)
		return nil
	}
	if err := use(client, repeat); err != nil {
		return errors.Join(err, c.judge(client.SignOutWithResponse(cmd.Context(), repeat)))
	}
	return c.judge(client.SignOutWithResponse(cmd.Context(), repeat))
}

// signIn creates a token in a separate session, which it ends, and stores the token for this service.
func (c *cli) signIn(cmd *cobra.Command, user, password string, life time.Duration) error {
	all, err := c.credentials()
	if err != nil {
		return err
	}
	err = c.session(cmd, user, password, func(client *apiclient.ClientWithResponses, repeat apiclient.RequestEditorFn) error {
		name := "cli-" + strings.ToLower(rand.Text()[:12])
		seconds := int64(life.Seconds())
		made, err := created[gen.NewToken](c)(client.CreateMyTokenWithResponse(cmd.Context(), gen.TokenCreate{Name: name, ExpiresInS: &seconds}, repeat))
		if err != nil {
			return err
		}
		all[c.base()] = credential{User: user, Name: name, Token: made.Secret}
		return c.keepCredentials(all)
	})
	if err != nil {
		return err
	}
	c.say(cmd, "msg.logged-in", "user", user, "url", c.base(), "path", c.credentialsPath())
	return nil
}

func (c *cli) logout() *cobra.Command {
	return c.alone("logout", "  fairlane logout", func(cmd *cobra.Command, _ []string) error {
		all, err := c.credentials()
		if err != nil {
			return err
		}
		had, ok := all[c.base()]
		if !ok {
			return c.usage("err.not-logged-in", "url", c.base())
		}
		client, err := c.dial(had.Token, &http.Client{Timeout: patience})
		if err != nil {
			return err
		}
		r, err := client.DeleteMyTokenWithResponse(cmd.Context(), had.Name)
		// A token that no longer exists counts as revoked.
		if err := c.judge(r, err); err != nil && (r == nil || r.StatusCode() != http.StatusUnauthorized) {
			return err
		}
		delete(all, c.base())
		if err := c.keepCredentials(all); err != nil {
			return err
		}
		c.say(cmd, "msg.logged-out", "user", had.User, "url", c.base())
		return nil
	})
}

func (c *cli) whoami() *cobra.Command {
	return c.alone("whoami", "  fairlane whoami -o json", func(cmd *cobra.Command, _ []string) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		me, err := found[gen.Me](c)(client.GetMeWithResponse(cmd.Context()))
		if err != nil {
			return err
		}
		c.say(cmd, "msg.whoami", "name", me.Name, "kind", me.Kind, "url", c.base())
		return c.print(cmd, me, func() *table {
			t := c.newTable("domain", "object", "may")
			for _, p := range me.Permissions {
				actions := make([]string, len(p.Actions))
				for i, a := range p.Actions {
					actions[i] = string(a)
				}
				t.add(p.Domain, p.Object, strings.Join(actions, ", "))
			}
			return t
		})
	})
}
