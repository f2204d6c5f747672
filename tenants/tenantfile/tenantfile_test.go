package tenantfile_test

import (
	"bytes"
	"encoding/json"
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
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/tenants/tenantfile"
)

func fabric(t testing.TB) *subnet.Fabric {
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDocumentationExamplesAreValid(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/tenant-files.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(doc), "```yaml\n")[1:]
	if len(parts) < 2 {
		t.Fatalf("%d examples, want at least 2", len(parts))
	}
	for i, part := range parts {
		text, _, _ := strings.Cut(part, "```")
		ts, flows, err := tenantfile.Read("example", strings.NewReader(text), fabric(t))
		if err != nil || len(ts) < 2 || len(flows) < 2 {
			t.Errorf("example %d: %d tenants, %d flows, %v", i, len(ts), len(flows), err)
		}
	}
}

func TestReadExpandsListsAndKeepsUnits(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	ts, flows, err := tenantfile.Read("f.yaml", strings.NewReader(`version: 1
tenants:
  - name: red
    weight: 1.5
    guarantee: 10Gbit/s
    cap: 25 Gbps
    pkey: 0x8001
    attachments: [host-001, {port: host-002, sl: 3}, host-003]
    flows:
      - {from: [host-001, host-002], to: [host-002, host-003], qps: 2, demand: 10Gbit/s}
`), f)
	if err != nil {
		t.Fatal(err)
	}
	if ts[0].Weight != 1500 || ts[0].PKey != 0x8001 || len(ts[0].Attachments) != 3 || *ts[0].Attachments[1].SL != 3 {
		t.Errorf("tenant %+v", ts[0])
	}
	if ts[0].Guarantee != 10*quantity.Gbps || ts[0].Cap != 25*quantity.Gbps {
		t.Errorf("guarantee %s, cap %s", ts[0].Guarantee, ts[0].Cap)
	}
	if len(flows) != 3 || flows[0].QPs != 2 || flows[0].Demand != 10*quantity.Gbps {
		t.Errorf("flows %+v", flows)
	}
}

// names are the words that a Chinese message takes from the file unchanged.
var names = strings.Fields("version groups tenants flows name weight guarantee cap pkey classes attachments port sl class from to qps demand tenant red Red")

func TestHostSetsAndGroupsStandForTheirHosts(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	read := func(text string) ([]tenants.Tenant, []tenants.Flow) {
		ts, flows, err := tenantfile.Read("f.yaml", strings.NewReader(text), f)
		if err != nil {
			t.Fatal(err)
		}
		return ts, flows
	}
	ts, flows := read(`version: 1
groups:
  storage: host-[009-010]
  all: [storage, "host-[001-003]", host-005]
tenants:
  - name: red
    weight: 1
    attachments: ["host-[001-002]", {port: "host-[003-004]", sl: 3}, storage]
    flows:
      - {from: "host-[001-002,004]", to: storage, qps: 2}
  - name: blue
    weight: 1
    flows:
      - {from: all, to: [host-001, host-004]}
`)
	same, sameFlows := read(`version: 1
tenants:
  - name: red
    weight: 1
    attachments: [host-001, host-002, {port: host-003, sl: 3}, {port: host-004, sl: 3}, host-009, host-010]
    flows:
      - {from: [host-001, host-002, host-004], to: [host-009, host-010], qps: 2}
  - name: blue
    weight: 1
    flows:
      - {from: [host-009, host-010, host-001, host-002, host-003, host-005], to: [host-001, host-004]}
`)
	if d := cmp.Diff(same, ts) + cmp.Diff(sameFlows, flows); d != "" {
		t.Error(d)
	}
	got, err := tenantfile.ReadFlows("flows.yaml", strings.NewReader("version: 1\ngroups: {s: [host-009]}\nflows:\n  - {tenant: red, from: 'host-[001-002]', to: s}\n"), f, []tenants.Tenant{{Name: "red", Weight: 1000}})
	if err != nil || len(got) != 2 {
		t.Errorf("a file of flows: %+v, %v", got, err)
	}
}

