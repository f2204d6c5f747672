package docs

import (
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"fairlane/wrcc/p4info"
)

// TestThePageOfWRCCHasEveryEntity compares the table of entities with the P4Info: names, ids, fields and widths. It
// fails for an extra row.
func TestThePageOfWRCCHasEveryEntity(t *testing.T) {
	t.Parallel()
	info, err := p4info.New()
	if err != nil {
		t.Fatal(err)
	}
	type named interface{ GetPreamble() *configv1.Preamble }
	want := map[string][]string{} // maps "| kind `name`" to the rest of its row
	add := func(kind string, e named, says ...string) {
		want[fmt.Sprintf("| %s `%s`", kind, e.GetPreamble().GetAlias())] = append(says, fmt.Sprintf("`0x%08x`", e.GetPreamble().GetId()))
	}
	for _, e := range info.GetTables() {
		var says []string
		for _, f := range e.GetMatchFields() {
			says = append(says, fmt.Sprintf("`%s` %d", f.GetName(), f.GetBitwidth()))
		}
		add("table", e, says...)
	}
	for _, e := range info.GetActions() {
		var says []string
		for _, f := range e.GetParams() {
			says = append(says, fmt.Sprintf("`%s` %d", f.GetName(), f.GetBitwidth()))
		}
		add("action", e, says...)
	}
	for _, e := range info.GetRegisters() {
		add("register", e, fmt.Sprintf("%d bits", e.GetTypeSpec().GetBitstring().GetBit().GetBitwidth()))
	}
	for _, e := range info.GetCounters() {
		add("counter", e)
	}
	for _, e := range info.GetDigests() {
		var says []string
		for _, m := range info.GetTypeInfo().GetStructs()[e.GetTypeSpec().GetStruct().GetName()].GetMembers() {
			says = append(says, fmt.Sprintf("`%s` %d", m.GetName(), m.GetTypeSpec().GetBitstring().GetBit().GetBitwidth()))
		}
		add("digest", e, says...)
	}
	rows := map[string]string{}
	for _, line := range strings.Split(section(page(t, "docs/wrcc.md"), "Entities"), "\n") {
		if name, _, ok := strings.Cut(line, " |"); ok && strings.Contains(line, "`0x") {
			name, _, _ = strings.Cut(name, " (")
			rows[name] = line
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows, the P4Info has %d entities", len(rows), len(want))
	}
	for name, says := range want {
		for _, s := range says {
			if !strings.Contains(rows[name], s) {
				t.Errorf("the row %q is %q: want it to have %q", name, rows[name], s)
			}
		}
	}
}
