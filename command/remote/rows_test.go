package remote

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
)

func TestFindingsAreSummarizedByCode(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	var list []FindingText
	for i := range 480 {
		list = append(list, FindingText{"device-limit", []string{fmt.Sprint("tenant-", i%20)}, phrase.Verbatim(fmt.Sprintf("port h%d cannot hold it", i)), phrase.Verbatim(fmt.Sprintf("renew port h%d", i))})
	}
	long := strings.Repeat("shares settle late ", 30)
	list = append(list, FindingText{"slow", nil, phrase.Verbatim(long), phrase.Verbatim(long)}, FindingText{"odd", nil, phrase.Verbatim("one"), phrase.Text{}}, FindingText{"odd", nil, phrase.Verbatim("two"), phrase.Text{}})
	off := func(tenant string) float64 {
		if tenant == "tenant-7" {
			return 0.4
		}
		return 0.1
	}
	printed := func(columns int, all bool) []string {
		var out strings.Builder
		p := FindingPrinter{Out: &out, Texts: texts, Columns: columns, All: all, Off: off}
		p.Print(list)
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	got := printed(0, false)
	want := []string{
		"finding device-limit, 480 of this kind for 20 tenants; the worst: port h7 cannot hold it", "  fix: renew port h7",
		"finding slow: " + long, "  fix: " + long,
		"finding odd, 2 of this kind; the first: one",
		"findings are shortened: --all prints 483 findings in full",
	}
	for i := range want {
		if i >= len(got) || strings.TrimSpace(got[i]) != strings.TrimSpace(want[i]) {
			t.Fatalf("without a terminal:\n%s", strings.Join(got, "\n"))
		}
	}
	for _, columns := range []int{80, 200} {
		lines, group := printed(columns, false), 0
		for _, line := range lines {
			if group++; strings.HasPrefix(line, "finding") {
				group = 1
			}
			if n := len([]rune(line)); n > columns || group > mostLines {
				t.Errorf("line %d of a group has %d of %d columns: %s", group, n, columns, line)
			}
		}
	}
	if full := printed(80, true); len(full) != 2*481+2 || full[0] != "finding device-limit: port h0 cannot hold it" {
		t.Errorf("all findings have %d lines, the first %q", len(full), full[0])
	}
}

func TestLargeTablesShowTheWorstRows(t *testing.T) {
	t.Parallel()
	fill := func(n int) *table {
		tab := &table{head: []string{"DEVICE"}, right: []bool{false}}
		for i := range n {
			tab.addRanked(stateRank([]string{"in-sync", "failed", "drifted"}[i%3]), fmt.Sprint("h", i))
		}
		return tab
	}
	names := func(tab *table) string {
		var out []string
		for _, row := range tab.texts() {
			out = append(out, row[0])
		}
		return strings.Join(out, " ")
	}
	tab := fill(9)
	if left := tab.cut(4); left != 5 || names(tab) != "h1 h4 h7 h2" {
		t.Errorf("%d rows are left out of %s", left, names(tab))
	}
	tab = fill(4)
	if left := tab.cut(4); left != 0 || names(tab) != "h0 h1 h2 h3" {
		t.Errorf("a table that fits lost %d rows or its order: %s", left, names(tab))
	}
	if tab = fill(9); func() int { tab.whole = true; return tab.cut(4) }() != 0 || len(tab.rows) != 9 {
		t.Error("a complete table was requested and rows are missing")
	}
}

func TestFiltersOfDevices(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		flags       rowFlags
		name, state string
		want        bool
	}{
		{rowFlags{}, "h1/P1", "failed", true},
		{rowFlags{state: "failed"}, "h1/P1", "failed", true},
		{rowFlags{state: "failed"}, "h1/P1", "in-sync", false},
		{rowFlags{name: "h1*"}, "h12/P1", "in-sync", true},
		{rowFlags{name: "h1"}, "h12/P1", "in-sync", false},
		{rowFlags{name: "h?", state: "in-sync"}, "h1", "in-sync", true},
	} {
		if got := x.flags.takes(x.name, x.state); got != x.want {
			t.Errorf("%+v takes %s, %s: %t", x.flags, x.name, x.state, got)
		}
	}
}

func TestDriftOfManyDevicesHasARowForEach(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{texts: texts}
	list := []gen.Device{
		{Name: "h1", State: "drifted", Differences: []gen.Difference{{Field: "a", Desired: "1", Observed: "0"}, {Field: "b", Desired: "1", Observed: "0"}}},
		{Name: "h2", State: "in-sync"}, {Name: "h3", State: "failed", Error: new("cable cut")},
	}
	for most, want := range map[int][][]string{
		2: {{"h1", "drifted", "a", "1", "0", ""}, {"h1", "drifted", "b", "1", "0", ""}, {"h3", "failed", "", "", "", "cable cut"}},
		1: {{"h1", "drifted", "a +1", "1", "0", ""}, {"h3", "failed", "", "", "", "cable cut"}},
	} {
		if d := cmp.Diff(want, c.driftTable(list, most).texts()); d != "" {
			t.Errorf("with %d rows: %s", most, d)
		}
	}
}

