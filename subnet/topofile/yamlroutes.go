package topofile

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// routes parses a forwarding table: words LID=PORT or LID..LID=PORT with ascending LIDs, in one text or a list of texts.
// Other LIDs have no route.
func (r *yamlReader) routes(item, v *yaml.Node, ports int) ([]ident.PortNum, error) {
	if v == nil {
		return nil, r.fail(item, "routes", none, phrase.Of("topofile.want-route-words"))
	}
	texts := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		texts = v.Content
	}
	row := []ident.PortNum{ident.DropPort}
	for _, t := range texts {
		s, err := r.text(t, "routes")
		if err != nil {
			return nil, err
		}
		for word := range strings.FieldsSeq(s) {
			first, last, port, ok := parseRun(word)
			switch {
			case !ok:
				return nil, r.fail(t, "routes", Quoted(word), phrase.Of("topofile.want-routes"))
			case first < len(row) || last < first || last > int(ident.MaxUnicastLID):
				return nil, r.fail(t, "routes", Quoted(word), phrase.Of("topofile.want-rising", "min", len(row), "max", ident.MaxUnicastLID))
			case port > ports:
				return nil, r.fail(t, "routes", Quoted(word), phrase.Of("topofile.want-port-to", "max", ports))
			}
			for len(row) < first {
				row = append(row, ident.DropPort)
			}
			for len(row) <= last {
				row = append(row, ident.PortNum(port))
			}
		}
	}
	return row, nil
}

// parseRun parses LID=PORT or LID..LID=PORT.
func parseRun(word string) (first, last, port int, ok bool) {
	lids, out, ok := strings.Cut(word, "=")
	if !ok {
		return 0, 0, 0, false
	}
	a, b, ranged := strings.Cut(lids, "..")
	if !ranged {
		b = a
	}
	var fields [3]int
	for i, s := range []string{a, b, out} {
		v, err := strconv.ParseUint(s, 10, 16)
		if err != nil {
			return 0, 0, 0, false
		}
		fields[i] = int(v)
	}
	return fields[0], fields[1], fields[2], true
}

// routeLines returns the inverse of routes, in lines of moderate length.
func routeLines(row []ident.PortNum) []string {
	const width = 100
	var lines []string
	var b strings.Builder
	for lid := 1; lid < len(row); {
		end := lid
		for end+1 < len(row) && row[end+1] == row[lid] {
			end++
		}
		if row[lid] != ident.DropPort {
			if b.Len() > width {
				lines = append(lines, b.String())
				b.Reset()
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.Itoa(lid))
			if end > lid {
				b.WriteString("..")
				b.WriteString(strconv.Itoa(end))
			}
			b.WriteByte('=')
			b.WriteString(strconv.Itoa(int(row[lid])))
		}
		lid = end + 1
	}
	return append(lines, b.String())
}
