package inventory_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/zhtest"
	"fairlane/internal/yamltree"
	"fairlane/subnet"
	"fairlane/subnet/inventory"
	"fairlane/subnet/topofile"
)

func fabric(tb testing.TB) *subnet.Fabric {
	tb.Helper()
	f, err := topofile.ReadYAML("f.yaml", strings.NewReader(`version: 1
nodes:
  - {name: leaf-1, kind: switch, ports: 4, guid: 0x11}
  - {name: leaf-2, kind: switch, ports: 4, guid: 0x12}
  - {name: gate, kind: router, ports: 2, guid: 0x13}
  - {name: host-1, kind: host, guid: 0x21}
  - {name: host-2, kind: host, guid: 0x22}
  - {name: twin, kind: host, guid: 0x23}
  - {name: twin, kind: host, guid: 0x24}
`))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

const full = `version: 1
fabric: fabric.yaml
tls: {ca: ca.pem, certificate: manager.pem, key: manager-key.pem, server_name: fabric}
agents: 10.0.0.1:9339
switches: "[2001:db8::1]:8080"
protocol: openconfig
devices:
  - {node: leaf-1, address: leaf-1:9559, protocol: p4runtime, device_id: 7}
  - {node: leaf-2, address: leaf-2:8080, protocol: sonic, target: second, hostname: tor-7}
  - {node: "0x22", address: 10.0.0.2:9339}
`

func read(tb testing.TB, text string) *inventory.Inventory {
	tb.Helper()
	v, err := inventory.Read("inv.yaml", strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestWhereDevicesAnswer(t *testing.T) {
	t.Parallel()
	v := read(t, full)
	if want := (&inventory.TLS{CA: "ca.pem", Certificate: "manager.pem", Key: "manager-key.pem", ServerName: "fabric"}); v.Fabric != "fabric.yaml" || *v.TLS != *want {
		t.Errorf("fabric %q, TLS %+v", v.Fabric, v.TLS)
	}
	got, err := v.On(fabric(t), "inv.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := inventory.Directory{
		0x11: {Protocol: inventory.P4Runtime, Address: "leaf-1:9559", Target: "leaf-1", DeviceID: 7},
		0x12: {Protocol: inventory.SONiC, Address: "leaf-2:8080", Target: "second", DeviceID: 0x12, Hostname: "tor-7"},
		0x21: {Protocol: inventory.Agent, Address: "10.0.0.1:9339", Target: "host-1", DeviceID: 0x21},
		0x22: {Protocol: inventory.Agent, Address: "10.0.0.2:9339", Target: "host-2", DeviceID: 0x22},
		0x23: {Protocol: inventory.Agent, Address: "10.0.0.1:9339", Target: "twin", DeviceID: 0x23},
		0x24: {Protocol: inventory.Agent, Address: "10.0.0.1:9339", Target: "twin", DeviceID: 0x24},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// Without common addresses only listed nodes have one, and switches use sonic.
	v = read(t, "version: 1\nfabric: f.yaml\ninsecure: true\nswitches: 127.0.0.1:1\n")
	if got, err = v.On(fabric(t), "inv.yaml"); err != nil || len(got) != 2 || got[0x11].Protocol != inventory.SONiC || got[0x11].Hostname != "leaf-1" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestErrorsNameLineFieldAndAllowedValues(t *testing.T) {
	t.Parallel()
	head := "version: 1\nfabric: f.yaml\ninsecure: true\n"
	for name, c := range map[string]struct{ text, wantText string }{
		"empty":              {"", "inv.yaml: found nothing, want the keys version"},
		"comment":            {"# none\n", "inv.yaml: found nothing"},
		"list":               {"- a\n", "inv.yaml:1: found a list of 1, want the keys"},
		"no YAML":            {"version: [\n", "inv.yaml:1: found \"did not find expected node content\", want valid YAML"},
		"two documents":      {head + "---\na: 1\n", "inv.yaml:4: found a second document"},
		"alias":              {head + "agents: &a 127.0.0.1:1\nswitches: *a\n", "inv.yaml:4: found the anchor or alias"},
		"version":            {"version: 2\nfabric: f\ninsecure: true\n", `inv.yaml:1: version: found "2", want 1`},
		"no version":         {"fabric: f\ninsecure: true\n", "inv.yaml:1: version: missing, want 1"},
		"no fabric":          {"version: 1\ninsecure: true\n", "fabric: missing, want the path"},
		"fabric a list":      {"version: 1\nfabric: [f]\ninsecure: true\n", "inv.yaml:2: fabric: found a list of 1"},
		"unknown key":        {head + "agent: 127.0.0.1:1\n", `inv.yaml:4: unknown key "agent", want version, fabric`},
		"key twice":          {head + "agents: 127.0.0.1:1\nagents: 127.0.0.1:2\n", "agents"},
		"no security":        {"version: 1\nfabric: f\n", "tls: missing, want ca"},
		"both":               {head + "tls: {ca: x}\n", "inv.yaml:3: insecure"},
		"insecure word":      {"version: 1\nfabric: f\ninsecure: yes please\n", "inv.yaml:3: insecure: found \"yes please\", want true or false"},
		"no CA":              {"version: 1\nfabric: f\ntls: {certificate: c, key: k}\n", "inv.yaml:3: tls.ca: missing"},
		"half a pair":        {"version: 1\nfabric: f\ntls: {ca: a, key: k}\n", "want both or none"},
		"TLS unknown key":    {"version: 1\nfabric: f\ntls: {ca: a, cert: k}\n", `tls: unknown key "cert", want ca, certificate`},
		"not loopback":       {head + "agents: 10.0.0.1:9339\n", `inv.yaml:4: agents: found "10.0.0.1:9339", want a loopback address`},
		"a name":             {head + "agents: agents.example:9339\n", "want a loopback address"},
		"no port":            {head + "agents: 127.0.0.1\n", "inv.yaml:4: agents: found \"127.0.0.1\", want host:port"},
		"port 0":             {head + "agents: 127.0.0.1:0\n", "want host:port"},
		"port 65536":         {head + "agents: 127.0.0.1:65536\n", "want host:port"},
		"bare IPv6":          {head + "agents: 2001:db8::1:80\n", "want host:port"},
		"no IPv6":            {head + "agents: '[127.0.0.1]:80'\n", "want host:port"},
		"empty address":      {head + "agents: ''\n", "want host:port"},
		"protocol":           {head + "protocol: netconf\n", "inv.yaml:4: protocol: found \"netconf\", want sonic, openconfig or p4runtime"},
		"devices no list":    {head + "devices: {a: b}\n", "inv.yaml:4: devices"},
		"device no mapping":  {head + "devices: [a]\n", "inv.yaml:4: device"},
		"device without one": {head + "devices:\n  - {node: leaf-1}\n", "inv.yaml:5: devices[0].address: missing, want host:port"},
		"device no node":     {head + "devices:\n  - {address: 127.0.0.1:1}\n", "inv.yaml:5: devices[0].node: missing"},
		"device id":          {head + "devices:\n  - {node: leaf-1, address: 127.0.0.1:1, device_id: -1}\n", "device_id: found \"-1\""},
		"device id 0":        {head + "devices:\n  - {node: leaf-1, address: 127.0.0.1:1, device_id: 0}\n", "device_id: found \"0\""},
		"hostname a list":    {head + "devices:\n  - {node: leaf-1, address: 127.0.0.1:1, hostname: [a]}\n", "devices[0].hostname: found a list of 1"},
		"long":               {head + "agents: '" + strings.Repeat("x", 2000) + "'\n", "at most 1024 bytes"},
		"control":            {"version: 1\nfabric: \"a\\tb\"\ninsecure: true\n", "without control characters"},
	} {
		_, err := inventory.Read("inv.yaml", strings.NewReader(c.text))
		var fault *yamltree.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.wantText)
		}
		zhtest.Error(t, name, err, names...)
	}
}

func TestListedNodesMustBeOnTheFabric(t *testing.T) {
	t.Parallel()
	head := "version: 1\nfabric: f.yaml\ninsecure: true\ndevices:\n"
	for name, c := range map[string]struct{ text, wantText string }{
		"unknown":      {"  - {node: leaf-9, address: 127.0.0.1:1}\n", "inv.yaml:5: devices[0].node: found \"leaf-9\", want the name or node GUID of a node of fabric \"f\""},
		"no GUID":      {"  - {node: '0xzz', address: 127.0.0.1:1}\n", "name or node GUID"},
		"two of them":  {"  - {node: twin, address: 127.0.0.1:1}\n", "only one node of the fabric has"},
		"router":       {"  - {node: gate, address: 127.0.0.1:1}\n", "want a host or a switch"},
		"twice":        {"  - {node: leaf-1, address: 127.0.0.1:1}\n  - {node: '0x11', address: 127.0.0.1:1}\n", "inv.yaml:6: devices[1].node: found \"0x11\", want each node once; line 5 has it"},
		"host sonic":   {"  - {node: host-1, address: 127.0.0.1:1, protocol: sonic}\n", "protocol: found \"sonic\", want agent for the host host-1"},
		"host named":   {"  - {node: host-1, address: 127.0.0.1:1, hostname: h}\n", "inv.yaml:5: devices[0].hostname: found \"h\", want none with agent: the device does not report its name and is identified by the GUIDs of its NICs"},
		"P4 named":     {"  - {node: leaf-1, address: 127.0.0.1:1, protocol: p4runtime, hostname: l}\n", "is identified by device_id"},
		"switch agent": {"  - {node: leaf-1, address: 127.0.0.1:1, protocol: agent}\n", "want sonic, openconfig or p4runtime for the switch leaf-1"},
	} {
		_, err := read(t, head+c.text).On(fabric(t), "inv.yaml")
		var fault *yamltree.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.wantText)
		}
		zhtest.Error(t, name, err, names...)
	}
}

func TestAWrittenInventoryIsReadBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{full, "version: 1\nfabric: f.yaml\ninsecure: true\nswitches: 127.0.0.1:1\n"} {
		v := read(t, text)
		var b strings.Builder
		if err := inventory.Write(&b, v); err != nil {
			t.Fatal(err)
		}
		again := read(t, b.String())
		dirs := [2]inventory.Directory{}
		for i, x := range []*inventory.Inventory{v, again} {
			var err error
			if dirs[i], err = x.On(fabric(t), "inv.yaml"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(dirs[0], dirs[1]); diff != "" || (v.TLS == nil) != (again.TLS == nil) {
			t.Errorf("%s\n%s", b.String(), diff)
		}
	}
}

func TestTheSchemaHasTheKeysOfTheReader(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/schema/inventory.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties           map[string]node
		Items                *node
		Required             []string
		Enum                 []any
		AdditionalProperties *bool
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]node{"file": root, "tls": root.Properties["tls"], "device": *root.Properties["devices"].Items} {
		var keys []string
		for k := range n.Properties {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		want := inventory.Keys(name)
		slices.Sort(want)
		if !slices.Equal(keys, want) || n.AdditionalProperties == nil || *n.AdditionalProperties {
			t.Errorf("%s: the schema has the keys %q, the reader %q", name, keys, want)
		}
	}
	for _, p := range []inventory.Protocol{inventory.SONiC, inventory.OpenConfig, inventory.P4Runtime} {
		if !slices.Contains(root.Properties["protocol"].Enum, any(string(p))) {
			t.Errorf("the schema lacks the protocol %s", p)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(full)
	f.Add("version: 1\nfabric: f.yaml\ninsecure: true\nswitches: 127.0.0.1:1\n")
	f.Add("a: &b [*b]\n")
	topo := fabric(f)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := inventory.Read("inv.yaml", strings.NewReader(text))
		if err != nil {
			return
		}
		before, errBefore := v.On(topo, "inv.yaml")
		var b strings.Builder
		if err := inventory.Write(&b, v); err != nil {
			t.Fatal(err)
		}
		again, err := inventory.Read("inv.yaml", strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("the inventory of\n%s\nchanges when it is read back from\n%s\n%v", text, b.String(), err)
		}
		after, errAfter := again.On(topo, "inv.yaml")
		if diff := cmp.Diff(before, after); diff != "" || (errBefore == nil) != (errAfter == nil) {
			t.Errorf("%s\n%v\n%v", diff, errBefore, errAfter)
		}
	})
}

// names are the words of the file that a Chinese message keeps.
var names = strings.Fields("version fabric insecure tls ca certificate key agents switches protocol devices node address target hostname agent sonic openconfig true false")
