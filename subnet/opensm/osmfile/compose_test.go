package osmfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet/ident"
)

// files returns texts at the paths in OpenSM's options.
func files(options, partitions, policy string) Texts {
	text := func(path, data string) Text {
		if data == "-" {
			return Text{Path: path}
		}
		return Text{Path: path, Present: true, Data: data}
	}
	return Texts{text("/etc/opensm/opensm.conf", options), text("/etc/opensm/partitions.conf", partitions), text("/etc/opensm/qos-policy.conf", policy)}
}

func gold() Desired {
	return Desired{Partitions: []Partition{{Tenant: "gold", PKey: 1, SL: 2, IPoIB: true, Members: []Member{{PortGUID: 0x12, Full: true}, {PortGUID: 0x11}}}}}
}

func body(t *testing.T, x Text) string {
	t.Helper()
	b, err := FindBlock(x.Data)
	if err != nil {
		t.Fatal(err)
	}
	return b.Body
}

// others omits the problem of OpenSM's default arbitration tables, which all files of these tests have.
func others(ps []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Code == CodeFirst })
}

func TestComposeWithoutFiles(t *testing.T) {
	t.Parallel()
	c := Compose(files("-", "-", "-"), gold(), Settings{})
	if ps := others(c.Problems); len(ps) > 0 {
		t.Error(ps)
	}
	// Without a file every port is a full member of the default partition; that has to stay.
	want := headPartitions + "Default=0x7fff,ipoib:ALL=full;\ngold=0x0001,ipoib,sl=2:\n    0x0000000000000011=limited,0x0000000000000012=full;\n"
	if d := cmp.Diff(want, body(t, c.Next.Partitions)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(headOptions+"qos TRUE\n", body(t, c.Next.Options)); d != "" {
		t.Error(d)
	}
	if c.Next.Policy.Present {
		t.Error("a policy was made")
	}
	// Without tenants the file still contains the behaviour without a file.
	c = Compose(c.Next, Desired{}, Settings{})
	if got := body(t, c.Next.Partitions); got != headPartitions+defaultStanza {
		t.Errorf("left over: %q", got)
	}
	if c.Next.Options.Data != "" {
		t.Errorf("left over: %q", c.Next.Options.Data)
	}
}

func TestAnEmptyFileKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	c := Compose(files("qos TRUE\n", "# nothing\n", "-"), gold(), Settings{})
	if strings.Contains(c.Next.Partitions.Data, "Default") {
		t.Error("every port became a full member of the default partition")
	}
	if ps := others(c.Problems); len(ps) != 1 || ps[0].Code != CodeNoDefault || !ps[0].Warning {
		t.Errorf("problems %v", c.Problems)
	}
	if c = Compose(files("-", "-", "-"), Desired{}, Settings{}); c.Next.Partitions.Present || c.Next.Options.Present {
		t.Error("a file was created without a desired state")
	}
}

func TestOptionsThatTheFileHasAreNotRepeated(t *testing.T) {
	t.Parallel()
	limit := 4
	d := gold()
	d.Lanes = []Lanes{{Kind: AdapterPort, MaxVLs: 8, HighLimit: &limit}}
	c := Compose(files("qos TRUE\nqos_ca_max_vls 8\ncongestion_control TRUE\n", "-", "-"), d, Settings{StopCC: true})
	if got := body(t, c.Next.Options); got != headOptions+"congestion_control FALSE\nqos_ca_high_limit 4\n" {
		t.Errorf("got %q", got)
	}
	if ps := others(c.Problems); len(ps) > 0 {
		t.Error(ps)
	}
}

