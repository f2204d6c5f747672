package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/phrase"
)

// Limits of a query.
const (
	maxDevices    = 64
	maxParameters = 8192
)

// Query is the output of "mstconfig -e q" or "mlxconfig -e q" for one device.
type Query struct {
	Number  int    // of the device, from 1
	Type    string // such as "ConnectX7"
	Device  string // PCI address or name
	Columns []Stage
	Rows    []Row
}

// Row is one parameter of a query.
type Row struct {
	Name    string
	Values  []string // as printed, one for each column of the query
	Changed bool     // marked as having a different next value
	Line    int
}

// Value returns the text of a row at a stage; false if the query does not have that column.
func (q *Query) Value(r *Row, s Stage) (string, bool) {
	for i, c := range q.Columns {
		if c == s {
			return r.Values[i], true
		}
	}
	return "", false
}

// ParseQuery parses the output of a query: one or several devices, each with one, two or three columns of values, depending on
// its firmware. An error line of mstconfig ("-E-") is an error.
func ParseQuery(file, text string) ([]Query, error) {
	if err := tooLong(file, len(text)); err != nil {
		return nil, err
	}
	p := queryParser{file: file}
	line := 0
	for s := range strings.Lines(text) {
		line++
		if err := p.line(line, strings.TrimRight(s, " \t\r\n")); err != nil {
			return nil, err
		}
	}
	if p.columns == 0 {
		return nil, &ParseError{File: file, Line: max(line, 1), Found: phrase.Of("adopt.no-configurations"), Allowed: phrase.Of("adopt.want-mstconfig")}
	}
	return p.out, nil
}

// queryParser is the state of a parser between two lines of a query.
type queryParser struct {
	file    string
	out     []Query
	columns int  // number of columns of the current table
	rows    bool // inside a table
	count   int
	seen    map[string]int // lines of the device's names
}

func (p *queryParser) line(n int, s string) error {
	trimmed := strings.TrimSpace(s)
	fail := func(found, allowed phrase.Text) error {
		return &ParseError{File: p.file, Line: n, Found: found, Allowed: allowed}
	}
	switch {
	case strings.HasPrefix(trimmed, "-E-"):
		return fail(quoted(trimmed), phrase.Of("adopt.want-success"))
	case trimmed == "", strings.HasPrefix(trimmed, "-W-"), strings.HasPrefix(trimmed, "-I-"), strings.Trim(trimmed, "-") == "":
		return nil
	case strings.HasPrefix(trimmed, "The '*' shows"):
		p.rows = false
		return nil
	case strings.HasPrefix(trimmed, "Device #"):
		return p.begin(trimmed, fail)
	}
	if title, rest, ok := strings.Cut(trimmed, ":"); ok && !strings.ContainsAny(title, " \t") || strings.HasPrefix(trimmed, "Device type:") {
		if title == "Configurations" {
			return p.header(rest, fail)
		}
		if !p.rows && len(p.out) > 0 {
			switch title {
			case "Device type":
				p.out[len(p.out)-1].Type = strings.TrimSpace(rest)
			case "Device":
				p.out[len(p.out)-1].Device = strings.TrimSpace(rest)
			}
			return nil
		}
	}
	if !p.rows {
		return nil // text before a table
	}
	return p.row(n, s, fail)
}

func (p *queryParser) begin(s string, fail func(found, allowed phrase.Text) error) error {
	word := strings.TrimSuffix(strings.TrimPrefix(s, "Device #"), ":")
	number, err := strconv.Atoi(word)
	if err != nil || number < 1 {
		return fail(quoted(s), phrase.Of("adopt.want-device"))
	}
	if len(p.out) == maxDevices {
		return fail(phrase.Of("adopt.more-devices"), phrase.Of("want.most", "max", maxDevices))
	}
	p.out, p.rows, p.seen = append(p.out, Query{Number: number}), false, map[string]int{}
	return nil
}

func (p *queryParser) header(titles string, fail func(found, allowed phrase.Text) error) error {
	var columns []Stage
	for rest := strings.TrimSpace(titles); rest != ""; rest = strings.TrimSpace(rest) {
		switch {
		case strings.HasPrefix(rest, "Default"):
			columns, rest = append(columns, StageDefault), rest[len("Default"):]
		case strings.HasPrefix(rest, "Current"):
			columns, rest = append(columns, StageCurrent), rest[len("Current"):]
		case strings.HasPrefix(rest, "Next Boot"):
			columns, rest = append(columns, StageNext), rest[len("Next Boot"):]
		default:
			return fail(quoted(rest), phrase.Of("adopt.want-columns"))
		}
	}
	sorted := slices.Clone(columns)
	slices.Sort(sorted)
	if len(columns) == 0 || len(slices.Compact(sorted)) != len(columns) {
		return fail(quoted(strings.TrimSpace(titles)), phrase.Of("adopt.want-columns-once"))
	}
	if len(p.out) == 0 {
		p.out, p.seen = append(p.out, Query{Number: 1}), map[string]int{}
	}
	q := &p.out[len(p.out)-1]
	if q.Columns != nil && !slices.Equal(q.Columns, columns) {
		return fail(quoted(strings.TrimSpace(titles)), phrase.Of("adopt.want-same-columns"))
	}
	q.Columns, p.rows = columns, true
	p.columns++
	return nil
}

