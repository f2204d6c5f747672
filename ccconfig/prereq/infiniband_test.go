package prereq_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/prereq"
)

// unmetIDs lists the unmet items as ID=state, and joins their sentences.
func unmetIDs(items []prereq.Item) (ids, texts string) {
	var list, text []string
	for _, i := range prereq.Unmet(items) {
		list, text = append(list, string(i.ID)+"="+string(i.State)), append(text, i.Sentence().String())
	}
	return strings.Join(list, " "), strings.Join(text, "; ")
}

func TestCongestionControlAgentsAreChecked(t *testing.T) {
	t.Parallel()
	needs := prereq.InfiniBand{TableEntries: 128}
	for name, c := range map[string]struct {
		agent   prereq.Agent
		adapter bool
		want    string
		texts   string
	}{
		"prepared adapter":         {prereq.Agent{Entries: 128, Key: prereq.KeyAccepted}, true, "", ""},
		"prepared switch":          {prereq.Agent{Key: prereq.KeyAccepted}, false, "", ""},
		"adapter without class":    {prereq.Agent{Absent: true}, true, "congestion-class=wrong", "no flow slows down"},
		"switch without class":     {prereq.Agent{Absent: true}, false, "congestion-class=wrong", "marks no packets"},
		"no response with the key": {prereq.Agent{Silent: true}, true, "cc-key=wrong", "cc_key_file"},
		"another manager's key":    {prereq.Agent{Entries: 128, Key: prereq.KeyOther}, true, "cc-key=wrong", "another manager has set its own"},
		"a key that is not read":   {prereq.Agent{Entries: 128, Key: prereq.KeyUnread, Reason: "timeout"}, true, "cc-key=unknown", "could not be read: timeout"},
		"a short table":            {prereq.Agent{Entries: 64, Key: prereq.KeyAccepted}, true, "congestion-table=wrong", "ControlTableCap is 64 entries, want 128 entries"},
	} {
		ids, texts := unmetIDs(needs.Agent(c.agent, c.adapter))
		if ids != c.want || !strings.Contains(texts, c.texts) {
			t.Errorf("%s: %q: %s", name, ids, texts)
		}
	}
	if ids, _ := unmetIDs((&prereq.InfiniBand{}).Agent(prereq.Agent{Key: prereq.KeyAccepted}, true)); ids != "congestion-table=wrong" {
		t.Errorf("an adapter without a table, no plan known: %q", ids)
	}
}

func TestServiceLevelsOfAPortAreJudged(t *testing.T) {
	t.Parallel()
	table := func(vls ...uint8) (out prereq.SLToVL) {
		copy(out[1:], vls)
		return out
	}
	for name, c := range map[string]struct {
		vls   prereq.VLs
		meet  bool
		want  string
		texts string
	}{
		"one VL":                             {prereq.VLs{Operational: 1}, true, "", ""},
		"one of several":                     {prereq.VLs{Operational: 4, Tables: []prereq.SLToVL{table(2, 2), table(2, 2)}}, true, "", ""},
		"lanes of their own":                 {prereq.VLs{Operational: 4, Tables: []prereq.SLToVL{table(2, 3)}}, true, "one-lane=wrong", "is 2, want 1"},
		"separated by ingress port":          {prereq.VLs{Operational: 4, Tables: []prereq.SLToVL{table(2, 2), table(3, 3)}}, true, "one-lane=wrong", "arbitration, not the weights"},
		"separated where no tenants contend": {prereq.VLs{Operational: 4, Tables: []prereq.SLToVL{table(2, 3)}}, false, "", ""},
		"dropped":                            {prereq.VLs{Operational: 4, Tables: []prereq.SLToVL{table(2, 15)}}, false, "lanes=wrong", "VL 15 for SL 2"},
		"not in operation":                   {prereq.VLs{Operational: 4, Tables: []prereq.SLToVL{table(4, 0)}}, false, "lanes=wrong", "has 4 data VLs in operation and drops every packet of tenants on SL 1"},
		"not read":                           {prereq.VLs{Err: errors.New("timeout")}, true, "lanes=unknown", "could not be read: timeout"},
	} {
		lane := prereq.Lane{Out: 3, SLs: []uint8{1, 2}, Meet: c.meet}
		items := lane.Judge(c.vls)
		ids, texts := unmetIDs(items)
		if ids != c.want || !strings.Contains(texts, c.texts) {
			t.Errorf("%s: %q: %s", name, ids, texts)
		}
		if slices.ContainsFunc(items, func(i prereq.Item) bool { return i.Repair != nil }) {
			t.Errorf("%s: Fairlane sets no lanes by prerequisites: %+v", name, items)
		}
	}
}
