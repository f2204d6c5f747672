package docs

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/nicparam"
)

// widestNIC returns the table of devices with all capabilities.
func widestNIC() *nicparam.Table {
	return nicparam.New(nicparam.Caps{Limits: dcqcn.Limits{Rate32: true, UndocumentedGD: true}, GeneralCC: true, NewNV: true, VFRates: true, Switchdev: true, TCRates: true})
}

// roceRow returns a parameter's row in the page: the range of the narrowest device and, in brackets, that of the widest
// if it is larger; the back ends, with the width of a register; the required capability; the effect.
func roceRow(p, wide *nicparam.Param) string {
	allowed := p.Allowed()
	if w := wide.Allowed(); w != allowed {
		allowed += " (" + w + ")"
	}
	value := "-"
	if p.Known {
		value = fmt.Sprint(p.Default)
	}
	unit := p.Unit
	if unit == "" {
		unit = "-"
	}
	var backEnds []string
	for _, s := range p.Sources {
		backEnd := string(s.Backend)
		if s.Backend == nicparam.NV {
			backEnd += fmt.Sprintf(" %d", s.Bits)
			if s.WideBits != s.Bits {
				backEnd += fmt.Sprintf("/%d", s.WideBits)
			}
		}
		backEnds = append(backEnds, backEnd)
	}
	needs := string(p.Needs)
	if needs == "" {
		needs = "-"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s | %s |", p.Name, p.Scope, allowed, unit, value, strings.Join(backEnds, ", "), needs, p.Description)
}

// TestThePageOfRoCEHasEveryParameter compares the table of parameters with nicparam's, for the narrowest and the widest
// devices. It fails for an extra row.
func TestThePageOfRoCEHasEveryParameter(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{}
	for line := range strings.Lines(section(page(t, "docs/roce.md"), "Parameters")) {
		if strings.HasPrefix(line, "| `") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	narrow, wide := nicparam.New(nicparam.Caps{}), widestNIC()
	for i := range narrow.Params() {
		p := &narrow.Params()[i]
		w, _ := wide.Find(p.Name)
		row := roceRow(p, w)
		if !rows[row] {
			t.Errorf("docs/roce.md lacks the row\n%s", row)
		}
		delete(rows, row)
	}
	for row := range rows {
		t.Errorf("docs/roce.md has a row that the table lacks:\n%s", row)
	}
}
