package osmfile

import (
	"fmt"
	"strings"
)

// diffContext is the number of equal lines shown before and after a difference.
const diffContext = 2

// Difference shows how a file changes: removed lines with "-", added ones with "+", and two lines of context. Equal
// texts give "".
func Difference(path, before, after string) string {
	if before == after {
		return ""
	}
	a, b := lines(before), lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var s strings.Builder
	fmt.Fprintf(&s, "--- %s\n+++ %s\n@@ line %d @@\n", path, path, head+1)
	show := func(mark string, ls []string) {
		for _, l := range ls {
			s.WriteString(mark)
			s.WriteString(strings.TrimRight(l, "\n"))
			if !strings.HasSuffix(l, "\n") {
				s.WriteString(" (no line end)")
			}
			s.WriteByte('\n')
		}
	}
	show(" ", a[max(0, head-diffContext):head])
	show("-", a[head:len(a)-tail])
	show("+", b[head:len(b)-tail])
	show(" ", a[len(a)-tail:min(len(a), len(a)-tail+diffContext)])
	return s.String()
}

func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		out = append(out, l)
	}
	return out
}

// ChangedLines returns the file of a Difference and its lines that are not comments and were only removed ("-") or only
// added ("+"), with their mark.
func ChangedLines(difference string) (path string, out []string) {
	var changed []string
	marks := map[string]string{}
	for line := range strings.Lines(difference) {
		line = strings.TrimRight(line, "\n")
		if after, ok := strings.CutPrefix(line, "+++ "); ok {
			path = after
			continue
		}
		if strings.HasPrefix(line, "--- ") || line == "" || line[0] != '+' && line[0] != '-' || strings.HasPrefix(line[1:], "#") {
			continue
		}
		changed = append(changed, line)
		marks[line[1:]] += line[:1]
	}
	for _, line := range changed {
		if m := marks[line[1:]]; !strings.Contains(m, "+") || !strings.Contains(m, "-") {
			out = append(out, line)
		}
	}
	return path, out
}
