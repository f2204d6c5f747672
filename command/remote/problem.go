package remote

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/suggest"
)

// explains writes a command's errors of the service in the reader's language, with the command's flags and arguments, and with names near
// one that was not found.
func (c *cli) explains(cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var p *apiclient.ProblemError
		if !errors.As(err, &p) {
			return err
		}
		english := p.Error()
		return &worded{err, strings.Replace(err.Error(), english, c.problem(cmd, p), 1)}
	}
}

// worded is an error of the service with another text.
type worded struct {
	error
	text string
}

// Error returns the text.
func (e *worded) Error() string { return e.text }

// Unwrap returns the error.
func (e *worded) Unwrap() error { return e.error }

// problem writes a problem in the reader's language: title, detail, and the faulty fields, one a line. Of an invalid request the fields are the
// detail; of what was not found the detail says all that the title does.
func (c *cli) problem(cmd *cobra.Command, p *apiclient.ProblemError) string {
	title, detail := p.Title, c.texts.Either(cmdline.OrZero(p.Detail), p.Said)
	if key := "title." + p.Code; c.texts.Has(key) {
		title = c.t(key)
	}
	if p.Status == http.StatusNotFound {
		detail = c.suggest(cmd, p, detail)
	}
	text := title
	switch {
	case p.Code == "not-found" && detail != "":
		text = detail
	case p.Code == "invalid" && len(p.Errors) > 0:
		text = c.t("problem", "title", title, "detail", "")
	case detail != "":
		text = c.t("problem", "title", title, "detail", detail)
	}
	text = strings.TrimRight(text, " ")
	for _, f := range p.Errors {
		where := cmp.Or(inputName(cmd, f), f.Pointer, string(f.In))
		text += "\n  " + c.t("problem", "title", where, "detail", c.texts.Either(f.Detail, f.Said))
	}
	return text
}

// fieldFlags are the flags of fields that are called otherwise in the contract.
var fieldFlags = map[string][]string{
	"attachments": {"attach"}, "guarantee_bps": {"guarantee"}, "cap_bps": {"cap"}, "classes": {"class"}, "edits": {"edit"}, "reserved_sls": {"reserved-sl"},
	"roles": {"role"}, "scopes": {"scope"}, "flows": {"file"}, "tenants": {"file"},
}

// inputName is what a command line calls a faulty field: "--plan" or "NAME"; "" when neither a flag nor an argument gives it.
func inputName(cmd *cobra.Command, f gen.ProblemField) string {
	noun := ""
	if p := cmd.Parent(); p != nil {
		noun = p.Name()
	}
	_, argument, _ := strings.Cut(cmd.Use, " ")
	argument = strings.Trim(argument, "[]")
	parts := slices.DeleteFunc(strings.Split(f.Pointer, "/"), func(part string) bool { return strings.Trim(part, "0123456789") == "" })
	for i, part := range parts {
		word := strings.ReplaceAll(part, "_", "-")
		flag, given := flagOf(cmd, part, parts[i:])
		if given {
			return flag
		}
		if argument != "" && (strings.EqualFold(word, argument) || f.In == gen.ProblemFieldInPath && (word == noun || word == "id")) {
			return argument
		}
		if flag != "" {
			return flag
		}
	}
	return ""
}

// flagOf is the flag for a field, of which path begins with part, and whether it was given; "" when there is none.
func flagOf(cmd *cobra.Command, part string, path []string) (flag string, given bool) {
	for _, name := range slices.Concat(flagSpellings(path), fieldFlags[part]) {
		if f := cmd.Flag(name); f != nil && !f.Hidden {
			return "--" + f.Name, f.Changed
		}
	}
	return "", false
}

// flagSpellings are the names that the flag of a field may have: its path, or the beginning of it in the singular, without a unit.
func flagSpellings(path []string) (out []string) {
	whole := strings.ReplaceAll(strings.Join(path, "-"), "_", "-")
	single := whole
	if len(path) > 1 {
		single = strings.ReplaceAll(strings.TrimSuffix(path[0], "s")+"-"+strings.Join(path[1:], "-"), "_", "-")
	}
	for _, name := range []string{whole, single} {
		out = append(out, name, strings.TrimSuffix(name, "-s"), strings.TrimSuffix(name, "-ms"))
	}
	return out
}

// notFound is what the service says of a name that it does not know.
var notFound = regexp.MustCompile(`^([a-z ]+) "([^"]+)" not found$`)

// suggest adds the names that a mistyped one may mean, of those that the caller may list, to what is said of it.
func (c *cli) suggest(cmd *cobra.Command, p *apiclient.ProblemError, said string) string {
	m := notFound.FindStringSubmatch(cmdline.OrZero(p.Detail))
	if m == nil {
		return said
	}
	kind := m[1]
	if kind == "account" { // of a person or a service
		kind = "user"
		if cmd.Parent().Name() == "service-account" {
			kind = "service-account"
		}
	}
	list := c.completions()[kind]
	if list == nil || kind == "policy" { // no revision's number is like another
		return said
	}
	names, _ := list(cmd, nil, "")
	if like := suggest.Quoted(m[2], names); like != "" {
		return c.t("err.did-you-mean", "what", said, "names", like)
	}
	return said
}
