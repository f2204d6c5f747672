package app

import (
	"encoding"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/qos"
	"fairlane/command/lab"
	"fairlane/command/local"
	"fairlane/policy"
	"fairlane/sim/lab/evaluate"
	"fairlane/wrcc"
)

// jsonSections are the headings under which docs/json.md documents the fields of each type. The plan and its companions share one.
var jsonSections = map[reflect.Type]string{
	reflect.TypeFor[local.Compiled]():           "The plan",
	reflect.TypeFor[local.PlanShares]():         "The plan before",
	reflect.TypeFor[policy.TenantShare]():       "Tenants",
	reflect.TypeFor[policy.ClassShare]():        "Classes",
	reflect.TypeFor[policy.LinkShare]():         "Links",
	reflect.TypeFor[policy.LinkTenant]():        "Tenants of a link",
	reflect.TypeFor[policy.Finding]():           "Findings",
	reflect.TypeFor[policy.Reason]():            "Reasons",
	reflect.TypeFor[policy.Placement]():         "Placements",
	reflect.TypeFor[policy.CAPlan]():            "Adapter ports",
	reflect.TypeFor[ibcc.CASettings]():          "Settings of an adapter port",
	reflect.TypeFor[ibcc.SLParams]():            "Parameters of a service level",
	reflect.TypeFor[ibcc.Entry]():               "Table entries and delays",
	reflect.TypeFor[policy.SwitchPlan]():        "Switches",
	reflect.TypeFor[ibcc.SwitchSettings]():      "Settings of a switch",
	reflect.TypeFor[ibcc.PortMarking]():         "Settings of a switch port",
	reflect.TypeFor[policy.LanePlan]():          "Lanes",
	reflect.TypeFor[policy.VLWeight]():          "Entries of arbitration tables",
	reflect.TypeFor[policy.RoCEPlan]():          "RoCE",
	reflect.TypeFor[policy.NICPlan]():           "NIC ports",
	reflect.TypeFor[policy.ECNPlan]():           "Switches on RoCE",
	reflect.TypeFor[policy.RoCEClass]():         "Traffic classes on RoCE",
	reflect.TypeFor[qos.ClassShare]():           "Shares of traffic classes",
	reflect.TypeFor[qos.QueueWeight]():          "Weights of queues",
	reflect.TypeFor[ecn.QueueMarking]():         "Queues",
	reflect.TypeFor[ecn.Marking]():              "Marking",
	reflect.TypeFor[policy.RoCEPlacement]():     "Traffic on RoCE",
	reflect.TypeFor[policy.WRCCPlan]():          "WRCC",
	reflect.TypeFor[policy.WRCCDomainPlan]():    "Data centres",
	reflect.TypeFor[policy.WRCCPortPlan]():      "Ports on WRCC",
	reflect.TypeFor[policy.NamedPort]():         "Named ports",
	reflect.TypeFor[wrcc.Params]():              "Settings of a port on WRCC",
	reflect.TypeFor[policy.WRCCSenderPlan]():    "Senders",
	reflect.TypeFor[policy.WRCCPeer]():          "Peers of a sender",
	reflect.TypeFor[evaluate.Simulation]():      "The simulation",
	reflect.TypeFor[evaluate.SimulatedTenant](): "Simulated tenants",
	reflect.TypeFor[evaluate.SimulatedLink]():   "Simulated links",
	reflect.TypeFor[policy.Difference]():        "Differences",
	reflect.TypeFor[policy.TenantChange]():      "Changes of a tenant",
	reflect.TypeFor[policy.ClassChange]():       "Changes of a class",
	reflect.TypeFor[policy.LinkChange]():        "Changes of links",
	reflect.TypeFor[policy.LinkRate]():          "Change of a link",
	reflect.TypeFor[policy.SettingChange]():     "Changes of settings",
	reflect.TypeFor[policy.DeviceChange]():      "Changes of devices",
	reflect.TypeFor[policy.NameList]():          "Lists of names",
	reflect.TypeFor[policy.FindingChange]():     "Changes of a finding",
	reflect.TypeFor[lab.Evaluation]():           "The evaluation",
	reflect.TypeFor[evaluate.PlaneScore]():      "Scores",
	reflect.TypeFor[evaluate.Score]():           "Scores",
	reflect.TypeFor[evaluate.Cause]():           "Causes",
	reflect.TypeFor[evaluate.Worst]():           "Worst tenants",
	reflect.TypeFor[evaluate.Result]():          "Cases",
	reflect.TypeFor[evaluate.TenantResult]():    "Tenants of a case",
}

// TestEveryFieldOfPrintedJSONIsDocumented walks the types that compile and evaluate print, and wants their fields, and no others, in the
// tables of docs/json.md.
func TestEveryFieldOfPrintedJSONIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for section := range strings.SplitSeq(string(page), "\n### ") {
		heading, text, _ := strings.Cut(section, "\n")
		for line := range strings.Lines(text) {
			if cell, ok := strings.CutPrefix(line, "| `"); ok {
				cell, _, _ = strings.Cut(cell, " |")
				told[heading] = append(told[heading], strings.Split(strings.TrimSuffix(cell, "`"), "`, `")...)
			}
		}
	}
	has := map[string][]string{}
	seen := map[reflect.Type]bool{}
	for _, root := range []reflect.Type{reflect.TypeFor[local.Compiled](), reflect.TypeFor[lab.Evaluation](), reflect.TypeFor[evaluate.Result]()} {
		walkJSON(t, root, seen, has)
	}
	if len(seen) < 40 {
		t.Fatalf("found %d types: the test is no test", len(seen))
	}
	for heading, want := range has {
		slices.Sort(want)
		got := slices.Clone(told[heading])
		slices.Sort(got)
		if want = slices.Compact(want); !slices.Equal(want, got) {
			t.Errorf("section %s documents\n%q, want\n%q", heading, got, want)
		}
	}
	for heading := range told {
		if has[heading] == nil {
			t.Errorf("section %s documents a type that no command prints", heading)
		}
	}
}

// walkJSON collects the names of the fields of a type, and of all that it holds, by their heading.
func walkJSON(t *testing.T, of reflect.Type, seen map[reflect.Type]bool, has map[string][]string) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walkJSON(t, of.Elem(), seen, has)
		return
	case reflect.Struct:
	default:
		return
	}
	if writesItself(of) || seen[of] || of == reflect.TypeFor[dcqcn.Settings]() { // docs/roce.md has its parameters
		return
	}
	seen[of] = true
	heading, ok := jsonSections[of]
	if !ok {
		t.Errorf("%s is printed: want an entry in jsonSections for its heading in docs/json.md", of)
		return
	}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			t.Errorf("%s.%s has no name in JSON", of, f.Name)
		}
		has[heading] = append(has[heading], name)
		walkJSON(t, f.Type, seen, has)
	}
}

func writesItself(of reflect.Type) bool {
	for _, kind := range []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[json.Marshaler]()} {
		if of.Implements(kind) || reflect.PointerTo(of).Implements(kind) {
			return true
		}
	}
	return false
}