// row parses "* NAME value value value". Values as wide as their column have no space between them, so a value in parentheses
// ends at its parenthesis.
func (p *queryParser) row(n int, s string, fail func(found, allowed phrase.Text) error) error {
	words := strings.Fields(strings.ReplaceAll(s, ")", ") "))
	r := Row{Line: n}
	if len(words) > 0 && words[0] == "*" {
		r.Changed, words = true, words[1:]
	}
	if len(words) > 0 && words[0] == "RO" {
		words = words[1:]
	}
	q := &p.out[len(p.out)-1]
	if len(words) != 1+len(q.Columns) {
		return fail(phrase.Of("adopt.values-in", "n", max(0, len(words)-1), "row", quote(strings.TrimSpace(s))), phrase.Of("adopt.want-values", "n", len(q.Columns)))
	}
	if p.count++; p.count > maxParameters {
		return fail(phrase.Of("adopt.more-parameters"), phrase.Of("want.most", "max", maxParameters))
	}
	r.Name, r.Values = words[0], words[1:]
	if first, twice := p.seen[r.Name]; twice {
		return fail(phrase.Of("adopt.again", "name", quote(r.Name)), phrase.Of("adopt.want-once", "line", first))
	}
	p.seen[r.Name] = n
	q.Rows = append(q.Rows, r)
	return nil
}

// Mlxconfig parses a query of one device as state. It returns names that are not in the table as unknown; an illegal value of a
// known name is an error.
func Mlxconfig(file, text string, table *nicparam.Table) (*State, error) {
	queries, err := ParseQuery(file, text)
	if err != nil {
		return nil, err
	}
	if len(queries) != 1 {
		return nil, &ParseError{File: file, Found: phrase.Of("adopt.devices", "n", len(queries)), Allowed: phrase.Of("adopt.want-one-device")}
	}
	return queries[0].State(file, table)
}

// State converts a query to values of parameters.
func (q *Query) State(file string, table *nicparam.Table) (*State, error) {
	s := &State{Settings: make([]Found, 0, len(q.Rows)*len(q.Columns))}
	for i := range q.Rows {
		r := &q.Rows[i]
		base, port := nicparam.SplitNV(r.Name)
		p, ok := table.ByNV(base)
		if !ok || (p.Scope == nicparam.ScopeDevice) != (port == 0) {
			s.Unknown = append(s.Unknown, Unknown{Name: r.Name, File: file, Line: r.Line})
			continue
		}
		for c, stage := range q.Columns {
			if r.Values[c] == "N/A" {
				continue
			}
			v, err := p.Parse(r.Values[c])
			if err != nil || !p.Legal(v) && !p.Holds(nicparam.NV, v, table.Caps()) {
				return nil, &ParseError{File: file, Line: r.Line, Field: r.Name, Found: quoted(r.Values[c]), Allowed: allowed(p)}
			}
			s.Settings = append(s.Settings, Found{Setting: nicparam.Setting{Key: nicparam.Key{Port: port, Name: p.Name}, Value: v},
				Stage: stage, By: nicparam.NV, File: file, Line: r.Line})
		}
	}
	return s, nil
}

// QueryArgs returns the arguments of mstconfig that query all parameters of a device with all columns.
func QueryArgs(device string) []string { return []string{"-d", device, "-e", "q"} }

// SetArgs returns the arguments of mstconfig that set parameters of a device in one operation, without a prompt. It returns an
// error for a parameter without a non-volatile name and for a value that its register cannot hold. It accepts a value that fits
// the register but is illegal in the table, because a restore may need it; callers must check new values with the table.
func SetArgs(device string, set []nicparam.Setting, table *nicparam.Table) ([]string, error) {
	if device == "" || strings.HasPrefix(device, "-") || strings.ContainsAny(device, " \t\n\x00") {
		return nil, fmt.Errorf("device %s: want a PCI address or the name of a device", quote(device))
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("set of device %s: found no parameters, want at least one", quote(device))
	}
	args := []string{"-d", device, "-y", "set"}
	for _, s := range set {
		p, ok := table.Find(s.Name)
		if !ok {
			return nil, &nicparam.ValueError{Key: s.Key, Found: "no such parameter", Allowed: "a name of the table"}
		}
		name, err := p.NVName(s.Port)
		if err != nil {
			return nil, err
		}
		if !p.Holds(nicparam.NV, s.Value, table.Caps()) {
			return nil, &nicparam.ValueError{Key: s.Key, Found: strconv.FormatUint(s.Value, 10), Allowed: p.Allowed()}
		}
		args = append(args, name+"="+strconv.FormatUint(s.Value, 10))
	}
	return args, nil
}
