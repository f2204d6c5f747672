package remote

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
)

// status is a manager's report about itself. It needs no token.
type status struct {
	URL     string       `json:"url"`
	Alive   bool         `json:"alive"`
	Ready   bool         `json:"ready"`
	Reason  string       `json:"reason,omitempty"` // reason why it is not ready
	Version *gen.Version `json:"version,omitempty"`
}

func (c *cli) status() *cobra.Command {
	var wait time.Duration
	cmd := c.alone("status", "  fairlane status && echo ready\n  fairlane status --wait 30s", func(cmd *cobra.Command, _ []string) error {
		client, err := c.dialAnonymously()
		if err != nil {
			return err
		}
		if err := c.untilReady(cmd.Context(), client, wait); err != nil {
			return err
		}
		if _, err := found[gen.Health](c)(client.GetHealthWithResponse(cmd.Context())); err != nil {
			return err
		}
		s := status{URL: c.base(), Alive: true}
		if s.Version, err = found[gen.Version](c)(client.GetVersionWithResponse(cmd.Context())); err != nil {
			return err
		}
		_, unready := found[gen.Health](c)(client.GetReadyWithResponse(cmd.Context()))
		if s.Ready = unready == nil; !s.Ready {
			s.Reason = unready.Error()
		}
		err = c.print(cmd, s, func() *table {
			t := c.newTable("url", "version", "ready")
			ready := c.t("word.yes")
			if !s.Ready {
				ready = c.t("word.no")
			}
			t.add(s.URL, s.Version.Version, ready)
			return t
		})
		if err != nil {
			return err
		}
		return unready
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, c.t("flag.wait-ready"))
	return cmd
}

// untilReady waits until the service is ready, up to a limit. Later requests report why it is not ready.
func (c *cli) untilReady(ctx context.Context, client *apiclient.ClientWithResponses, most time.Duration) error {
	for end := time.Now().Add(most); time.Now().Before(end); {
		if _, err := found[gen.Health](c)(client.GetReadyWithResponse(ctx)); err == nil {
			return nil
		}
		if err := pause(ctx, min(pollEvery, time.Until(end))); err != nil {
			return err
		}
	}
	return nil
}

// password changes a user's own password in a session that begins with the old one, because a token may not do so.
func (c *cli) password() *cobra.Command {
	var user, old, next string
	cmd := c.alone("password", "  fairlane password --password-file old.txt --new-password-file new.txt", func(cmd *cobra.Command, _ []string) error {
		if user == "" {
			all, err := c.credentials()
			if err != nil {
				return err
			}
			user = all[c.base()].User
		}
		for _, x := range []struct{ flag, value string }{{"user", user}, {"password-file", old}, {"new-password-file", next}} {
			if x.value == "" {
				return c.usage("err.need-flag", "flag", x.flag)
			}
		}
		had, err := c.secretFrom(cmd, old, "msg.password")
		if err != nil {
			return err
		}
		want, err := c.newSecretFrom(cmd, next)
		if err != nil {
			return err
		}
		err = c.session(cmd, user, had, func(client *apiclient.ClientWithResponses, repeat apiclient.RequestEditorFn) error {
			return c.judge(client.ChangePasswordWithResponse(cmd.Context(), gen.PasswordChange{Password: had, NewPassword: want}, repeat))
		})
		if err != nil {
			return err
		}
		c.say(cmd, "msg.password-changed", "user", user)
		return nil
	})
	cmd.Flags().StringVar(&user, "user", "", c.t("flag.password-user"))
	cmd.Flags().StringVar(&old, "password-file", "", c.t("flag.password-file"))
	cmd.Flags().StringVar(&next, "new-password-file", "", c.t("flag.new-password-file"))
	return cmd
}
