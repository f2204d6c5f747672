package manifest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/zhtest"
	"fairlane/internal/yamltree"
)

const whole = `kind: fabric
name: lab
spec: {source: "ibsim:unix:lab", time_scale: 0.01, plane: ib}
---
kind: tenant
name: gold
fabric: lab
spec:
  weight: 4.5
  guarantee: 10Gbit/s
  cap: 25Gbit/s
  pkey: 0x8001
  classes: [{name: bulk, weight: 1}]
  attachments: [h1, {port: h2, sl: 3}]
---
# nothing
---
kind: flows
fabric: lab
spec: [{tenant: gold, from: h1, to: [h2, h3], qps: 4, demand: 1Gbit/s}]
---
kind: options
spec: {mode: product, reserved_sls: [0, 1], timer_restart: true}
---
kind: settings
spec: {shares: {interval_s: 60}}
---
kind: drift-policy
spec: {policy: repair, interval_s: 60}
---
kind: user
name: ada
spec: {roles: [operator@*, tenant-admin@lab/gold]}
---
kind: service-account
name: ci
spec: {role: auditor}
`

func TestEveryKindIsRead(t *testing.T) {
	t.Parallel()
	list, err := Read("lab.yaml", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if err := InFabric(list, ""); err != nil {
		t.Fatal(err)
	}
	Sort(list)
	var ids []string
	kinds := map[Kind]bool{}
	for _, r := range list {
		ids = append(ids, r.ID()+"@"+r.At.String())
		kinds[r.Kind] = true
	}
	want := []string{
		"settings@lab.yaml:25", "fabric/lab@lab.yaml:1", "options/lab@lab.yaml:22", "drift-policy/lab@lab.yaml:28", "tenant/lab/gold@lab.yaml:5", "flows/lab@lab.yaml:18",
		"user/ada@lab.yaml:31", "service-account/ci@lab.yaml:35",
	}
	if d := cmp.Diff(want, ids); d != "" {
		t.Error(d)
	}
	for _, k := range Kinds() {
		if !kinds[k] {
			t.Errorf("this test has no %s", k)
		}
	}
	gold := list[4].Spec.(*TenantSpec)
	if gold.Weight.Float() != 4.5 || gold.Guarantee.BitRate != 10e9 || gold.Cap.BitRate != 25e9 || gold.PKey.String() != "0x8001" {
		t.Errorf("the tenant is %+v", gold)
	}
	if len(gold.Attachments) != 2 || gold.Attachments[0].Port != "h1" || gold.Attachments[0].SL != nil || *gold.Attachments[1].SL != 3 {
		t.Errorf("attachments are %+v", gold.Attachments)
	}
	flow := (*list[5].Spec.(*FlowsSpec))[0]
	if d := cmp.Diff(Ports{"h1"}, flow.From); d != "" || *flow.QPs != 4 || flow.Demand.BitRate != 1e9 || len(flow.To) != 2 {
		t.Errorf("the flow is %+v", flow)
	}
	options := list[2].Spec.(*OptionsSpec)
	if !*options.TimerRestart || options.VLArbitration != nil || len(options.ReservedSLs) != 2 {
		t.Errorf("options are %+v", options)
	}
}

func TestEmptyListsDifferFromMissingOnes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"spec: {reserved_sls: []}": true, "spec: {}": false} {
		list, err := Read("f", strings.NewReader("kind: options\nfabric: lab\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := list[0].Spec.(*OptionsSpec).ReservedSLs; (got != nil) != want {
			t.Errorf("%s: %#v", text, got)
		}
	}
}

