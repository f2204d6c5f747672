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

// Percent returns a fraction in percent.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// PercentOrDash is Percent for a fraction that may be unknown.
func PercentOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return Percent(*v)
}

// OrZero returns the value of a pointer; for nil, which means unknown, the zero value.
func OrZero[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

const barWidth = 18

// RateBar draws a rate as a bar of fixed width, followed by the figure.
func RateBar(v, most quantity.BitRate, fill rune) string {
	n := 0
	if most > 0 {
		n = int((int64(v)*barWidth + int64(most)/2) / int64(most))
	}
	return strings.Repeat(string(fill), n) + strings.Repeat(" ", barWidth-n) + fmt.Sprintf(" %5.1f", v.Gbit())
}

// Size returns bytes in decimal units, as usual for flow sizes.
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

// Finding returns a finding without its advice.
func (a *App) Finding(f *policy.Finding) string {
	return a.T("finding", "code", f.Code, "message", a.Texts.Either(f.Message, f.Statement))
}

// IsYAML reports whether a file name has a suffix of YAML files.
func IsYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}
