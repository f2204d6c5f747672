package joined

import "strings"

// OneLine converts the text of errors.Join, which has a line for each error, to one line.
func OneLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, separator)
}