func TestFaultsOfHostSetsNameTheHosts(t *testing.T) {
	t.Parallel()
	const head = "version: 1\ngroups:\n  st: host-[001-004]\ntenants:\n  - name: red\n    weight: 1\n"
	for text, want := range map[string]string{
		head + "    attachments: ['host-[998-999]']\n":                             `f.yaml:7: attachment "host-[998-999]" has "host-998", "host-999": want a host name, `,
		head + "    attachments: ['host-[900-999]']\n":                             `f.yaml:7: attachment "host-[900-999]" has "host-900", "host-901", "host-902", "host-903", "host-904", ...: want `,
		head + "    attachments: [st, 'host-[004-005]']\n":                         `f.yaml:7: attachment "st" and "host-[004-005]" both have "host-004": want each host once`,
		head + "    attachments: ['host-[1-']\n":                                   `f.yaml:7: attachment host set "host-[1-", character 6: [ is not closed, `,
		head + "    attachments: [sto]\n":                                          `; or a group: "st"`,
		head + "    flows:\n      - {from: [st, host-002], to: host-009}\n":        `f.yaml:8: from "st" and "host-002" both have "host-002": want each host once`,
		head + "    flows:\n      - {from: st, to: 'host-[1-99999999]'}\n":         `f.yaml:8: to host set "host-[1-99999999]": it expands to more than 65536 names, `,
		strings.Replace(head, "st:", "host-001:", 1):                               `f.yaml:3: groups "host-001": want a name that no host of the fabric has`,
		strings.Replace(head, "st:", "3:", 1):                                      `f.yaml:3: groups.3 group "3": want a name of `,
		strings.Replace(head, "[001-004]", "[001-004,777]", 1):                     `f.yaml:3: groups.st "host-[001-004,777]" has "host-777": want `,
		strings.Replace(head, "host-[001-004]", "[host-001, 'host-[001-2]']", 1):   `f.yaml:3: groups.st host set "host-[001-2]", character 7: found "001-2", `,
		strings.Replace(head, "host-[001-004]", "[host-001, 'host-[001-002]']", 1): `f.yaml:3: groups.st group "st" has "host-001" twice: want each name once`,
		strings.Replace(head, "host-[001-004]", "{a: b}", 1):                       `f.yaml:3: groups.st is a mapping: want a host set such as `,
		"version: 1\ngroups: host-001\ntenants: []\n":                              `f.yaml:2: groups "host-001": want a mapping from names to host sets`,
	} {
		_, _, err := tenantfile.Read("f.yaml", strings.NewReader(text), fabric(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
		zhtest.Error(t, text, err, names...)
	}
}

func TestFaultsUseTheKeysOfTheFile(t *testing.T) {
	t.Parallel()
	_, _, err := tenantfile.Read("f.yaml", strings.NewReader(`version: 1
tenants:
  - name: red
    weight: 1
    attachments: [host-001]
    flows:
      - {from: host-001, to: [host-002]}
`), fabric(t))
	if want := `f.yaml:7: tenant red: to "host-002": want a port the tenant is attached to`; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = tenantfile.ReadFlows("flows.yaml", strings.NewReader(""), fabric(t), nil)
	if want := "flows.yaml: file empty: want a mapping with the keys version, flows"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestEveryErrorNamesItsLineFieldAndAllowedValues(t *testing.T) {
	t.Parallel()
	const head = "version: 1\ntenants:\n  - name: red\n"
	for name, c := range map[string]struct {
		text, field string
		line        int
	}{
		"weight zero":         {head + "    weight: 0\n", "weight", 4},
		"weight negative":     {head + "    weight: -1\n", "weight", 4},
		"weight not a number": {head + "    weight: NaN\n", "weight", 4},
		"weight yaml nan":     {head + "    weight: .nan\n", "weight", 4},
		"weight missing":      {head, "weight", 3},
		"unknown key":         {head + "    weight: 1\n    colour: x\n", "tenant", 5},
		"guarantee no rate":   {head + "    weight: 1\n    guarantee: much\n", "guarantee", 5},
		"guarantee negative":  {head + "    weight: 1\n    guarantee: -1\n", "guarantee", 5},
		"cap too large":       {head + "    weight: 1\n    cap: 101Tbit/s\n", "cap", 5},
		"cap a list":          {head + "    weight: 1\n    cap: [1]\n", "cap", 5},
		"cap below guarantee": {head + "    weight: 1\n    cap: 1Gbit/s\n    guarantee: 2Gbit/s\n", "tenant red: cap", 5},
		"repeated key":        {head + "    weight: 1\n    weight: 2\n", "tenant", 5},
		"duplicate tenant":    {head + "    weight: 1\n  - name: red\n    weight: 1\n", "tenant", 5},
		"bad name":            {"version: 1\ntenants:\n  - weight: 1\n    name: Red\n", "tenant Red: name", 4},
		"unknown host":        {head + "    weight: 1\n    attachments:\n      - host-999\n", "attachment", 6},
		"switch as host":      {head + "    weight: 1\n    attachments:\n      - leaf1:1\n", "attachment", 6},
		"sl out of range":     {head + "    weight: 1\n    attachments:\n      - {port: host-001, sl: 16}\n", "sl", 6},
		"pkey out of range":   {head + "    weight: 1\n    pkey: 0x10000\n", "pkey", 5},
		"no queue pairs":      {head + "    weight: 1\n    flows:\n      - from: host-001\n        to: host-002\n        qps: 0\n", "qps", 8},
		"bad demand":          {head + "    weight: 1\n    flows:\n      - {from: host-001, to: host-002, demand: 3 parsecs}\n", "demand", 6},
		"flow to itself":      {head + "    weight: 1\n    flows:\n      - {from: host-001, to: host-001}\n", "tenant red: to", 6},
		"unknown class":       {head + "    weight: 1\n    flows:\n      - {from: host-001, to: host-002, class: x}\n", "tenant red: class", 6},
		"source not attached": {head + "    weight: 1\n    attachments: [host-002]\n    flows:\n      - {from: host-001, to: host-002}\n", "tenant red: from", 7},
		"flow without to":     {head + "    weight: 1\n    flows:\n      - {from: host-001}\n", "to", 6},
		"flow without tenant": {head + "    weight: 1\nflows:\n  - {from: host-001, to: host-002}\n", "tenant", 6},
		"wrong version":       {"version: 2\ntenants: []\n", "version", 1},
		"no version":          {"tenants: []\n", "version", 1},
		"no tenants":          {"version: 1\n", "tenants", 1},
		"an alias":            {"version: 1\ntenants: &x []\nflows: *x\n", "anchor or alias", 2},
		"two documents":       {"version: 1\ntenants: []\n---\nversion: 1\n", "document", 3},
		"broken syntax":       {"version: 1\ntenants: [\n", "syntax", 2},
		"a list for a file":   {"- 1\n", "file", 1},
		"empty":               {"", "file", 0},
		"class weight":        {head + "    weight: 1\n    classes:\n      - {name: a, weight: 0}\n", "weight", 6},
		"duplicate class":     {head + "    weight: 1\n    classes:\n      - {name: a}\n      - {name: a}\n", "tenant red: classes[1].name", 7},
		"tenants not a list":  {"version: 1\ntenants: red\n", "tenants", 2},
		"weight is a mapping": {head + "    weight: {a: 1}\n", "weight", 4},
		"cap without a unit":  {head + "    weight: 1\n    cap: 10\n", "cap", 5},
		"cap too small":       {head + "    weight: 1\n    cap: 10kbit/s\n", "tenant red: cap", 5},
		"demand of no unit":   {head + "    weight: 1\n    flows:\n      - {from: host-001, to: host-002, demand: 40}\n", "demand", 6},
		"pkey 0":              {head + "    weight: 1\n    pkey: 0\n", "pkey", 5},
	} {
		_, _, err := tenantfile.Read("f.yaml", strings.NewReader(c.text), fabric(t))
		var pe *tenantfile.ParseError
		if !errors.As(err, &pe) {
			t.Errorf("%s: error %v, want a ParseError", name, err)
			continue
		}
		if pe.Line != c.line || pe.Field.String() != c.field || pe.File != "f.yaml" || pe.Allowed.ID == "" {
			t.Errorf("%s: %+v, want line %d, field %q and what is allowed", name, *pe, c.line, c.field)
		}
		zhtest.Error(t, name, err, names...)
	}
}

// limit draws a guarantee or a cap; 0 means none.
func limit(t *rapid.T, name string) quantity.BitRate {
	return quantity.BitRate(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(int64(tenants.MinLimit), 1e12)).Draw(t, name))
}

func TestReadFlowsUsesKnownTenants(t *testing.T) {
	t.Parallel()
	known := []tenants.Tenant{{Name: "red", Weight: 1000}}
	flows, err := tenantfile.ReadFlows("flows.yaml", strings.NewReader("version: 1\nflows:\n  - {tenant: red, from: host-001, to: host-002}\n"), fabric(t), known)
	if err != nil || len(flows) != 1 || flows[0].Tenant != "red" {
		t.Errorf("flows %+v, %v", flows, err)
	}
	_, err = tenantfile.ReadFlows("flows.yaml", strings.NewReader("version: 1\nflows:\n  - {tenant: blue, from: host-001, to: host-002}\n"), fabric(t), known)
	var pe *tenantfile.ParseError
	if !errors.As(err, &pe) || pe.Line != 3 {
		t.Errorf("unknown tenant: %v, want a ParseError at line 3", err)
	}
}

func TestWriteAndReadRoundTrip(t *testing.T) {
	t.Parallel()
	f := fabric(t)
	var hosts []ident.PortID
	for _, h := range f.Hosts() {
		hosts = append(hosts, f.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	rapid.Check(t, func(rt *rapid.T) {
		var ts []tenants.Tenant
		var flows []tenants.Flow
		for i := range rapid.IntRange(0, 5).Draw(rt, "tenants") {
			tn := tenants.Tenant{Name: rapid.SampledFrom([]string{"null", "true", "1", "1e3", "x-y"}).Draw(rt, "name") + string(rune('a'+i)),
				Weight:    quantity.Weight(rapid.Uint32Range(1, uint32(quantity.MaxWeight)).Draw(rt, "weight")),
				Guarantee: limit(rt, "guarantee"),
				PKey:      ident.PKey(rapid.SampledFrom([]int{0, 0x8001 + i, 1 + i}).Draw(rt, "pkey"))}
			if rapid.Bool().Draw(rt, "capped") {
				tn.Cap = tn.Guarantee + limit(rt, "cap")
			}
			if rapid.Bool().Draw(rt, "classes") {
				tn.Classes = []tenants.Class{{Name: "null", Weight: 1}, {Name: "b", Weight: 2500}}
			}
			for range rapid.IntRange(0, 3).Draw(rt, "flows") {
				src := rapid.IntRange(0, len(hosts)-1).Draw(rt, "src")
				fl := tenants.Flow{Tenant: tn.Name, Src: hosts[src], Dst: hosts[(src+1)%len(hosts)], QPs: rapid.IntRange(1, tenants.MaxQPs).Draw(rt, "qps"),
					Demand: quantity.BitRate(rapid.Int64Range(0, 1e12).Draw(rt, "demand"))}
				if tn.Classes != nil {
					fl.Class = "null"
				}
				flows = append(flows, fl)
			}
			if rapid.Bool().Draw(rt, "attached") {
				sl := ident.SL(rapid.IntRange(0, 15).Draw(rt, "sl"))
				for k, h := range hosts {
					a := tenants.Attachment{Port: h}
					if k == 0 {
						a.SL = &sl
					}
					tn.Attachments = append(tn.Attachments, a)
				}
			}
			ts = append(ts, tn)
		}
		var b bytes.Buffer
		if err := tenantfile.Write(&b, f, ts, flows); err != nil {
			rt.Fatalf("write: %v", err)
		}
		ts2, flows2, err := tenantfile.Read("round-trip", bytes.NewReader(b.Bytes()), f)
		if err != nil {
			rt.Fatalf("read: %v\n%s", err, b.String())
		}
		if d := cmp.Diff(ts, ts2) + cmp.Diff(flows, flows2); d != "" {
			rt.Fatalf("%s\n%s", d, b.String())
		}
	})
}

func TestTheSchemaHasTheKeysOfTheReader(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/schema/tenants.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	keys := func(m map[string]any) string {
		var out []string
		for k := range m {
			out = append(out, k)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for what, c := range map[string][2]string{
		"file":   {keys(schema.Properties), "flows groups tenants version"},
		"tenant": {keys(schema.Defs["tenant"].Properties), "attachments cap classes flows guarantee name pkey weight"},
		"flow":   {keys(schema.Defs["flow"].Properties), "class demand from qps tenant to"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: the schema has %s, the reader takes %s", what, c[0], c[1])
		}
	}
}

func FuzzRead(f *testing.F) {
	fab := fabric(f)
	f.Add("version: 1\ntenants:\n  - name: red\n    weight: 4\n    flows: [{from: host-001, to: host-002, qps: 2, demand: 1Gbit/s}]\n")
	f.Add("version: 1\ntenants:\n  - {name: a, weight: 1, guarantee: 1.5G, cap: 2000000001}\n")
	f.Add("version: 1\ntenants: &a [*a]\n")
	f.Add("version: 1\ngroups: {st: 'host-[009-010]'}\ntenants:\n  - name: red\n    weight: 4\n    flows: [{from: 'host-[001-003]', to: st}]\n")
	f.Add("- - - {")
	f.Fuzz(func(t *testing.T, text string) {
		ts, flows, err := tenantfile.Read("fuzz", strings.NewReader(text), fab)
		if err != nil {
			return
		}
		if err := tenants.Validate(ts, flows); err != nil {
			t.Fatalf("read what Validate refuses: %v", err)
		}
		var b bytes.Buffer
		if err := tenantfile.Write(&b, fab, ts, flows); err != nil {
			t.Fatalf("write: %v", err)
		}
		ts2, flows2, err := tenantfile.Read("again", &b, fab)
		if err != nil || len(ts2) != len(ts) || len(flows2) != len(flows) {
			t.Fatalf("read again: %d of %d tenants, %d of %d flows, %v", len(ts2), len(ts), len(flows2), len(flows), err)
		}
	})
}
