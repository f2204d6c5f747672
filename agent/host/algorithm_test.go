package host

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/nic/ccalgo"
)

// slots returns a program that answers queries of PPCC: the slots of the list, and those that are active.
func slots(listed, active string) *program {
	answers := map[string]string{}
	list := ""
	for i := range ccalgo.Slots {
		in := 0
		if strings.Contains(" "+listed+" ", fmt.Sprintf(" %d ", i)) {
			in = 1
		}
		list += fmt.Sprintf("text[%d] | 0x%08x\n", i, in)
		on := 0
		if strings.Contains(" "+active+" ", fmt.Sprintf(" %d ", i)) {
			on = 1
		}
		answers[strings.Join(ccalgo.StatusArgs("0000:3b:00.0", 1, i), " ")] = fmt.Sprintf("value | 0x%08x\n", on)
	}
	answers[strings.Join(ccalgo.ListArgs("0000:3b:00.0", 1), " ")] = list
	return &program{answers: answers}
}

func algorithmOf(t *testing.T, h *Host) ccalgo.State {
	t.Helper()
	cards := nics(t, h)
	if len(cards) != 1 || len(cards[0].Ports) != 1 {
		t.Fatalf("found %d cards, want one port", len(cards))
	}
	return cards[0].Ports[0].Algorithm
}

// The status decides, whatever files and counters exist.
func TestTheStatusOfTheFirmwareDecidesTheAlgorithm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, listed, active string
		nv                   []string
		want                 ccalgo.Name
		noted                bool
	}{
		{"DCQCN", "0 1", "0", nil, ccalgo.DCQCN, false},
		{"another algorithm", "0 1", "1", nil, ccalgo.Programmable, true},
		{"the last slot is not in the list", "0", "15", nil, ccalgo.Programmable, true},
		{"none, and the fixed function is off", "0", "", []string{"ROCE_CC_LEGACY_DCQCN False(0) False(0) True(1)"}, ccalgo.Inactive, true},
		{"none, and the fixed function is on", "0", "", []string{"ROCE_CC_LEGACY_DCQCN False(0) True(1) False(0)"}, ccalgo.DCQCN, false},
		{"none", "0", "", nil, ccalgo.Unverified, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.nic(0)
			m.vendorFiles(0, "")
			h := m.open(func(o *Options) {
				o.Mstreg = slots(c.listed, c.active)
				if c.nv != nil {
					o.Mstconfig = mstconfig(c.nv...)
				}
			})
			if got := algorithmOf(t, h); got.Name != c.want || got.Driver != "mlx5_core" || got.NetDev != "ens1f0np0" || got.Evidence == "" {
				t.Errorf("%+v", got)
			}
			if notes := h.Report().Notes; (len(notes) > 0) != c.noted {
				t.Errorf("notes %v", notes)
			}
		})
	}
}

func TestAnUnreadableStatusIsNoProof(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	if got := algorithmOf(t, m.open(nil)); got.Name != ccalgo.Unverified || !strings.Contains(got.Evidence, "refused") {
		t.Errorf("%+v", got)
	}
}

// A program may load an algorithm while the agent runs.
func TestTheStatusIsReadAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	now := slots("0 1", "0")
	h := m.open(func(o *Options) { o.Mstreg = now })
	first := algorithmOf(t, h)
	now.mu.Lock()
	now.answers = slots("0 1", "1").answers
	now.mu.Unlock()
	for range readsUntilStatus {
		if n := algorithmOf(t, h); n.Name == ccalgo.Programmable {
			break
		}
	}
	if got := algorithmOf(t, h); first.Name != ccalgo.DCQCN || got.Name != ccalgo.Programmable {
		t.Errorf("%s, then %s", first.Name, got.Name)
	}
}

// A program that fails once must not open a port to parameters of DCQCN.
func TestAFailedReadingKeepsAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	for active, want := range map[string]ccalgo.Name{"1": ccalgo.Programmable, "0": ccalgo.Unverified} {
		m := newMachine(t, t.TempDir())
		m.nic(0)
		now := slots("0 1", active)
		h := m.open(func(o *Options) { o.Mstreg = now })
		algorithmOf(t, h)
		now.mu.Lock()
		now.answers = nil
		now.mu.Unlock()
		for range readsUntilStatus {
			algorithmOf(t, h)
		}
		if got := algorithmOf(t, h); got.Name != want {
			t.Errorf("slot %s was active: %+v, want %s", active, got, want)
		}
	}
}