func TestFaultsNameFileLineAndField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- a\n":                                        "f:1: found a list of 1, want the keys kind, name, fabric, spec",
		"a: b\n":                                       "f:1: unknown key \"a\", want kind, name, fabric, spec",
		"kind: [x]\nspec: {}\n":                        "f:1: kind: found a list of 1, want a text",
		"kind: user\nname: x\n":                        "f:1: spec: missing",
		"kind: user\nspec: {}\n":                       "f:1: name: missing, want the name of the user",
		"kind: options\nname: x\nspec: {}\n":           "f:2: name: found \"x\", want none, since there is one for each fabric",
		"kind: settings\nname: x\nspec: {}\n":          "f:2: name: found \"x\", want no name: a service has only one of this kind",
		"kind: user\nname: x\nfabric: lab\nspec: {}\n": "f:3: fabric: found \"lab\", want none",
		"kind: fabric\nname: x\nspec: {}\n":            "f:3: spec.source: missing",
		"kind: fabric\nname: x\nspec: {source: s, time_scale: fast}\n":                   "f:3: spec.time_scale: found \"fast\", want a number",
		"kind: fabric\nname: x\nspec: {source: s, time_scale: .nan}\n":                   "f:3: spec.time_scale: found \".nan\", want a number",
		"kind: fabric\nname: x\nspec: {source: s, source: t}\n":                          "f:3: spec.source: was given in line 3 already",
		"kind: tenant\nname: x\nspec: {weight: -4}\n":                                    "f:3: spec.weight: weight -4",
		"kind: tenant\nname: x\nspec: {weight: 1, cap: fast}\n":                          "f:3: spec.cap: rate \"fast\"",
		"kind: tenant\nname: x\nspec: {weight: 1, pkey: 99999999}\n":                     "f:3: spec.pkey: P_Key",
		"kind: tenant\nname: x\nspec:\n  weight: 1\n  attachments: [{sl: 1}]\n":          "f:5: spec.attachments[0].port: missing",
		"kind: tenant\nname: x\nspec:\n  weight: 1\n  attachments: [{port: a, sl: b}]\n": "f:5: spec.attachments[0].sl: found \"b\", want a whole number",
		"kind: tenant\nname: x\nspec: {weight: 1, classes: {a: 1}}\n":                    "f:3: spec.classes: found a mapping, want a list",
		"kind: flows\nspec: [{tenant: x, from: [], to: h1}]\n":                           "f:2: spec[0].from: found no port, want one or more",
		"kind: flows\nspec: [{tenant: x, from: {a: b}, to: h1}]\n":                       "f:2: spec[0].from: found a mapping, want a text",
		"kind: user\nname: x\nspec: {roles: [operator]}\n":                               "f:3: spec.roles[0]: grant \"operator\": want ROLE@DOMAIN",
		"kind: user\nname: x\nspec: {disabled: maybe}\n":                                 "f:3: spec.disabled: found \"maybe\", want true or false",
		"kind: user\nname: x\nspec: {password: secret}\n":                                "f:3: spec: unknown key \"password\"",
		"a: &x 1\nb: *x\n": "f:1: found the anchor or alias \"x1\", want values written out",
		"a: [\n":           "want valid YAML",
		"kind: user\nname: x\nspec: {}\n---\nkind: user\n": "f:5: spec: missing",
	} {
		_, err := Read("f", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is refused with %v, want %q", text, err, want)
			continue
		}
		var fault *yamltree.Fault
		if !errors.As(err, &fault) || fault.File != "f" {
			t.Errorf("%q is refused with %T, want a *yamltree.Fault", text, err)
		}
		zhtest.Error(t, text, err, names...)
	}
}

func TestFilesAndFaultsAreBounded(t *testing.T) {
	t.Parallel()
	if _, err := Read("f", bytes.NewReader(make([]byte, MaxBytes+1))); err == nil || !strings.Contains(err.Error(), "the maximum") {
		t.Errorf("a large file is refused with %v", err)
	}
	_, err := Read("f", strings.NewReader(strings.Repeat("kind: x\nspec: {}\n---\n", 1000)))
	if n := strings.Count(err.Error(), "\n"); n != yamltree.MaxFaults {
		t.Errorf("%d lines of faults, want %d and how many more there are", n, yamltree.MaxFaults)
	}
	if !strings.HasSuffix(err.Error(), "and 950 more") {
		t.Error("it is not said how many more faults there are")
	}
}

func TestResourcesGetTheDefaultFabric(t *testing.T) {
	t.Parallel()
	const two = "kind: fabric\nname: a\nspec: {source: s}\n---\nkind: fabric\nname: b\nspec: {source: s}\n---\nkind: tenant\nname: x\nspec: {weight: 1}\n"
	read := func(text string) []Resource {
		list, err := Read("f", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if err := InFabric(read(two), ""); err == nil || !strings.Contains(err.Error(), "f:9: fabric: missing") {
		t.Errorf("of two fabrics none was named: %v", err)
	}
	list := read(two)
	if err := InFabric(list, "b"); err != nil || list[2].Fabric != "b" {
		t.Errorf("the fabric of the command is not taken: %v, %+v", err, list[2])
	}
	// The same name in two tenants denotes two service accounts; twice in one tenant is a fault.
	const accounts = "kind: service-account\nname: ci\nfabric: a\nspec: {role: tenant-viewer, tenant: x}\n---\nkind: service-account\nname: ci\nfabric: a\nspec: {role: tenant-viewer, tenant: y}\n"
	if err := InFabric(read(accounts), ""); err != nil {
		t.Error(err)
	}
	if err := InFabric(read(strings.ReplaceAll(accounts, "tenant: y", "tenant: x")), ""); err == nil || !strings.Contains(err.Error(), "declared at f:1 already") {
		t.Errorf("a resource declared twice: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(whole)
	f.Add("kind: tenant\nname: x\nspec: {weight: -4, attachments: [{port: a}, b]}\n---\n- 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read("f", strings.NewReader(text))
		if err == nil {
			err = InFabric(list, "lab")
		}
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without a text")
			}
			return
		}
		Sort(list)
		for _, r := range list {
			if r.Spec == nil || r.ID() == "" || r.At.Line < 1 {
				t.Errorf("read %+v", r)
			}
		}
	})
}

// names are the words that a Chinese message takes from the file unchanged.
var names = strings.Fields("kind name fabric spec operator tenant user roles disabled true false")