// OpenSM's own tables give each service level a lane and serve lane 0 before all others; one lane for all is written only
// where the operator has no tables.
func TestOneLaneIsWrittenOnlyWithoutOperatorTables(t *testing.T) {
	t.Parallel()
	own := Compose(files("qos TRUE\n", "-", "-"), gold(), Settings{}).Problems
	if len(own) != 2 || own[0].Text != "VL 0 is in the high-priority table of channel adapters, which is OpenSM's default: what uses it goes before the tenants whose lanes are not" {
		t.Errorf("problems %v", own)
	}
	c := Compose(files("-", "-", "-"), gold(), Settings{OneLane: true})
	want := headOptions + "qos TRUE\nqos_vlarb_high 0:0\nqos_vlarb_low 0:4,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4\n" +
		"qos_sl2vl 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
	if got := body(t, c.Next.Options); got != want || len(c.Problems) > 0 {
		t.Errorf("options %q, problems %v", got, c.Problems)
	}
	c = Compose(files("qos_vlarb_high 0:4\n", "-", "-"), gold(), Settings{OneLane: true})
	if got := body(t, c.Next.Options); got != headOptions+"qos TRUE\n" || c.Problems[0].Code != CodeFirst {
		t.Errorf("options %q, problems %v", got, c.Problems)
	}
	for _, own := range []string{"qos_ca_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n", "qos_swe_vlarb_low 0:1,1:1,2:1\n"} {
		c = Compose(files(own, "-", "-"), gold(), Settings{OneLane: true})
		if got := body(t, c.Next.Options); got != headOptions+"qos TRUE\n" {
			t.Errorf("beside %q: options %q", own, got)
		}
	}
}

func TestTenantsOnSeveralLanesOfSwitchesAreAProblem(t *testing.T) {
	t.Parallel()
	d := gold()
	d.Partitions = append(d.Partitions, Partition{Tenant: "silver", PKey: 2, SL: 3, Members: []Member{{0x11, true}}})
	apart := func(options string) string {
		for _, p := range Compose(files(options, "-", "-"), d, Settings{}).Problems {
			if p.Code == CodeLanesApart {
				return fmt.Sprintf("%d %t %s", p.Line, p.Warning, p.Text[:strings.Index(p.Text, ":")])
			}
		}
		return ""
	}
	const one, three = "0,0,1,1,0,0,0,0,0,0,0,0,0,0,0,0", "0,0,1,3,0,0,0,0,0,0,0,0,0,0,0,0"
	for options, want := range map[string]string{
		"qos TRUE\n":                          "0 true tenants gold and silver are on VLs 2 and 3 of switches, which is OpenSM's default",
		"qos TRUE\nqos_sl2vl " + three + "\n": "2 true tenants gold and silver are on VLs 1 and 3 of switches",
		"qos TRUE\nqos_sl2vl " + three + "\nqos_swe_sl2vl " + one + "\n": "",
		"qos TRUE\nqos_sl2vl " + one + "\nqos_ca_sl2vl " + three + "\n":  "", // adapters mark nothing
	} {
		if got := apart(options); got != want {
			t.Errorf("%q: %q, want %q", options, got, want)
		}
	}
}

func TestPolicyLinesPrecedeAllOthers(t *testing.T) {
	t.Parallel()
	policy := "# mine\nqos-ulps # here\n default : 0\nend-qos-ulps\n"
	c := Compose(files("qos TRUE\n", "-", policy), gold(), Settings{})
	if !strings.HasPrefix(c.Next.Policy.Data, beginMark) || !strings.HasSuffix(c.Next.Policy.Data, endMark+"\n"+policy) {
		t.Errorf("policy\n%s", c.Next.Policy.Data)
	}
	if got := body(t, c.Next.Policy); got != headPolicy+"qos-ulps\n    any, pkey 0x0001 : 2 # gold\nend-qos-ulps\n" {
		t.Errorf("part %q", got)
	}
	// A part among the operator's lines, as earlier versions wrote it, is moved.
	among := "# mine\nqos-ulps # here\n" + Block{}.With(headPolicy+"    any, pkey 0x0001 : 3 # gold\n") + " default : 0\nend-qos-ulps\n"
	if moved := Compose(files("qos TRUE\n", "-", among), gold(), Settings{}); moved.Next.Policy != c.Next.Policy {
		t.Errorf("moved:\n%s", moved.Next.Policy.Data)
	}
	if ps := others(c.Problems); len(ps) > 0 {
		t.Error(ps)
	}
	if c = Compose(c.Next, Desired{}, Settings{}); c.Next.Policy.Data != policy {
		t.Errorf("taken out:\n%s", c.Next.Policy.Data)
	}
}

