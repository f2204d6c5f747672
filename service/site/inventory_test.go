package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/sim/live"
	"fairlane/sim/live/livetest"
	"fairlane/subnet"
	"fairlane/subnet/inventory"
)

// Two leaves differ only in their names. If the inventory has them swapped, neither gets the settings of the other.
func TestSwappedSwitchesInTheInventoryAreNotWritten(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6, Dir: filepath.Join(t.TempDir(), "lab")})
	leaf := func(k *Inventory, name string) driver.Device {
		return driver.SwitchDevice(k.Fabric, k.Fabric.NodesByName(name)[0], driver.PlaneRoCE)
	}
	k, right := connect(t, l.Source())
	before := map[string]driver.Settings{}
	for _, name := range []string{"leaf1", "leaf2"} {
		is, err := right.Read(t.Context(), leaf(k, name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = is
	}
	rewrite(t, l.Dir, live.InventoryName, "protocol: sonic\n", `protocol: sonic
devices:
  - {node: leaf1, address: "`+l.Addr+`", target: leaf2}
  - {node: leaf2, address: "`+l.Addr+`", target: leaf1}
`)
	k, swapped := connect(t, l.Source())
	want := driver.Settings{Queues: &driver.QueueState{Marking: slices.Clone(before["leaf1"].Queues.Marking)}}
	for i := range want.Queues.Marking {
		want.Queues.Marking[i].Marking = ecn.Marking{Min: 7000, Max: 70_000, PMaxPct: 7}
	}
	for name, is := range map[string]string{"leaf1": "leaf2", "leaf2": "leaf1"} {
		r, err := swapped.Apply(t.Context(), leaf(k, name), want)
		if !errors.Is(err, driver.ErrConflict) || len(r.Fields) > 0 || !strings.Contains(err.Error(), fmt.Sprintf("calls itself %q, want %q", is, name)) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		after, err := right.Read(t.Context(), leaf(k, is))
		if err != nil || !before[is].Equal(after) {
			t.Errorf("%s was written to: %v, %v", is, before[is].Diff(after), err)
		}
	}
	// An inventory that states a switch's hostname is trusted.
	rewrite(t, l.Dir, live.InventoryName, "target: leaf2}", "target: leaf2, hostname: leaf2}")
	k, named := connect(t, l.Source())
	if _, err := named.Apply(t.Context(), leaf(k, "leaf1"), want); err != nil {
		t.Error(err)
	}
}

// Nodes may have names that are invalid as host names: the inventory of a live fabric maps switches to them.
func TestSwitchesWithInvalidHostNamesAreFound(t *testing.T) {
	t.Parallel()
	c := livetest.SlowCase(t, policy.PlaneRoCE)
	for i := range c.Fabric.Nodes {
		if n := &c.Fabric.Nodes[i]; n.Kind == subnet.KindSwitch {
			n.Name = "rack " + n.Name
		}
	}
	l := livetest.Ethernet(t, c, live.EthernetOptions{TimeScale: 1e-6})
	o, err := DiscoverSource(t.Context(), Source{Ethernet: strings.TrimPrefix(l.Source(), "ethernet:")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Warnings) > 0 || o.Answered != o.Asked {
		t.Errorf("%d of %d answered: %q", o.Answered, o.Asked, o.Warnings)
	}
}

func TestSharedDeviceIDsAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nodes := "version: 1\nnodes:\n"
	devices := ""
	for i := range 7 {
		nodes += fmt.Sprintf("  - {name: dci-%d, kind: switch, ports: 4, guid: 0x1%d}\n", i, i)
		if i > 0 {
			devices += fmt.Sprintf("  - {node: dci-%d, address: \"127.0.0.1:%d\", device_id: %d}\n", i, 9000+i, 1+i/6)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fabric.yaml", nodes)
	write(live.InventoryName, "version: 1\nfabric: fabric.yaml\ninsecure: true\nprotocol: "+string(inventory.P4Runtime)+"\nswitches: 127.0.0.1:9000\ndevices:\n"+devices)
	k, err := ReadInventory(filepath.Join(dir, live.InventoryName))
	if err != nil {
		t.Fatal(err)
	}
	got := phrase.English(k.sharedIDs())
	want := "5 switches have device_id 1 (dci-1, dci-2, dci-3, dci-4 and 1 more): a mix-up of their addresses would go unnoticed; give each switch an id of its own"
	if !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSwitchesWithOneTargetAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fabric.yaml": "version: 1\nnodes:\n  - {name: leaf-1, kind: switch, ports: 4}\n  - {name: leaf-2, kind: switch, ports: 4}\n  - {name: leaf-3, kind: switch, ports: 4}\n",
		live.InventoryName: "version: 1\nfabric: fabric.yaml\ninsecure: true\nswitches: 127.0.0.1:9000\ndevices:\n" +
			"  - {node: leaf-1, address: 127.0.0.1:9000, target: leaf-2, hostname: leaf-2}\n  - {node: leaf-3, address: 127.0.0.1:9001, target: leaf-2}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := ReadInventory(filepath.Join(dir, live.InventoryName))
	if err != nil {
		t.Fatal(err)
	}
	got := phrase.English(k.sharedIDs())
	want := `2 switches are target "leaf-2" at 127.0.0.1:9000 (leaf-1, leaf-2): they are the same device; give each an address or a target of its own`
	if !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

// connect reads the inventory of a source and connects to its devices until the test ends.
func connect(t *testing.T, from string) (*Inventory, *InventoryDriver) {
	t.Helper()
	k, err := ReadInventory(strings.TrimPrefix(from, "ethernet:"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // every device has answered
	return k, d
}
