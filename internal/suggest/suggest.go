// Package suggest finds names similar to a mistyped one.
package suggest

import (
	"fmt"
	"strings"
)

const (
	// maxLength is the maximum length of a compared name, in bytes: a longer one is not a typing error.
	maxLength = 64
	// maxFound is the maximum number of suggestions.
	maxFound = 3
)

// Names returns up to three names similar to a mistyped one, the nearest first: those that differ in at most a third of
// its letters, at least one.
func Names(want string, names []string) []string {
	if want == "" || len(want) > maxLength {
		return nil
	}
	limit := max(1, len(want)/3)
	found := make([][]string, limit+1)
	for _, n := range names {
		if len(n) <= maxLength {
			if d := distance(want, n); d <= limit {
				found[d] = append(found[d], n)
			}
		}
	}
	var out []string
	for _, list := range found {
		out = append(out, list...)
	}
	return out[:min(len(out), maxFound)]
}

// Quoted lists the names similar to a mistyped one, in quotes; "" if there are none.
func Quoted(want string, names []string) string {
	var out []string
	for _, n := range Names(want, names) {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}

// distance counts the letters inserted, omitted, replaced, or swapped with their neighbour between two names of at most
// maxLength bytes.
func distance(a, b string) int {
	var d [maxLength + 1][maxLength + 1]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}
