package policy_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestParseEditReadsEveryForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]policy.Edit{
		"weight:gold=8":                   {Kind: policy.EditWeight, Tenant: "gold", Weight: 8000},
		" weight : gold = 0.5 ":           {Kind: policy.EditWeight, Tenant: "gold", Weight: 500},
		"guarantee:gold=10Gbit/s":         {Kind: policy.EditGuarantee, Tenant: "gold", Rate: 10 * quantity.Gbps},
		"cap:gold=0":                      {Kind: policy.EditCap, Tenant: "gold"},
		"flows:gold*4":                    {Kind: policy.EditFlows, Tenant: "gold", Factor: 4},
		"remove:gold":                     {Kind: policy.EditRemove, Tenant: "gold"},
		"fail:leaf1/P5":                   {Kind: policy.EditFail, Ports: []string{"leaf1/P5"}},
		"fail:0x0002c90300a1b2c3:1":       {Kind: policy.EditFail, Ports: []string{"0x0002c90300a1b2c3:1"}},
		"add:new=3":                       {Kind: policy.EditAdd, Tenant: "new", Weight: 3000},
		"add:new=3@h1, h2:1":              {Kind: policy.EditAdd, Tenant: "new", Weight: 3000, Ports: []string{"h1", "h2:1"}},
		"flow:gold=h1>h2":                 {Kind: policy.EditFlow, Tenant: "gold", Ports: []string{"h1", "h2"}, QPs: 1},
		"flow:gold/bulk=h1>h2*8@5 Gbit/s": {Kind: policy.EditFlow, Tenant: "gold", Class: "bulk", Ports: []string{"h1", "h2"}, QPs: 8, Rate: 5 * quantity.Gbps},
		"flow:gold=a*b@c>d@e*2@0":         {Kind: policy.EditFlow, Tenant: "gold", Ports: []string{"a*b@c", "d@e"}, QPs: 2},
	} {
		got, err := policy.ParseEdit(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if back, err := policy.ParseEdit(got.String()); err != nil || !cmp.Equal(back, got) {
			t.Errorf("%s is printed as %q, which reads as %+v, %v", text, got, back, err)
		}
	}
}

func TestParseEditErrorsNameTheExpectedForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "want one of weight:TENANT=WEIGHT, guarantee:",
		"wieght:gold=8":      "want one of weight:TENANT=WEIGHT",
		"weight:":            "want weight:TENANT=WEIGHT: tenant \"\"",
		"weight:gold":        "want weight:TENANT=WEIGHT: \"=\" is missing",
		"weight:gold=0":      "want a number from 0.001",
		"weight:Gold=1":      "tenant \"Gold\"",
		"cap:gold=fast":      "want cap:TENANT=RATE: rate \"fast\"",
		"flows:gold=4":       "want flows:TENANT*FACTOR",
		"flows:gold*0":       "factor \"0\": want a number from 0.001 to 65536",
		"flows:gold*NaN":     "factor",
		"flow:gold=h1":       "\">\" is missing",
		"flow:gold=h1>":      "port name is empty",
		"flow:gold=h1>h2*0":  "queue pairs \"0\": want 1 to 65536",
		"flow:gold=h1>h2@-1": "rate",
		"flow:gold/=h1>h2":   "class \"\"",
		"add:new=3@h1":       "1 port: want none, or 2 to 1000",
		"add:new=3@h1,":      "port name is empty",
		"fail:":              "want fail:PORT: port name is empty",
		"remove:a b":         "tenant \"a b\"",
		"fail:" + strings.Repeat("x", policy.MaxEditLength): "want at most",
	} {
		_, err := policy.ParseEdit(text)
		if !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %.300v, want one with %q", text, err, want)
		}
		zhtest.Error(t, fmt.Sprintf("%.40q", text), err)
	}
}

func FuzzParseEdit(f *testing.F) {
	for _, text := range []string{"weight:gold=8", "flow:gold/bulk=h1>h2*8@5Gbit/s", "add:new=3@h1,h2", "flows:a*4", "fail:leaf1/P5", "remove:x", "cap:a=0", "guarantee:a=1.5G"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := policy.ParseEdit(text)
		if err != nil {
			return
		}
		back, err := policy.ParseEdit(x.String())
		if err != nil || !cmp.Equal(x, back) {
			t.Fatalf("%q is printed as %q, which reads as %+v, %v; want %+v", text, x.String(), back, err, x)
		}
	})
}

