package cli

import "github.com/spf13/cobra"

// answered is what every generated answer has.
type answered interface {
	StatusCode() int
	GetBody() []byte
}

// Answers by the status of their success.
type (
	answer200[T any] interface {
		answered
		GetJSON200() *T
	}
	answer201[T any] interface {
		answered
		GetJSON201() *T
	}
	answer202[T any] interface {
		answered
		GetJSON202() *T
	}
)

// found turns a call of the client into what it found: found[gen.Tiers](c)(client.GetTiersWithResponse(…)).
func found[T any](c *cli) func(answer200[T], error) (*T, error) {
	return func(r answer200[T], err error) (*T, error) {
		if err := c.judged(r, err); err != nil {
			return nil, err
		}
		return r.GetJSON200(), nil
	}
}

// created is found for calls that make something.
func created[T any](c *cli) func(answer201[T], error) (*T, error) {
	return func(r answer201[T], err error) (*T, error) {
		if err := c.judged(r, err); err != nil {
			return nil, err
		}
		return r.GetJSON201(), nil
	}
}

// accepted is found for calls that begin work.
func accepted[T any](c *cli) func(answer202[T], error) (*T, error) {
	return func(r answer202[T], err error) (*T, error) {
		if err := c.judged(r, err); err != nil {
			return nil, err
		}
		return r.GetJSON202(), nil
	}
}

// done is found for calls that answer nothing.
func (c *cli) done(r answered, err error) error { return c.judged(r, err) }

// judged is nil for success. With an error there is no answer to look at.
func (c *cli) judged(r answered, err error) error {
	if err != nil {
		return c.judge(nil, nil, err)
	}
	return c.judge(r, r.GetBody, nil)
}

// writes gives a command that changes something the flag --dry-run.
func (c *cli) writes(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().BoolVar(&c.dry, "dry-run", false, c.t("flag.dry-run"))
	}
}

// matches gives a command that changes what was there before the flag --if-match.
func (c *cli) matches(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().StringVar(&c.match, "if-match", "", c.t("flag.if-match"))
	}
}

// ifMatch is the version to change: the one of --if-match, else the tag that was read.
func (c *cli) ifMatch(read string) *string {
	if c.match != "" {
		return quoted(c.match)
	}
	return &read
}

// kept says that something was done, or, of a dry run, that nothing was kept.
func (c *cli) kept(cmd *cobra.Command, key string, values ...any) {
	if c.dry {
		key, values = "msg.dry-run", nil
	}
	c.say(cmd, key, values...)
}