// A watch of many devices names those that fail, up to a limit, and omits the state changes of the others.
func TestAWatchReportsOnlyFailures(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	events := []gen.Event{{Kind: "rollout.started", Message: "it began"}}
	for i := range 520 {
		events = append(events, gen.Event{Kind: "device.state", Message: fmt.Sprintf("writing h%d", i), Data: map[string]any{"to": "applying", "error": ""}})
		if i%40 == 0 {
			events = append(events, gen.Event{Kind: "device.state", Message: fmt.Sprintf("h%d does not answer", i), Data: map[string]any{"to": "failed", "error": "timeout"}})
		}
	}
	events = append(events, gen.Event{Kind: "rollout.progress", Message: "wave 1 of 1"}, gen.Event{Kind: "rollout.failed", Message: "it ended"})
	for name, tc := range map[string]struct {
		rows  rowFlags
		lines int
	}{
		"by default": {rowFlags{}, 2 + mostNamed}, "all": {rowFlags{all: true}, 2 + 520 + 13}, "quiet": {rowFlags{quiet: true}, mostNamed},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(&out)
		w := &watching{c: &cli{texts: texts, getenv: func(string) string { return "" }, rows: tc.rows}, cmd: cmd}
		for i := range events {
			w.event(&events[i])
		}
		if n := strings.Count(out.String(), "\n"); n != tc.lines || strings.Contains(out.String(), "it ended") || !strings.Contains(out.String(), "h40 does not answer") {
			t.Errorf("%s: %d lines, want %d:\n%s", name, n, tc.lines, out.String())
		}
	}
}

func TestSharesAreFilteredByTenantAndShareError(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{texts: texts}
	measured := func() *gen.Shares {
		return &gen.Shares{
			Tenants: []gen.TenantShare{{Tenant: "near", DeliveredBps: new(int64(1)), ShareError: new(0.01)}, {Tenant: "far", DeliveredBps: new(int64(1)), ShareError: new(0.3)}, {Tenant: "unread"}},
			Links:   []gen.LinkUse{{Name: "read", DeliveredBps: new(int64(1))}, {Name: "unread"}},
		}
	}
	s := measured()
	if err := c.onlyTenant(s, "far"); err != nil || len(s.Tenants) != 1 || s.Tenants[0].Tenant != "far" || len(s.Links) != 0 {
		t.Errorf("one tenant: %+v, %v", s, err)
	}
	if err := c.onlyTenant(measured(), "fra"); cmdline.ExitCode(err) != 2 || !strings.Contains(err.Error(), `"fra"`) {
		t.Errorf("an unknown tenant: %v", err)
	}
	s = measured()
	if onlyWrong(s); len(s.Tenants) != 2 || s.Tenants[0].Tenant != "far" || s.Tenants[1].Tenant != "unread" || len(s.Links) != 1 {
		t.Errorf("what is wrong: %+v", s)
	}
	for limit, want := range map[float64]int{0.1: 2, 0.31: 1, 0.005: 3} { // the limit of the plane, as the service reports it
		s = measured()
		s.ShareErrorLimit = &limit
		if onlyWrong(s); len(s.Tenants) != want {
			t.Errorf("%d tenants are more than %g off, want %d", len(s.Tenants), limit, want)
		}
	}
	if got := c.worstOf(append(measured().Tenants, measured().Tenants...)); strings.Join(got, " ") != "unread=- unread=- far=1 bit/s far=1 bit/s … +2" {
		t.Errorf("the worst of six are %q", got)
	}
}

func TestTablesAreShortenedOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("f", 64)
	for name, tc := range map[string]struct {
		columns string
		rows    rowFlags
		whole   bool
		want    bool // the long text is printed in full
	}{
		"no terminal":     {"", rowFlags{}, false, true},
		"80 columns":      {"80", rowFlags{}, false, false},
		"200 columns":     {"200", rowFlags{}, false, true},
		"all":             {"80", rowFlags{all: true}, false, true},
		"fields of one":   {"80", rowFlags{}, true, true},
		"too few columns": {"20", rowFlags{}, false, false},
	} {
		c := &cli{texts: texts, output: "table", rows: tc.rows, getenv: func(string) string { return tc.columns }}
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		err := c.print(cmd, nil, func() *table {
			if tc.whole {
				return c.fieldTable(map[string]any{"name": long, "note": long})
			}
			tab := c.newTable("device", "state", "fault")
			tab.add("h1/P1", "in sync", long)
			return tab
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), long); got != tc.want {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}
