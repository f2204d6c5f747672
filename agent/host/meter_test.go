package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"fairlane/agent"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
)

func TestCountersThatCannotBeReadHaveNoValue(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	const ports = "sys/devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0/ports/1/"
	m.file(ports+"hw_counters/np_ecn_marked_roce_packets", "N/A")
	m.mkdir(ports + "counters/port_rcv_data") // reads as an error
	h := m.open(func(o *Options) {
		o.Ethtool = &program{answers: map[string]string{"-S ens1f0np0": "NIC statistics:\n     tx_prio3_bytes: 4096\n     rx_discards_phy: none\n     np_cnp_sent: 99\n"}}
	})
	c, err := nics(t, h)[0].Ports[0].Meter.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{"np_cnp_sent": 11, "rp_cnp_handled": 12, "port_xmit_data": 1000, "tx_prio3_bytes": 4096}
	got := map[string]uint64{}
	for name, v := range c {
		if v.Err == nil {
			got[name] = v.Value
		} else if v.Value != 0 {
			t.Errorf("%s has an error and a value", name)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"np_ecn_marked_roce_packets", "port_rcv_data", "rx_discards_phy"} {
		if _, err := c.Read(name); err == nil || errors.Is(err, niccount.ErrAbsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.remove(ports + "hw_counters")
	m.file(ports+"hw_counters", "no directory") // cannot be listed
	if c, err := nics(t, m.open(nil))[0].Ports[0].Meter.Counters(t.Context()); !errors.Is(err, nicfiles.ErrUnreadable) || c["port_xmit_data"].Value != 1000 {
		t.Errorf("%v, %v, want the readable counters and the reasons for the others", c, err)
	}
	m.remove(ports + "hw_counters")
	m.remove(ports + "counters")
	if c, err := nics(t, m.open(nil))[0].Ports[0].Meter.Counters(t.Context()); !errors.Is(err, nicfiles.ErrAbsent) || len(c) != 0 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestFunctionsAreCountedByTheDeviceThatTheHostHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		switchdev bool
		device    string
		text      string
		tx, rx    uint64
	}{
		{"own network device", false, "ens1f0v%d", "NIC statistics:\n     tx_vport_rdma_unicast_bytes: 7\n     rx_vport_rdma_unicast_bytes: 8\n", 7, 8},
		{"representor", true, "ens1f0npf0vf%d", "NIC statistics:\n     vport_rx_bytes: 7\n     vport_tx_bytes: 8\n", 7, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.nic(0)
			m.functions(0, 2, c.switchdev)
			h := m.open(func(o *Options) {
				o.Ethtool = &program{answers: map[string]string{"-S " + fmt.Sprintf(c.device, 0): c.text}}
			})
			got, err := nics(t, h)[0].Ports[0].Meter.Functions(t.Context())
			if err != nil || len(got) != 2 {
				t.Fatalf("%+v, %v", got, err)
			}
			if got[0].Name != fmt.Sprintf(c.device, 0) || got[0].TxOctets.Value != c.tx || got[0].RxOctets.Value != c.rx || got[0].TxOctets.Err != nil {
				t.Errorf("%+v", got[0])
			}
			if got[1].Index != 1 || got[1].TxOctets.Err == nil || got[1].RxOctets.Err == nil {
				t.Errorf("%+v", got[1])
			}
		})
	}
}

// While a container has the RDMA device of a function, its directory is missing in the network namespace of the agent.
func TestCongestionCountersOfAFunctionAreThoseOfItsRDMADevice(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.functions(0, 2, false)
	of := nics(t, m.open(nil))[0].Ports[0].Meter
	read := func() []agent.Function {
		t.Helper()
		got, err := of.Functions(t.Context())
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	handled := func(f agent.Function) uint64 {
		t.Helper()
		v, err := f.Counters.Read("rp_cnp_handled")
		if err != nil || f.Problem != nil {
			t.Errorf("function %d: %v, %v", f.Index, err, f.Problem)
		}
		return v
	}
	got := read()
	if got[0].RDMA != "mlx5_2" || got[1].RDMA != "mlx5_3" || handled(got[0]) != 100 || handled(got[1]) != 101 {
		t.Errorf("%+v", got)
	}
	if c := got[0].Counters["out_of_sequence"]; c.Err == nil || c.Value != 0 {
		t.Errorf("an unreadable counter is %+v", c)
	}
	const moved = "sys/devices/pci0000:3a/0000:3b:01.0/infiniband"
	if err := os.Rename(m.path(moved), m.path(moved+"-elsewhere")); err != nil {
		t.Fatal(err)
	}
	if got = read(); got[0].RDMA != "" || len(got[0].Counters) != 0 || !errors.Is(got[0].Problem, agent.ErrFunctionElsewhere) || handled(got[1]) != 101 {
		t.Errorf("of a container: %+v", got[0])
	}
	if err := os.Rename(m.path(moved+"-elsewhere"), m.path(moved)); err != nil {
		t.Fatal(err)
	}
	m.file(moved+"/mlx5_2/ports/1/hw_counters/rp_cnp_handled", "120")
	if got = read(); handled(got[0]) != 120 {
		t.Errorf("back on the host: %+v", got[0])
	}
	m.remove(moved + "/mlx5_2/ports/1/hw_counters") // firmware that does not count for functions
	if got = read(); got[0].RDMA != "mlx5_2" || !errors.Is(got[0].Problem, nicfiles.ErrAbsent) || len(got[0].Counters) != 0 {
		t.Errorf("without counters: %+v", got[0])
	}
}

// The kernel returns zeros for functions that the driver does not count.
func TestFunctionsForWhichRouteNetlinkReportsOnlyZerosHaveNoValue(t *testing.T) {
	t.Parallel()
	got := octetsOf([]netlink.VfInfo{{ID: 0, TxBytes: 7, RxBytes: 8}, {ID: 1}, {ID: 2, Broadcast: 1}})
	if got[0] != (octets{7, 8, nil}) || got[2] != (octets{}) || !errors.Is(got[1].err, nicfiles.ErrUnreadable) || len(got) != 3 {
		t.Errorf("%+v", got)
	}
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.functions(0, 1, false)
	m.remove("sys/class/net/ens1f0v0")
	m.remove("sys/devices/pci0000:3a/0000:3b:01.0/net") // a guest has it
	h := m.open(nil)
	functions, err := nics(t, h)[0].Ports[0].Meter.Functions(t.Context())
	if err != nil || len(functions) != 1 {
		t.Fatal(functions, err)
	}
	for _, c := range []niccount.Counter{functions[0].TxOctets, functions[0].RxOctets} {
		if !errors.Is(c.Err, niccount.ErrAbsent) || c.Value != 0 || !strings.Contains(c.Err.Error(), "ens1f0np0 vf 0") {
			t.Errorf("a function without any counters: %+v", c)
		}
	}
}