func edits(t *testing.T, texts ...string) []policy.Edit {
	t.Helper()
	var out []policy.Edit
	for _, text := range texts {
		x, err := policy.ParseEdit(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func TestApplyEditsACopy(t *testing.T) {
	t.Parallel()
	in := incast(t)
	in.Tenants = tenants.Attach(in.Tenants, in.Flows)
	in.Routes = [][]policy.Route{{{QPs: 1}}, {{QPs: 3}, {QPs: 1}}, nil}
	was := incast(t)
	was.Tenants, was.Routes = tenants.Attach(was.Tenants, was.Flows), [][]policy.Route{{{QPs: 1}}, {{QPs: 3}, {QPs: 1}}, nil}
	out, findings, err := policy.Apply(in, edits(t, "weight:red=8", "guarantee:green=5Gbit/s", "cap:green=50Gbit/s", "flows:green*2.5", "remove:blue",
		"add:new=3@host-001,host-002,host-003", "flow:red=host-002>host-010*7@2Gbit/s")...)
	if err != nil || len(findings) != 0 {
		t.Fatalf("apply: %v, findings %v", err, findings)
	}
	names := func(ts []tenants.Tenant) (out []string) {
		for _, t := range ts {
			out = append(out, t.Name)
		}
		return out
	}
	if got := names(out.Tenants); !slices.Equal(got, []string{"red", "green", "new"}) {
		t.Errorf("tenants %v", got)
	}
	if r, g := out.Tenants[0], out.Tenants[1]; r.Weight != 8000 || g.Guarantee != 5*quantity.Gbps || g.Cap != 50*quantity.Gbps || len(r.Attachments) != 4 {
		t.Errorf("tenants %+v", out.Tenants)
	}
	if len(out.Flows) != 2+6+1 || out.Flows[1].QPs != 10 || out.Flows[8].QPs != 7 || out.Flows[8].Demand != 2*quantity.Gbps {
		t.Errorf("flows %+v", out.Flows)
	}
	if len(out.Routes) != len(out.Flows) || out.Routes[1][0].QPs != 7.5 || out.Routes[1][1].QPs != 2.5 {
		t.Errorf("routes %+v", out.Routes)
	}
	if diff := cmp.Diff(was.Tenants, in.Tenants) + cmp.Diff(was.Flows, in.Flows) + cmp.Diff(was.Routes, in.Routes); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	in.Routes, out.Routes = nil, nil
	compile(t, out)
}

func TestAFailedLinkIsRoutedAround(t *testing.T) {
	t.Parallel()
	in := incast(t)
	before, err := policy.Paths(in.Fabric, in.Flows)
	if err != nil {
		t.Fatal(err)
	}
	up := before[0][1] // the leaf's port towards a spine
	out, findings, err := policy.Apply(in, policy.Edit{Kind: policy.EditFail, Ports: []string{in.Fabric.PortName(up)}})
	if err != nil || len(findings) != 0 {
		t.Fatalf("apply: %v, findings %v", err, findings)
	}
	after, err := policy.Paths(out.Fabric, out.Flows)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Fabric.Links) != len(in.Fabric.Links)-1 || len(after[0]) != len(before[0]) || after[0][1] == up {
		t.Errorf("%d links of %d, path %v before and %v after", len(out.Fabric.Links), len(in.Fabric.Links), before[0], after[0])
	}
	compile(t, out)
}

func TestFlowsCutOffByAFailedLinkAreOmittedAndReported(t *testing.T) {
	t.Parallel()
	in := incast(t)
	in.Tenants = tenants.Attach(in.Tenants, in.Flows)
	out, findings, err := policy.Apply(in, edits(t, "fail:host-005")...)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Flows) != 2 || len(out.Tenants) != 3 || len(findings) != 1 || findings[0].Code != policy.CodeFlowUnreachable ||
		findings[0].Message != "no path is left for 1 flow of tenant red with 1 queue pair, such as host-005/P1 to host-001/P1: the plan omits these flows" {
		t.Errorf("flows %v, findings %+v", out.Flows, findings)
	}
	if p := compile(t, out); p.Tenants[2].Tenant != "red" || p.Tenants[2].QPs != 0 {
		t.Errorf("tenants %+v", p.Tenants)
	}
}

func TestApplyNamesTheMissingObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"weight:gren=2":                `no tenant "gren"; did you mean green?`,
		"weight:rde=2":                 `no tenant "rde"; did you mean red?`,
		"remove:violet":                `no tenant "violet": want one of blue, green, red`,
		"fail:host-01":                 "did you mean host-001",
		"fail:leaf1":                   "say which",
		"add:red=3":                    "already exists",
		"add:new=1@host-001,host-99":   `no such port`,
		"add:new=1@host-001,host-001":  "want each port once",
		"flow:red=host-001>leaf1/P1":   "want a channel-adapter port",
		"flow:red=host-001>host-001":   "another port than the source",
		"flow:red/x=host-001>host-2":   "no such port",
		"flow:red/x=host-001>host-002": `class "x"`,
		"flows:blue*65536":             "want at most 65536",
		"cap:red=101Tbit/s":            "",
	} {
		x, err := policy.ParseEdit(text)
		if err == nil {
			_, _, err = policy.Apply(incast(t), x)
		}
		if !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
		zhtest.Error(t, text, err, "red", "green", "blue", "dst", "class")
	}
	if _, _, err := policy.Apply(incast(t), edits(t, "guarantee:red=5G", "cap:red=4G")...); err == nil || !strings.Contains(err.Error(), "after the edits") {
		t.Errorf("a cap below the guarantee: error %v", err)
	}
	twice := edits(t, "fail:host-005", "fail:host-005")
	if _, _, err := policy.Apply(incast(t), twice...); err == nil || !strings.Contains(err.Error(), "has no link") {
		t.Errorf("a link that failed already: error %v", err)
	}
	if _, _, err := policy.Apply(incast(t), make([]policy.Edit, policy.MaxEdits+1)...); err == nil {
		t.Error("too many edits are taken")
	}
	if _, _, err := policy.Apply(policy.Input{}, twice...); !errors.Is(err, policy.ErrInput) {
		t.Errorf("no fabric: error %v", err)
	}
	if _, _, err := policy.Apply(incast(t), policy.Edit{Kind: "x"}); err == nil || !strings.Contains(err.Error(), "want weight, guarantee") {
		t.Errorf("unknown kind: error %v", err)
	}
}