// otherNIC replaces the card of nic(0) by one of another vendor.
func (m *machine) otherNIC(driver, pciID string) {
	m.nic(0)
	m.file("sys/devices/pci0000:3a/0000:3b:00.0/uevent", "DRIVER="+driver+"\nPCI_CLASS=20000\nPCI_ID="+pciID+"\nPCI_SLOT_NAME=0000:3b:00.0")
}

func TestNICsOfOtherVendorsAreNamedAndOnlyRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver, id string
		files      map[string]string
		want       ccalgo.Name
		evidence   string
	}{
		{"bnxt_en", "14E4:1750", map[string]string{"sys/kernel/config/bnxt_re/mlx5_0/ports/1/cc/ecn_enable": "0x1"}, ccalgo.Thor, `ecn_enable "0x1"`},
		{"bnxt_en", "14E4:1760", map[string]string{"sys/kernel/debug/bnxt_re/0000:3b:00.0/cc_config/enable_cc": "1"}, ccalgo.Thor, "debugfs"},
		{"ice", "8086:1592", map[string]string{"sys/kernel/config/irdma/mlx5_0/roce_dcqcn_enable": "0", "sys/module/irdma/parameters/dcqcn_cc_cfg_valid": "0"}, ccalgo.Window, `roce_dcqcn_enable "0", dcqcn_cc_cfg_valid "0"`},
		{"ionic", "1DD8:1002", map[string]string{"sys/kernel/debug/ionic/0000:3b:00.0/rdma/dcqcn/profiles/1/roce_rp/rpg_gd": "11"}, ccalgo.Profiles, "1 profiles"},
		{"zxdh_en", "1CF2:8040", nil, ccalgo.Unknown, "0x1cf2"},
	} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.otherNIC(c.driver, c.id)
			for name, text := range c.files {
				m.file(name, text)
			}
			ppcc := &program{}
			h := m.open(func(o *Options) { o.Mstreg = ppcc })
			got := algorithmOf(t, h)
			if got.Name != c.want || got.Driver != c.driver || !strings.Contains(got.Evidence, c.evidence) || len(ppcc.runs) != 0 {
				t.Errorf("%+v, ran %q", got, ppcc.runs)
			}
			notes := h.Report().Notes
			if len(notes) != 1 || notes[0].What != "ens1f0np0" || !strings.Contains(notes[0].Why, string(c.want)) {
				t.Errorf("notes %v", notes)
			}
		})
	}
}

// A Broadcom port has its own parameters, through the directory that the agent makes, and none of DCQCN.
func TestABroadcomPortOffersItsOwnParameters(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.otherNIC("bnxt_en", "14E4:1750")
	const cc = "sys/kernel/config/bnxt_re/mlx5_0/ports/1/cc/"
	for name, text := range map[string]string{"apply": "ecn_enable=0x0\t# ecn status : Disabled", "roce_dscp": "0x1a", "roce_prio": "0x3"} {
		m.file(cc+name, text)
	}
	h := m.open(nil)
	n := nics(t, h)[0]
	if got := findings(h); got["1 bnxt"] != "3" {
		t.Errorf("%v", got)
	}
	if !n.Table.Caps().Bnxt {
		t.Error("the capability is missing")
	}
	for _, r := range n.Device.ReadAll(t.Context()) {
		if r.Name == "bnxt_roce_dscp" && (r.Err != nil || r.Value != 26) {
			t.Errorf("%+v", r)
		}
		if p, ok := n.Table.Find(r.Name); !ok || p.OfDCQCN() {
			t.Errorf("a parameter of DCQCN: %+v", r)
		}
	}
}

func TestOnlyTheServingAgentMakesDirectories(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{true, false} {
		m := newMachine(t, t.TempDir())
		m.otherNIC("bnxt_en", "14E4:1750")
		m.mkdir("sys/kernel/config/bnxt_re")
		h := m.open(func(o *Options) { o.ReadOnly = readOnly })
		nics(t, h)
		if _, err := h.files.List("sys/kernel/config/bnxt_re/mlx5_0"); (err == nil) == readOnly {
			t.Errorf("read-only %t: %v", readOnly, err)
		}
	}
}
