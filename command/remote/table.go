package remote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"fairlane/command/cmdline"
	"fairlane/internal/texttable"
)

// print writes data in the chosen format: as tables separated by empty lines, without nil ones, as the API's JSON, or
// as YAML.
func (c *cli) print(cmd *cobra.Command, data any, shows ...func() *table) error {
	w := cmd.OutOrStdout()
	if c.output == "table" {
		return c.printTables(cmd, shows)
	}
	if c.output == "json" {
		return cmdline.PrintJSON(w, data)
	}
	b, err := json.MarshalIndent(data, "", "  ")
	if err == nil {
		b, err = toYAML(b)
	}
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// printTables prints tables, long ones up to the limits of --top and --all, with a line about the omitted rows.
func (c *cli) printTables(cmd *cobra.Command, shows []func() *table) error {
	w := cmd.OutOrStdout()
	var text bytes.Buffer
	most, left := c.rows.most(cmd), 0
	for _, show := range shows {
		t := show()
		if t == nil {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		left += t.cut(most)
		columns := texttable.Columns(w, c.getenv)
		if t.whole || c.rows.all {
			columns = 0
		}
		if err := t.write(&text, columns); err != nil {
			return err
		}
		most = c.rows.next(cmd, most)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return err
	}
	if left > 0 {
		c.say(cmd, "msg.rows-left", "count", left)
	}
	return nil
}

// toYAML turns JSON into block YAML. JSON is valid YAML; parsing it as nodes keeps the order of fields and every digit
// of numbers.
func toYAML(b []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	plain(&doc)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// plain removes JSON's braces and quotes. With the style cleared, the encoder quotes only strings that need it.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// table is an aligned table for terminals.
type table struct {
	head     []string
	right    []bool // by column: right-aligned, for numbers
	optional []bool // by column: omitted from a narrow table
	rows     [][]texttable.Cell
	prose    bool      // the last column contains sentences
	whole    bool      // no row is omitted and no cell shortened
	ranks    []float64 // of rows; a cut table keeps the highest, which are the worst
	// latest means that rows are in order of time, oldest first: a cut table keeps the last ones, in their order.
	latest bool
}

// newTable names columns by catalogue keys; a column whose key ends in ">" is right-aligned, one in "?" is omitted from
// a narrow table.
func (c *cli) newTable(keys ...string) *table {
	t := &table{prose: isProse(keys[len(keys)-1])}
	for _, k := range keys {
		name, right := strings.CutSuffix(k, ">")
		name, optional := strings.CutSuffix(name, "?")
		t.head, t.right, t.optional = append(t.head, c.t("col."+name)), append(t.right, right), append(t.optional, optional)
	}
	return t
}

// isProse reports whether a column holds sentences.
func isProse(key string) bool {
	switch key {
	case "about", "fault", "formula", "meaning", "message", "note", "result":
		return true
	}
	return false
}

// add adds a row; it keeps texttable.Cell values unchanged.
func (t *table) add(cells ...any) { t.addRanked(0, cells...) }

// addRanked adds a row that a cut table keeps before rows of lower rank.
func (t *table) addRanked(rank float64, cells ...any) {
	row := make([]texttable.Cell, len(cells))
	for i, cell := range cells {
		if ready, ok := cell.(texttable.Cell); ok {
			row[i] = ready
			continue
		}
		row[i].Text = clean(fmt.Sprint(cell))
	}
	t.rows, t.ranks = append(t.rows, row), append(t.ranks, rank)
}

// without omits a column whose contents are shown outside the table.
func (t *table) without(name string) *table {
	i := slices.Index(t.head, name)
	t.head, t.right, t.optional = slices.Delete(t.head, i, i+1), slices.Delete(t.right, i, i+1), slices.Delete(t.optional, i, i+1)
	for k := range t.rows {
		t.rows[k] = slices.Delete(t.rows[k], i, i+1)
	}
	return t
}

// cut keeps the most rows of the highest rank, in descending order, or the latest ones, and returns the number of
// omitted rows. A table within the limit keeps its order.
func (t *table) cut(most int) (left int) {
	if left = len(t.rows) - most; left <= 0 || t.whole {
		return 0
	}
	if t.latest {
		t.rows = t.rows[left:]
		return left
	}
	order := make([]int, len(t.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.ranks[b], t.ranks[a]) })
	kept := make([][]texttable.Cell, most)
	for i := range kept {
		kept[i] = t.rows[order[i]]
	}
	t.rows = kept
	return left
}

// clean removes control characters: names come from devices and must not control the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
}

func (t *table) write(w io.Writer, columns int) error {
	head := make([]texttable.Cell, len(t.head))
	for i, name := range t.head {
		head[i].Text = name
	}
	out := texttable.Table{Right: t.right, Optional: t.optional, Prose: t.prose, Rows: append([][]texttable.Cell{head}, t.rows...)}
	return out.Write(w, columns)
}

// bar draws part of whole with a mark at the entitlement: "██████▌ | ".
func bar(part, entitled, whole float64) texttable.Cell {
	if whole <= 0 {
		return texttable.Cell{}
	}
	return texttable.Cell{Draw: func(columns int) string {
		cells := []rune(strings.Repeat("·", columns))
		eighths := int(min(max(part/whole, 0), 1)*float64(columns)*8 + 0.5)
		for i := range eighths / 8 {
			cells[i] = '█'
		}
		if rest := eighths % 8; rest > 0 {
			cells[eighths/8] = []rune("▏▎▍▌▋▊▉")[rest-1]
		}
		if at := int(entitled / whole * float64(columns)); entitled > 0 {
			cells[min(max(at-1, 0), columns-1)] = '|'
		}
		return string(cells)
	}}
}

// short returns the first twelve digits of a long name, enough to identify it in a command.
func short(name string) string { return name[:min(12, len(name))] }
