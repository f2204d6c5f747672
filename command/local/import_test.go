package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/qos"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

func TestImportSources(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]importSource{
		"host1=mlxconfig:a.txt":      {"host1", 0, kindMlxconfig, "a.txt"},
		"host1/P2=dcb:d=x:y.json":    {"host1", 2, kindDCB, "d=x:y.json"},
		"rack/P/P16=ethtool:s":       {"rack/P", 16, kindEthtool, "s"},
		"leaf1=sonic:C:/config.json": {"leaf1", 0, kindSONiC, "C:/config.json"},
	} {
		if got, err := parseImportSource(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "=", "host1", "host1=", "host1=dcb", "host1=dcb:", "=dcb:x", "host1=word:x", "host1=dcb:x", "host1/P0=dcb:x",
		"host1/P17=dcb:x", "host1/Pone=dcb:x", "host1/P1=mlxconfig:x", "leaf1/P1=sonic:x"} {
		if got, err := parseImportSource(text); err == nil {
			t.Errorf("%q was taken: %+v", text, got)
		}
	}
}

// importOf reads texts, each "DEVICE=KIND" with its contents.
func importOf(t *testing.T, texts map[string]string) []*importedDevice {
	t.Helper()
	var from []string
	for source, text := range texts {
		path := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		from = append(from, source+":"+path)
	}
	slices.Sort(from)
	out, err := readImports(from)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// registers returns the query output of a NIC whose port has the settings.
func registers(port int, s dcqcn.Settings) string {
	var b strings.Builder
	b.WriteString("Device #1:\n----------\n\nDevice type:    ConnectX6DX\nDevice:         0000:3b:00.0\n\nConfigurations:    Default     Current     Next Boot\n")
	l := dcqcn.Limits{Rate32: true}
	for _, r := range l.Registers() {
		v := r.Value(&s)
		fmt.Fprintf(&b, "         %-36s%-16d%-16d%-16d\n", fmt.Sprintf("%s_P%d", strings.ToUpper(r.Name), port), v, v, v)
	}
	return b.String()
}

func TestDriftFromAPlan(t *testing.T) {
	t.Parallel()
	def, other := dcqcn.Default(), dcqcn.Default()
	other.AIRate, other.TimeReset = 80, 75
	const queues = `{"PORT": {"Ethernet0": {}, "Ethernet4": {}},
		"WRED_PROFILE": {"A": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "100", "green_max_threshold": "200", "green_drop_probability": "5"}},
		"SCHEDULER": {"W": {"type": "DWRR", "weight": "16"}, "S": {"type": "STRICT"}},
		"QUEUE": {"Ethernet4|3": {"wred_profile": "A", "scheduler": "W"}, "Ethernet4|4": {"scheduler": "W"}, "Ethernet0|4": {"scheduler": "S"}}}`
	devices := importOf(t, map[string]string{
		"host1=mlxconfig": registers(1, def), "host2=mlxconfig": registers(1, other), "leaf1=sonic": queues, "leaf2=sonic": `{}`, "host4/P1=ethtool": "NIC statistics:\n     a: 1\n",
		"host1/P1=dcb": `{"prio_pfc":[false,false,false,false,false,false,false,false]} {"dscp_prio":[[26,4]]}`,
	})
	plan := &policy.Plan{Name: "p", RoCE: &policy.RoCEPlan{
		NICs: []policy.NICPlan{{Port: ident.PortID{Node: 1, Port: 1}, Name: "host1/P1", Settings: def}, {Port: ident.PortID{Node: 2, Port: 1}, Name: "host2/P1", Settings: def},
			{Port: ident.PortID{Node: 3, Port: 1}, Name: "host3/P1", Settings: def}, {Port: ident.PortID{Node: 4, Port: 1}, Name: "host4/P1", Settings: def}},
		Switches: []policy.ECNPlan{
			{Name: "leaf1", Queues: []ecn.QueueMarking{{Port: 1, Queue: 3, Marking: ecn.Marking{Min: 1, Max: 2, PMaxPct: 3}}, {Port: 2, Queue: 3, Marking: ecn.Marking{Min: 100, Max: 300, PMaxPct: 5}}},
				Weights: []qos.QueueWeight{{Port: 1, Queue: 3, Weight: 4}, {Port: 1, Queue: 4, Weight: 1}, {Port: 2, Queue: 3, Weight: 16}, {Port: 2, Queue: 4, Weight: 2}}},
			{Name: "leaf2", Queues: []ecn.QueueMarking{{Port: 1, Queue: 3}}},
		},
		Traffic: []policy.RoCEPlacement{{Tenant: "a", Port: ident.PortID{Node: 1, Port: 1}, DSCP: 26, Priority: 3, Queue: 3}, {Tenant: "b", Port: ident.PortID{Node: 1, Port: 1}, DSCP: 26, Priority: 3, Queue: 3}},
	}}
	drift, warnings := driftOf(devices, plan)
	var got []string
	for _, d := range drift {
		got = append(got, fmt.Sprintf("%s: %s %s: %s, %s", d.Device, d.What, d.Reason, d.Want, d.Got))
	}
	want := []string{
		"host1: port 1 dscp2prio[26] differs: 3, 4", "host1: port 1 pfc[3] differs: 1, 0",
		"host2: port 1 rpg_time_reset differs: 300, 75", "host2: port 1 rpg_ai_rate differs: 5, 80",
		"leaf1: port 1 queue 3 marking missing: 1..2 bytes, 3 %, ", "leaf1: port 2 queue 3 max_bytes differs: 300, 200",
		"leaf1: port 1 queue 3 weight missing: 4, ", "leaf1: port 1 queue 4 weight differs: 1, STRICT", "leaf1: port 2 queue 4 weight differs: 2, 16",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, says := range []string{"host4/P1: none of the texts has its DCQCN registers", "leaf2: ", "no table PORT", "1 NIC ports and switches of plan p have no text"} {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, says) }) {
			t.Errorf("no warning says %q: %q", says, warnings)
		}
	}
	for _, d := range drift {
		if d.Reason == adopt.Differs && d.File == "" {
			t.Errorf("%+v names no file", d)
		}
	}
}