func TestEditedInputsCompileWithFailures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		in.Options.Plane = rapid.SampledFrom([]policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC}).Draw(rt, "plane")
		links := in.Fabric.Links
		var xs []policy.Edit
		seen := map[subnet.PortRef]bool{}
		for range rapid.IntRange(1, 3).Draw(rt, "failures") {
			l := links[rapid.IntRange(0, len(links)-1).Draw(rt, "link")]
			if !seen[l.A] {
				seen[l.A] = true
				xs = append(xs, policy.Edit{Kind: policy.EditFail, Ports: []string{in.Fabric.PortID(l.A).String()}})
			}
		}
		out, findings, err := policy.Apply(in, xs...)
		if err != nil {
			rt.Fatalf("apply %v: %v", xs, err)
		}
		if (len(out.Flows) < len(in.Flows)) != (len(findings) > 0) {
			rt.Fatalf("%d of %d flows remain, findings %v", len(out.Flows), len(in.Flows), findings)
		}
		compile(rt, out)
		if in.Options.Plane != policy.PlaneIB && len(findings) > 0 { // only flows without a path were removed
			all := out
			for i := range in.Flows {
				if all.Flows = in.Flows[i : i+1]; slices.Contains(out.Flows, in.Flows[i]) {
					continue
				}
				if _, err := policy.Compile(all); err == nil {
					rt.Fatalf("flow %+v is omitted but has a path", in.Flows[i])
				}
			}
		}
	})
}

func TestFailuresOnEthernetTakeNoLIDs(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 4, Wire: topogen.Wire{Bare: true}})
	if err != nil {
		t.Fatal(err)
	}
	hosts := plantest.Hosts(f)
	in := policy.Input{Fabric: f, Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}}, Flows: []tenants.Flow{{Tenant: "a", Src: hosts[0], Dst: hosts[15], QPs: 1}}}
	lids := func(plane policy.Plane) int {
		in.Options.Plane = plane
		out, findings, err := policy.Apply(in, policy.Edit{Kind: policy.EditFail, Ports: []string{f.PortName(f.Links[len(f.Links)-1].A)}})
		if err != nil || len(findings) > 0 || len(out.Flows) != 1 {
			t.Fatalf("%s: %v, findings %v, flows %v", plane, err, findings, out.Flows)
		}
		n := 0
		for i := range out.Fabric.Nodes {
			for _, p := range out.Fabric.Nodes[i].Ports {
				if p.LID != 0 {
					n++
				}
			}
		}
		return n
	}
	if ib, roce, wrcc := lids(policy.PlaneIB), lids(policy.PlaneRoCE), lids(policy.PlaneWRCC); ib == 0 || roce != 0 || wrcc != 0 {
		t.Errorf("ports with LIDs: %d on InfiniBand, %d and %d on Ethernet: want some, and none", ib, roce, wrcc)
	}
}

func TestThePageOfCompileHasEveryEditAndItsExamplesAreRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/compile.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range policy.EditForms() {
		_, row, ok := strings.Cut(string(text), "\n| `"+form+"` |")
		row, _, _ = strings.Cut(row, "\n")
		_, example, found := strings.Cut(row, ": `")
		example, _, _ = strings.Cut(example, "`")
		if x, err := policy.ParseEdit(example); !ok || !found || err != nil || !strings.HasPrefix(form, string(x.Kind)+":") {
			t.Errorf("%s: in the page: %v; its example %q: %v", form, ok, example, err)
		}
	}
}
