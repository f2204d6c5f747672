package remote

import (
	"cmp"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
)

// answered is the common part of the generated answers.
type answered interface {
	StatusCode() int
	GetBody() []byte
	ContentType() string
}

// Answers by status of success.
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

// found unwraps the answer of a call: found[gen.Tiers](c)(client.GetTiersWithResponse(…)).
func found[T any](c *cli) func(answer200[T], error) (*T, error) {
	return func(r answer200[T], err error) (*T, error) {
		if err = c.judge(r, err); err != nil {
			return nil, err
		}
		return present(c, r, r.GetJSON200())
	}
}

// created is found for calls that create something.
func created[T any](c *cli) func(answer201[T], error) (*T, error) {
	return func(r answer201[T], err error) (*T, error) {
		if err = c.judge(r, err); err != nil {
			return nil, err
		}
		return present(c, r, r.GetJSON201())
	}
}

// accepted is found for calls that start work.
func accepted[T any](c *cli) func(answer202[T], error) (*T, error) {
	return func(r answer202[T], err error) (*T, error) {
		if err = c.judge(r, err); err != nil {
			return nil, err
		}
		return present(c, r, r.GetJSON202())
	}
}

// present returns the decoded body of an answer. The generated client decodes none if the status or the content type is not that of
// the operation, as in an answer of a proxy or of another program at the URL.
func present[T any](c *cli, r answered, body *T) (*T, error) {
	if body == nil {
		return nil, errors.New(c.t("err.other-answer", "url", c.base(), "status", r.StatusCode(), "type", cmp.Or(r.ContentType(), "-")))
	}
	return body, nil
}

// judge is found for calls with no answer, or one of several types. It returns nil for success, an *unreachableError if
// the service does not answer, and an *apiclient.ProblemError for a problem. If the call itself failed, r is not used.
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

// writes adds the flag --dry-run to commands that change something.
func (c *cli) writes(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().BoolVar(&c.dry, "dry-run", false, c.t("flag.dry-run"))
	}
}

// matches adds the flag --if-match to commands that change an existing object.
func (c *cli) matches(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().StringVar(&c.match, "if-match", "", c.t("flag.if-match"))
	}
}

// ifMatch returns the expected version: that of --if-match, else the tag that was read.
func (c *cli) ifMatch(read string) *string {
	if c.match != "" {
		return new(tagged(c.match))
	}
	return &read
}

// versionTag returns the tag of a version that was read.
func versionTag(n int64) string { return tagged(strconv.FormatInt(n, 10)) }

// tagged returns the tag for a version given with or without quotes.
func tagged(version string) string {
	if version == "*" {
		return version
	}
	return `"` + strings.Trim(version, `"`) + `"`
}

// kept reports that a change was made or, for a dry run, that nothing was changed.
func (c *cli) kept(cmd *cobra.Command, key string, values ...any) {
	if c.dry {
		key, values = "msg.dry-run", nil
	}
	c.say(cmd, key, values...)
}

// taker copies the values of given flags.
type taker struct {
	cmd *cobra.Command
	any bool // at least one flag was given
}

// take sets to if the flag was given.
func take[T any](t *taker, flag string, to *T, v T) {
	if t.cmd.Flags().Changed(flag) {
		*to, t.any = v, true
	}
}

// shown prints one object as a list of one.
func shown[T any](c *cli, cmd *cobra.Command, x *T, show func([]T) *table) error {
	return c.print(cmd, x, func() *table { return show([]T{*x}) })
}

// given returns nil for a zero value.
func given[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
