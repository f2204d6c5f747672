package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// print writes data in the chosen form: tables with an empty line between them, without those that are nil, or the API's own
// JSON, or the same as YAML.
func (c *cli) print(cmd *cobra.Command, data any, shows ...func() *table) error {
	w := cmd.OutOrStdout()
	if c.output == "table" {
		return c.printTables(w, shows)
	}
	b, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	if c.output == "yaml" {
		if b, err = toYAML(b); err != nil {
			return fmt.Errorf("encode output: %w", err)
		}
		_, err = w.Write(b)
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

func (c *cli) printTables(w io.Writer, shows []func() *table) error {
	var text bytes.Buffer
	for _, show := range shows {
		t := show()
		if t == nil {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		if err := t.write(&text); err != nil {
			return err
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

// toYAML turns JSON into block YAML. JSON is YAML already; reading it as nodes keeps the order of
// fields and every digit of a number.
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

// plain drops JSON's braces; strings stay quoted only where YAML needs it, which clearing the
// style leaves to the encoder.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// table is aligned text for people.
type table struct {
	head  []string
	right []bool // by column: numbers stand right
	rows  [][]string
}

// newTable names columns by catalogue keys; a key that ends in ">" stands right.
func (c *cli) newTable(keys ...string) *table {
	t := &table{}
	for _, k := range keys {
		name, right := strings.CutSuffix(k, ">")
		t.head, t.right = append(t.head, c.t("col."+name)), append(t.right, right)
	}
	return t
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = clean(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// clean takes control characters out: names come from devices and must not steer the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
}

func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-width(cell))
			if t.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
			line.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// width is the number of terminal columns of a text: East Asian wide characters take two
// (Unicode Standard Annex 11), combining marks none.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	for _, span := range [...][2]rune{
		{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

// barWidth is the length of a full bar in columns.
const barWidth = 24

// bar draws part of whole with a mark where the entitlement lies: "██████▌   |   ".
func bar(part, entitled, whole float64) string {
	if whole <= 0 {
		return ""
	}
	cells := []rune(strings.Repeat("·", barWidth))
	eighths := int(min(max(part/whole, 0), 1)*barWidth*8 + 0.5)
	for i := range eighths / 8 {
		cells[i] = '█'
	}
	if rest := eighths % 8; rest > 0 {
		cells[eighths/8] = []rune("▏▎▍▌▋▊▉")[rest-1]
	}
	if at := int(entitled / whole * barWidth); entitled > 0 {
		cells[min(max(at-1, 0), barWidth-1)] = '|'
	}
	return string(cells)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// percentOrDash is percent of what may not be known.
func percentOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return percent(*v)
}

// short is the first twelve digits of a long name, enough to give back to a command.
func short(name string) string { return name[:min(12, len(name))] }
