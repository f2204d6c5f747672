package docs

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/nicparam"
)

// widestNIC is the table of devices that have everything.
func widestNIC() *nicparam.Table {
	return nicparam.New(nicparam.Caps{Limits: dcqcn.Limits{Rate32: true, UndocumentedGD: true}, GeneralCC: true, NewNV: true, VFRates: true, Switchdev: true, TCRates: true})
}

// roceRow is a parameter's row in the page: what the narrowest device allows, and in brackets what the widest does where that
// is more; the back ends with the width of a register; what the device needs; the effect.
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

// TestThePageOfRoCEHasEveryParameter compares the table of parameters with nicparam's, both of the narrowest and of the widest
// devices, and there is no row more.
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
