package remote

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/internal/suggest"
)

// explains makes a command's errors of the service name the command's flags and arguments, and names near one that was not
// found.
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
		p.Errors = slices.Clone(p.Errors)
		for i := range p.Errors {
			if name := inputName(cmd, p.Errors[i]); name != "" {
				p.Errors[i].Pointer = name
			}
		}
		if p.Status == http.StatusNotFound {
			c.suggest(cmd, p)
		}
		return err
	}
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

// suggest adds the names that a mistyped one may mean, of those that the caller may list.
func (c *cli) suggest(cmd *cobra.Command, p *apiclient.ProblemError) {
	m := notFound.FindStringSubmatch(orZero(p.Detail))
	if m == nil {
		return
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
		return
	}
	names, _ := list(cmd, nil, "")
	if like := suggest.Quoted(m[2], names); like != "" {
		p.Detail = new(c.t("err.did-you-mean", "what", *p.Detail, "names", like))
	}
}
