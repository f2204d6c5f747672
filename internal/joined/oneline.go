package joined

import "strings"

// OneLine makes the text of errors that errors.Join has joined, which is a line each, one line.
func OneLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, separator)
}
