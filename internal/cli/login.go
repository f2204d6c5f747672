package cli

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/api/gen"
)

// csrfHeader repeats a session's CSRF token.
const csrfHeader = "X-CSRF-Token"

// alone builds a command that is no noun.
func (c *cli) alone(use, example string, run func(*cobra.Command, []string) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	return &cobra.Command{Use: use, Short: c.t("cmd." + name), Example: example, Args: cobra.NoArgs, RunE: run}
}

func (c *cli) login() *cobra.Command {
	var user, file string
	var life time.Duration
	cmd := c.alone("login", "  fairlane login --user ada --password-file - < password.txt", func(cmd *cobra.Command, _ []string) error {
		if user == "" {
			return c.usage("err.need-flag", "flag", "user")
		}
		password, err := c.secretFrom(cmd, file)
		if err != nil {
			return err
		}
		return c.signIn(cmd, user, password, life)
	})
	cmd.Flags().StringVar(&user, "user", "", c.t("flag.user"))
	cmd.Flags().StringVar(&file, "password-file", "-", c.t("flag.password-file"))
	cmd.Flags().DurationVar(&life, "expires-in", 30*24*time.Hour, c.t("flag.expires-in"))
	return cmd
}

// signIn makes a token in a session of its own, which ends again, and keeps it for this service.
func (c *cli) signIn(cmd *cobra.Command, user, password string, life time.Duration) error {
	all, err := c.credentials()
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client, err := api.NewClient(c.base(), "", &http.Client{Jar: jar, Timeout: time.Minute})
	if err != nil {
		return &UsageError{err.Error()}
	}
	in, err := client.SignInWithResponse(cmd.Context(), gen.SignIn{Name: user, Password: password})
	if err := c.judge(in, func() []byte { return in.Body }, err); err != nil {
		return err
	}
	repeat := func(_ context.Context, r *http.Request) error {
		r.Header.Set(csrfHeader, in.JSON200.CsrfToken)
		return nil
	}
	name := "cli-" + strings.ToLower(rand.Text()[:12])
	seconds := int64(life.Seconds())
	made, err := client.CreateMyTokenWithResponse(cmd.Context(), gen.TokenCreate{Name: name, ExpiresInS: &seconds}, repeat)
	if err := c.judge(made, func() []byte { return made.Body }, err); err != nil {
		return err
	}
	all[c.base()] = credential{User: user, Name: name, Token: made.JSON201.Secret}
	if err := c.keepCredentials(all); err != nil {
		return err
	}
	out, err := client.SignOutWithResponse(cmd.Context(), repeat)
	if err := c.judge(out, func() []byte { return out.Body }, err); err != nil {
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
		client, err := api.NewClient(c.base(), had.Token, nil)
		if err != nil {
			return &UsageError{err.Error()}
		}
		r, err := client.DeleteMyTokenWithResponse(cmd.Context(), had.Name)
		// A token that is gone already is as good as revoked.
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil && (r == nil || r.StatusCode() != http.StatusUnauthorized) {
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
		r, err := client.GetMeWithResponse(cmd.Context())
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return err
		}
		c.say(cmd, "msg.whoami", "name", r.JSON200.Name, "kind", r.JSON200.Kind, "url", c.base())
		return c.print(cmd, r.JSON200, func() *table {
			t := c.newTable("domain", "object", "may")
			for _, p := range r.JSON200.Permissions {
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
