package cmdline

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/policy"
)

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Percent prints a part of a whole.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// PercentOrDash is percent of what may not be known.
func PercentOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return Percent(*v)
}

// OrZero is what a pointer points at, and the zero value for nil, which is what is not known.
func OrZero[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

const barWidth = 18

// RateBar draws a rate as a bar of fixed width with the figure behind it.
func RateBar(v, most quantity.BitRate, fill rune) string {
	n := 0
	if most > 0 {
		n = int((int64(v)*barWidth + int64(most)/2) / int64(most))
	}
	return strings.Repeat(string(fill), n) + strings.Repeat(" ", barWidth-n) + fmt.Sprintf(" %5.1f", v.Gbit())
}

// Size prints bytes in decimal units, as flow sizes are given.
func Size(n int64) string {
	for _, u := range []struct {
		div  int64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}} {
		if n >= u.div {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(u.div), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Finding writes a finding without its advice.
func (a *App) Finding(f *policy.Finding) string {
	return a.T("finding", "code", f.Code, "message", a.Texts.Either(f.Message, f.Said))
}

// IsYAML reports whether a file name ends as those of YAML files do.
func IsYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}
