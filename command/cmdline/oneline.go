package cmdline

import "strings"

// OneLine makes a text fit for a cell. Joined errors have a line each.
func OneLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "; ")
}