func TestStartPolicyGroupsEqualSettings(t *testing.T) {
	t.Parallel()
	other := dcqcn.Default()
	other.AIRate = 80
	p, warnings := startPolicy(importOf(t, map[string]string{
		"host1=mlxconfig": registers(1, dcqcn.Default()), "host2=mlxconfig": registers(2, dcqcn.Default()), "host3=mlxconfig": registers(1, other),
		"host4/P1=dcb": `{"tc_bw":[30,70,0,0,0,0,0,0],"tc_tsa":["ets","ets","strict","strict","strict","strict","strict","strict"],"prio_tc":[0,1,2,3,4,5,6,7]}`,
	}))
	if len(warnings) != 0 || len(p.DCQCN) != 2 || !p.DCQCN[0].Default || !slices.Equal(p.DCQCN[0].Ports, []string{"host1/P1", "host2/P2"}) || p.DCQCN[1].Default || p.DCQCN[1].Settings.AIRate != 80 {
		t.Errorf("%+v, %q", p.DCQCN, warnings)
	}
	if len(p.Weights) != 2 || p.Weights[1].Percent != 70 || p.Weights[1].Of[0] != "host4/P1 class 1" {
		t.Errorf("%+v", p.Weights)
	}
	part := strings.Join(slices.DeleteFunc(strings.Split(registers(1, other), "\n"), func(l string) bool { return strings.Contains(l, "RPG_GD") }), "\n")
	if p, warnings := startPolicy(importOf(t, map[string]string{"host1=mlxconfig": part})); len(p.DCQCN) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "rpg_gd") {
		t.Errorf("%+v, %q", p.DCQCN, warnings)
	}
}
