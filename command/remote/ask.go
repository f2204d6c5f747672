package remote

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
)

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
		if err = c.judge(r, err); err != nil {
			return nil, err
		}
		return r.GetJSON200(), nil
	}
}

// created is found for calls that make something.
func created[T any](c *cli) func(answer201[T], error) (*T, error) {
	return func(r answer201[T], err error) (*T, error) {
		if err = c.judge(r, err); err != nil {
			return nil, err
		}
		return r.GetJSON201(), nil
	}
}

// accepted is found for calls that begin work.
func accepted[T any](c *cli) func(answer202[T], error) (*T, error) {
	return func(r answer202[T], err error) (*T, error) {
		if err = c.judge(r, err); err != nil {
			return nil, err
		}
		return r.GetJSON202(), nil
	}
}

// judge is found for calls that answer nothing, or one of several things. Nil is success, an *unreachableError nobody at the
// address, an *apiclient.ProblemError what the service says. With an error of the call there is no answer to look at.
func (c *cli) judge(r answered, err error) error {
	var u *url.Error
	switch {
	case errors.As(err, &u):
		return &unreachableError{c.t("err.unreachable", "url", c.base(), "error", u.Err), u.Err}
	case err != nil:
		return err
	}
	return apiclient.Check(r.StatusCode(), r.GetBody())
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
		return new(tagged(c.match))
	}
	return &read
}

// versionTag is the tag of a version that was read.
func versionTag(n int64) string { return tagged(strconv.FormatInt(n, 10)) }

// tagged is the tag of a version as people write it, with quotes or without.
func tagged(version string) string {
	if version == "*" {
		return version
	}
	return `"` + strings.Trim(version, `"`) + `"`
}

// kept says that something was done, or, of a dry run, that nothing was kept.
func (c *cli) kept(cmd *cobra.Command, key string, values ...any) {
	if c.dry {
		key, values = "msg.dry-run", nil
	}
	c.say(cmd, key, values...)
}

// taker takes from a command's flags what was given.
type taker struct {
	cmd *cobra.Command
	any bool // something was given
}

// take sets what a flag is about when the flag was given.
func take[T any](t *taker, flag string, to *T, v T) {
	if t.cmd.Flags().Changed(flag) {
		*to, t.any = v, true
	}
}

// shown prints one thing as a list of one.
func shown[T any](c *cli, cmd *cobra.Command, x *T, show func([]T) *table) error {
	return c.print(cmd, x, func() *table { return show([]T{*x}) })
}

// given leaves out what has its zero value.
func given[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
