package remote

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/i18n"
)

func TestLongListsOfFieldsAreShortened(t *testing.T) {
	t.Parallel()
	text, err := i18n.Load(i18n.Default)
	if err != nil {
		t.Fatal(err)
	}
	type sl struct {
		Timer int `json:"timer"`
	}
	got := (&cli{texts: text}).fieldTable(map[string]any{
		"name": "host-001/P1", "table": slices.Repeat([]string{"0:1"}, 128), "few": []int{1, 2}, "none": []int{},
		"deep": map[string]any{"sls": slices.Repeat([]sl{{3}}, 2)}, "many": slices.Repeat([]sl{{7}}, 18),
	}).texts()
	want := [][]string{{"deep.sls[0].timer", "3"}, {"deep.sls[1].timer", "3"}, {"few", "1 2"}}
	for i := range mostObjects {
		want = append(want, []string{"many[" + inline(i) + "].timer", "7"})
	}
	want = append(want, []string{"many", "… +2"}, []string{"name", "host-001/P1"}, []string{"none", "[]"},
		[]string{"table", "0:1 0:1 0:1 0:1 0:1 0:1 0:1 0:1 … +120"})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A NIC port has more parameters than a list of objects shows, and each one matters.
func TestNamedValuesHaveALineEach(t *testing.T) {
	t.Parallel()
	text, err := i18n.Load(i18n.Default)
	if err != nil {
		t.Fatal(err)
	}
	type param struct {
		Name  string `json:"name"`
		Index int    `json:"index,omitempty"`
		Value int64  `json:"value"`
	}
	params := slices.Repeat([]param{{Name: "rpg_gd", Value: 11}}, 17)
	params = append(params, param{"vf_tx_share", 0, 18750}, param{"vf_tx_share", 1, 6250})
	got := (&cli{texts: text}).fieldTable(map[string]any{"params": params}).texts()
	if len(got) != 19 {
		t.Fatalf("%d rows: %q", len(got), got)
	}
	want := [][]string{{"params.rpg_gd", "11"}, {"params.vf_tx_share", "18750"}, {"params.vf_tx_share[1]", "6250"}}
	if d := cmp.Diff(want, got[16:]); d != "" {
		t.Error(d)
	}
	got = (&cli{texts: text}).fieldTable(map[string]any{"params": slices.Repeat(params[:1], mostSettings+1)}).texts()
	if d := cmp.Diff([]string{"params", "… +1"}, got[len(got)-1]); d != "" {
		t.Error(d)
	}
}

// texts returns the cells of a table without its header.
func (t *table) texts() [][]string {
	out := make([][]string, len(t.rows))
	for i, row := range t.rows {
		for _, cell := range row {
			out[i] = append(out[i], cell.Text)
		}
	}
	return out
}
