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

// explains rewrites the service's errors of a command: in the user's language, with the command's flags and arguments,
// and with names similar to one that was not found.
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

// problem returns a problem in the user's language: title, detail, and one line for each faulty field. For an invalid
// request the fields replace the detail; for "not found" the detail replaces the title.
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

// fieldFlags are the flags whose names differ from those of the fields in the contract.
var fieldFlags = map[string][]string{
	"attachments": {"attach"}, "guarantee_bps": {"guarantee"}, "cap_bps": {"cap"}, "classes": {"class"}, "edits": {"edit"}, "reserved_sls": {"reserved-sl"},
	"roles": {"role"}, "scopes": {"scope"}, "flows": {"file"}, "tenants": {"file"},
}

// inputName returns the command line's name for a faulty field: "--plan" or "NAME"; "" if no flag or argument sets it.
func inputName(cmd *cobra.Command, f gen.ProblemField) string {
	noun := ""
	if p := cmd.Parent(); p != nil {
		noun = p.Name()
	}
	_, argument, _ := strings.Cut(cmd.Use, " ")
	argument = strings.Trim(argument, "[].")
	parts := slices.DeleteFunc(strings.Split(f.Pointer, "/"), func(part string) bool { return strings.Trim(part, "0123456789") == "" })
	for i, part := range parts {
		word := strings.ReplaceAll(part, "_", "-")
		flag, given := flagOf(cmd, part, parts[i:])
		if given {
			return flag
		}
		if argument != "" && (strings.EqualFold(word, argument) || strings.EqualFold(word, argument+"s") || f.In == gen.ProblemFieldInPath && (word == noun || word == "id")) {
			return argument
		}
		if flag != "" {
			return flag
		}
	}
	return ""
}

// flagOf returns the flag for a field whose path begins with part, and whether it was given; "" if there is none.
func flagOf(cmd *cobra.Command, part string, path []string) (flag string, given bool) {
	for _, name := range slices.Concat(flagSpellings(path), fieldFlags[part]) {
		if f := cmd.Flag(name); f != nil && !f.Hidden {
			return "--" + f.Name, f.Changed
		}
	}
	return "", false
}

// flagSpellings returns the possible flag names of a field: its path, or the start of it in the singular, without a
// unit.
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

// notFound matches the service's detail about an unknown name.
var notFound = regexp.MustCompile(`^([a-z ]+) "([^"]+)" not found$`)

// suggest adds similar names to a message about a mistyped one, from lists that the caller may read.
func (c *cli) suggest(cmd *cobra.Command, p *apiclient.ProblemError, said string) string {
	m := notFound.FindStringSubmatch(cmdline.OrZero(p.Detail))
	if m == nil {
		return said
	}
	kind := m[1]
	if kind == "account" { // of a user or a service account
		kind = "user"
		if cmd.Parent().Name() == "service-account" {
			kind = "service-account"
		}
	}
	list := c.completions()[kind]
	if list == nil || kind == "policy" { // similar revision numbers would not help
		return said
	}
	names, _ := list(cmd, nil, "")
	if like := suggest.Quoted(m[2], names); like != "" {
		return c.t("err.did-you-mean", "what", said, "names", like)
	}
	return said
}
