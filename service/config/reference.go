package config

import (
	"fmt"
	"slices"
	"strings"
)

// Reference returns the table of all keys in Markdown, as `fairlane config reference` prints it.
func Reference() string {
	var b strings.Builder
	b.WriteString("| key | kind | default | environment | flag | meaning |\n|---|---|---|---|---|---|\n")
	def := Default()
	for _, k := range Keys() {
		value, flag := k.Value(&def), ""
		if value != "" {
			value = "`" + value + "`"
		}
		if k.Flag != "" {
			flag = "`--" + k.Flag + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s | %s |\n", k.Name, k.Kind(), value, k.Env(), flag, k.Doc)
	}
	return b.String()
}

// Example returns a configuration file to start from: every key at its default, as a comment.
func Example() string {
	var b strings.Builder
	b.WriteString("# Configuration of `fairlane serve`. Later ones win: defaults, this file, the environment (FAIRLANE_ and the key\n" +
		"# in capitals, dots as underscores), flags. Check it with `fairlane config check --config FILE`.\n")
	def := Default()
	var group []string // levels of the key before
	for _, k := range Keys() {
		path := strings.Split(k.Name, ".")
		name, levels := path[len(path)-1], path[:len(path)-1]
		gap := "\n"
		for i := range levels { // the levels that the key before does not have
			if i >= len(group) || group[i] != levels[i] {
				fmt.Fprintf(&b, "%s#%s%s:\n", gap, strings.Repeat("  ", i), levels[i])
				group, gap = nil, ""
			}
		}
		group = levels
		indent := strings.Repeat("  ", len(levels))
		value := k.Value(&def)
		if k.Kind() == "list" {
			value = "[" + strings.Join(quoted(k.values(&def)), ", ") + "]"
		}
		if value != "" {
			value = " " + value
		}
		fmt.Fprintf(&b, "\n# %s.\n#%s%s:%s\n", capital(strings.ReplaceAll(k.Doc, "`", "")), indent, name, value)
	}
	return b.String()
}

// quoted quotes list entries that YAML would otherwise parse as another type.
func quoted(list []string) []string {
	out := slices.Clone(list)
	for i, s := range out {
		if strings.ContainsAny(s, "[]*") {
			out[i] = "'" + s + "'"
		}
	}
	return out
}

// capital capitalizes the first letter of a sentence.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