// problemCases has an example of each problem that files can have.
func problemCases() map[string]struct {
	texts    Texts
	want     func(*Desired)
	set      Settings
	problem  Problem // compared except for the remedy, which must be set
	onlyThis bool    // no other problem may occur
} {
	none := func(*Desired) {}
	edited := strings.Replace(Block{}.With("gold=1,sl=3:ALL=full;\n"), "sl=3", "sl=4", 1)
	const opt, part, pol = "/etc/opensm/opensm.conf", "/etc/opensm/partitions.conf", "/etc/opensm/qos-policy.conf"
	type c = struct {
		texts    Texts
		want     func(*Desired)
		set      Settings
		problem  Problem
		onlyThis bool
	}
	leave := Settings{LeaveOptions: true, LeavePolicy: true}
	return map[string]c{
		"markers": {files("-", "x\n"+endMark+"\n", "-"), none, Settings{}, Problem{
			Code: CodeMarkers, Final: true, File: part, Text: "marker comments do not pair up: line 2 ends a part that did not begin"}, false},
		"edited": {files("-", edited, "-"), none, Settings{}, Problem{Code: CodeEdited, File: part, Line: 1, Text: "Fairlane's part of the file was changed since it was written"}, false},
		"unreadable partition": {files("-", "Default=0x7fff:ALL=full;\nwhat\n", "-"), none, Settings{}, Problem{
			Code: CodeUnreadable, File: part, Line: 2, Text: `"what": a partition is NAME=P_KEY, flags, then ":" on the same line`}, true},
		"unreadable map": {files("qos_sl2vl 1,2\n", "-", "-"), none, leave, Problem{Code: CodeUnreadable, File: opt, Line: 1, Text: `qos_sl2vl: "1,2"`}, false},
		"too large":      {files("-", strings.Repeat("#", MaxSize+1), "-"), none, Settings{}, Problem{Code: CodeTooLarge, Final: true, File: part, Text: "the file has 4194305 bytes"}, false},
		"a long line": {files("qos TRUE\ncc_cct "+strings.Repeat("1:1,", 300)+"\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeLineTooLong, File: opt, Line: 2, Text: "cc_cct: the line is longer than the 1022 characters that OpenSM reads at once"}, true},
		"congestion control": {files("congestion_control TRUE\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeCCOn, File: opt, Line: 1, Text: "congestion_control is TRUE: OpenSM writes its own settings to every port when it starts, when an option changes and when a port comes back"}, true},
		"qos FALSE": {files("qos FALSE\n", "-", "-"), none, leave, Problem{Code: CodeQoSOff, File: opt, Line: 1, Text: "qos is FALSE: every partition's SL becomes 0"}, true},
		"qos true":  {files("qos true\n", "-", "-"), none, leave, Problem{Code: CodeQoSOff, File: opt, Line: 1, Text: `qos is "true", which OpenSM takes for FALSE: every partition's SL becomes 0`}, true},
		"no qos":    {files("-", "-", "-"), none, leave, Problem{Code: CodeQoSOff, File: opt, Text: "qos is not set, which is FALSE: every partition's SL becomes 0"}, true},
		"a later line": {files(Block{}.With("qos TRUE\n")+"qos FALSE\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeOverridden, File: opt, Line: 5, Text: "qos FALSE comes after Fairlane's part, which sets TRUE"}, false},
		"routing": {files("qos TRUE\nrouting_engine updn,dfsssp\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeRouting, File: opt, Line: 2, Text: "routing engine dfsssp assigns service levels itself, against credit loops"}, true},
		"another file": {files("qos TRUE\npartition_config_file /etc/other\n", "-", "-"), none, Settings{}, Problem{
			Code: CodePath, File: opt, Line: 2, Text: `OpenSM reads "/etc/other" as partition_config_file, not /etc/opensm/partitions.conf`}, true},
		"VL 15": {files("qos TRUE\nqos_swe_sl2vl 0,1,15,3,4,5,6,7,0,1,2,3,4,5,6,7\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeSLDropped, File: opt, Line: 2, Text: "tenant gold: SL 2 is on VL 15 at switches, which drops its packets"}, true},
		"no turn": {files("qos TRUE\nqos_vlarb_low 1:4,2:0\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeNoTurn, File: opt, Text: "tenant gold: SL 2 is on VL 2 at channel adapters, which has no weight in either arbitration table"}, false},
		"the high table": {files("qos TRUE\nqos_sl2vl 0,1,0,3,4,5,6,7,0,1,2,3,4,5,6,7\nqos_vlarb_high 5:1\n", "-", "-"), none, Settings{}, Problem{
			Code: CodeFirst, Warning: true, File: opt, Line: 3, Text: "VL 5 is in the high-priority table of channel adapters: what uses it goes before the tenants whose lanes are not"}, false},
		"our P_Key": {files("qos TRUE\n", "Default=0x7fff:ALL=full;\nother=0x8001:ALL=full;\n", "-"), none, Settings{}, Problem{
			Code: CodePKeyConflict, File: part, Line: 2, Text: `partition "other" has the P_Key 0x0001 of tenant gold: OpenSM joins the two, and the last SL counts`}, true},
		"no P_Key": {files("qos TRUE\n", "Default=0x7fff:ALL=full;\nother:ALL=full;\n", "-"), none, Settings{}, Problem{
			Code: CodePKeyUnnumbered, File: part, Line: 2, Text: `partition "other" has no P_Key: OpenSM takes the first free one, which changes with the tenants`}, true},
		"no default": {files("qos TRUE\n", "other=0x20:ALL=full;\n", "-"), none, Settings{}, Problem{
			Code: CodeNoDefault, Warning: true, File: part, Text: "no line defines the default partition: every port but the subnet manager's is a limited member of it"}, true},
		"a policy without default": {files("qos TRUE\n", "-", "qos-ulps\n any, pkey 2 : 3\nend-qos-ulps\n"), none, Settings{}, Problem{
			Code: CodePolicyNoDefault, File: pol, Text: "the policy has no default: OpenSM refuses all of it, and only the partitions' service levels hold"}, true},
		"an unreadable policy": {files("qos TRUE\n", "-", "qos-ulps\n default : 0\n x\nend-qos-ulps\n"), none, Settings{}, Problem{
			Code: CodeUnreadable, File: pol, Line: 9, Text: `"x": a rule is MATCH : SL`}, true},
		"an overriding default": {files("qos TRUE\n", "-", "qos-ulps\n default : 0\nend-qos-ulps\n"), none, leave, Problem{
			Code: CodePolicyDefault, File: pol, Line: 2, Text: "tenant gold: the policy's default gives SL 0 to partition 0x0001, whatever partitions.conf says; it needs SL 2"}, true},
		"another rule": {files("qos TRUE\n", "-", "qos-ulps\n any, pkey 1 : 3\n default : 2\nend-qos-ulps\n"), none, leave, Problem{
			Code: CodePolicyRule, File: pol, Line: 2, Text: "tenant gold: the rule gives SL 3 to queries for partition 0x0001, which needs SL 2"}, true},
		"a rule for some": {files("qos TRUE\n", "-", "qos-ulps\n any, service-id 7 : 3\n default : 2\nend-qos-ulps\n"), none, leave, Problem{
			Code: CodePolicyRule, Warning: true, File: pol, Line: 2, Text: "tenant gold: queries for partition 0x0001 that meet the rule get SL 3, not SL 2"}, true},
		"a rule that is never reached": {files("qos TRUE\n", "-", "qos-ulps\n any, pkey 1 : 3\n default : 0\nend-qos-ulps\n"), none, Settings{}, Problem{
			Code: CodePolicyLinesFirst, Warning: true, File: pol, Line: 8, Text: "tenant gold: a rule with SL 3 for partition 0x0001 comes after one with SL 2, and is never reached"}, true},
		"no partition": {files("-", "-", "-"), func(d *Desired) { d.Partitions[0].PKey = 0xffff }, Settings{}, Problem{
			Code: CodeNoPartition, Final: true, Text: "tenant gold has no partition of its own, by which the subnet manager could distinguish its traffic"}, false},
		"two SLs": {files("-", "-", "-"), func(d *Desired) {
			d.Partitions = append(d.Partitions, Partition{Tenant: "silver", PKey: 0x8001, SL: 3, All: true})
		}, Settings{}, Problem{
			Code: CodeTwoSLs, Final: true, Text: "partition 0x0001 is wanted by tenant gold with SL 2 and by tenant silver with SL 3, but a partition has one definition"}, false},
		"SL 16":      {files("-", "-", "-"), func(d *Desired) { d.Partitions[0].SL = 16 }, Settings{}, Problem{Code: CodeSLOutOfRange, Final: true, Text: "tenant gold: SL 16"}, false},
		"no members": {files("-", "-", "-"), func(d *Desired) { d.Partitions[0].Members = nil }, Settings{}, Problem{Code: CodeNoMembers, Final: true, Text: "tenant gold: partition 0x0001 has no members"}, true},
		"lanes":      {files("-", "-", "-"), func(d *Desired) { d.Lanes = []Lanes{{MaxVLs: 16}} }, Settings{}, Problem{Code: CodeLanes, Final: true, Text: "16 data lanes: want 1 to 15"}, true},
		"two tables": {files("-", "-", "-"), func(d *Desired) { d.Lanes = []Lanes{{MaxVLs: 8}, {MaxVLs: 8}} }, Settings{}, Problem{Code: CodeLanesDiffer, Final: true, Text: `two tables for ports of kind ""`}, true},
	}
}

func TestComposeReportsProblems(t *testing.T) {
	t.Parallel()
	for name, tt := range problemCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := gold()
			tt.want(&d)
			got := Compose(tt.texts, d, tt.set).Problems
			i := slices.IndexFunc(got, func(p Problem) bool {
				p.Remedy = ""
				if tt.problem.Line == 0 && tt.problem.Code == CodeNoTurn {
					p.Line = 0
				}
				return p == tt.problem
			})
			if i < 0 || got[i].Remedy == "" {
				t.Fatalf("got %+v\nwant %+v", got, tt.problem)
			}
			if tt.onlyThis && len(others(got)) != 1 {
				t.Errorf("more problems: %+v", got)
			}
			if s := got[i].String(); !strings.Contains(s, tt.problem.Text) || tt.problem.File != "" && !strings.HasPrefix(s, tt.problem.File) {
				t.Errorf("printed as %q", s)
			}
			force := Blocking(got[i:i+1], []Code{tt.problem.Code})
			if (len(force) > 0) != tt.problem.Final {
				t.Errorf("by force: %+v", force)
			}
			if stop := Blocking(got[i:i+1], nil); (len(stop) > 0) == tt.problem.Warning {
				t.Errorf("stops: %+v", stop)
			}
		})
	}
}

// For any files of the operator, composing twice changes nothing more, and without tenants the files are the original
// ones.
func TestComposeIsIdempotentAndKeepsOperatorLines(t *testing.T) {
	t.Parallel()
	lines := func(words ...string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if rapid.Bool().Draw(t, "absent") {
				return "-"
			}
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 6).Draw(t, "lines"), "")
		})
	}
	options := lines("qos TRUE\n", "qos FALSE\n", "# x\n", "\n", "congestion_control TRUE\n", "qos_ca_max_vls 3\n")
	partitions := lines("Default=0x7fff:ALL=full;\n", "# y\n", "a=0x7000:\n", "0x5;\n", "junk\n", "b=1:ALL;\n")
	policy := lines("qos-ulps\n", "end-qos-ulps\n", " default : 0\n", " any, pkey 2 : 3\n", "# z\n", "qos-levels\n", "end-qos-levels\n")
	rapid.Check(t, func(t *rapid.T) {
		cur := files(options.Draw(t, "options"), partitions.Draw(t, "partitions"), policy.Draw(t, "policy"))
		var d Desired
		keys := map[ident.PKey]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "tenants") {
			if p := drawPartition(t); !keys[p.PKey] {
				keys[p.PKey] = true
				d.Partitions = append(d.Partitions, p)
			}
		}
		set := Settings{LeaveOptions: rapid.Bool().Draw(t, "leave options"), LeavePolicy: rapid.Bool().Draw(t, "leave policy"), StopCC: rapid.Bool().Draw(t, "stop"), OneLane: rapid.Bool().Draw(t, "even")}
		first := Compose(cur, d, set)
		second := Compose(first.Next, d, set)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(first, Compose(first.Next, Prepare(first.Next, d), set)); diff != "" {
			t.Fatalf("prepared from itself: %s", diff)
		}
		for i, x := range first.Next.Each() {
			b, err := FindBlock(x.Data)
			if err != nil || b.Before+b.After != cur.Each()[i].Data {
				t.Fatalf("%s is around it %q, and was %q, %v", x.Path, b.Before+b.After, cur.Each()[i].Data, err)
			}
		}
	})
}

func TestPrepareRemovesNothing(t *testing.T) {
	t.Parallel()
	limit := 1
	old := Desired{
		Partitions: []Partition{
			{Tenant: "gold", PKey: 1, SL: 2, Members: []Member{{0x11, true}, {0x12, true}}},
			{Tenant: "silver", PKey: 3, SL: 4, All: true},
		},
		Lanes: []Lanes{{Kind: AdapterPort, HighLimit: &limit}, {Kind: SwitchPort, HighLimit: &limit}},
	}
	cur := Compose(files("-", "-", "-"), old, Settings{}).Next
	more := 2
	next := Desired{
		Partitions: []Partition{{Tenant: "gold", PKey: 1, SL: 5, Members: []Member{{0x12, false}, {0x13, true}}}, {Tenant: "new", PKey: 9, SL: 1, All: true}},
		Lanes:      []Lanes{{Kind: AdapterPort, HighLimit: &more}},
	}
	got := Compose(cur, Prepare(cur, next), Settings{}).Next
	want := []Partition{
		{Tenant: "gold", PKey: 1, SL: 5, Members: []Member{{0x11, true}, {0x12, true}, {0x13, true}}},
		{Tenant: "silver", PKey: 3, SL: 4, All: true},
		{Tenant: "new", PKey: 9, SL: 1, All: true},
	}
	if d := cmp.Diff(want, Ours(got)); d != "" {
		t.Error(d)
	}
	if b := body(t, got.Options); b != headOptions+"qos_swe_high_limit 1\nqos TRUE\nqos_ca_high_limit 2\n" {
		t.Errorf("options %q", b)
	}
	got = Compose(got, next, Settings{}).Next
	if d := cmp.Diff(next.normal().Partitions, Ours(got)); d != "" {
		t.Error(d)
	}
	if b := body(t, got.Options); strings.Contains(b, "swe") {
		t.Errorf("options %q", b)
	}
}

func TestAKeptPartitionIsNotWritten(t *testing.T) {
	t.Parallel()
	d := gold()
	d.Partitions = append(d.Partitions, Partition{Tenant: "rest", PKey: 0x7fff, Kept: true, Members: []Member{{0x11, true}}})
	c := Compose(files("qos TRUE\n", "Default=0x7fff:ALL=full;\n", "-"), d, Settings{OneLane: true})
	if len(c.Problems) > 0 || strings.Contains(c.Next.Partitions.Data, "rest") {
		t.Errorf("problems %v, file\n%s", c.Problems, c.Next.Partitions.Data)
	}
}
