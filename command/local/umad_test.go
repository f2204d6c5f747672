package local

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/command/cmdline"
	"fairlane/service/site"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topofile"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
)

// umadMachine returns a machine on the first host of a simulated fabric without an answering subnet manager, and the
// options for opening its port.
func umadMachine(t *testing.T, topo *subnet.Fabric, p umadtest.Port) umad.Options {
	t.Helper()
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := simdev.New(n, simdev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := subnet.PortRef{Node: topo.Hosts()[0], Port: 1}
	sys, dev := umadtest.Machine(t, p)
	return umad.Options{SysRoot: sys, DevRoot: dev, Timeout: 100 * time.Millisecond, Retries: 1, OpenDevice: func(string) (umad.Device, error) {
		return umadtest.New(func(s umadtest.Sent) []byte {
			m := simdev.Message{DLID: ident.LID(s.LID), DQP: ident.QPN(s.QPN), SQP: ident.QPN(s.QPN), MAD: s.MAD}
			if s.MAD.Class() == mad.ClassSubnDR {
				m.SLID = ident.PermissiveLID
			}
			if v := devices.Handle(at, &m); v.Outcome != simdev.Replied {
				return nil
			}
			return m.MAD[:]
		}), nil
	}}
}

func twoHostFabric(t *testing.T) *subnet.Fabric {
	t.Helper()
	f, err := topofile.Read("fabric.yaml", strings.NewReader(subnettest.TwoHosts))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAPortOfThisMachineIsASource(t *testing.T) {
	t.Parallel()
	topo := twoHostFabric(t)
	s, err := site.ParseSource("umad:mlx5_0:1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.DialBy(t.Context(), umadMachine(t, topo, umadtest.Port{CA: "mlx5_0", Port: 1, LID: 2, SMLID: 1}))
	if err != nil {
		t.Fatal(err)
	}
	r, err := discover.Sweep(t.Context(), c, discover.Options{})
	if err != nil || len(r.Fabric.Nodes) != len(topo.Nodes) || len(r.Fabric.Links) != len(topo.Links) {
		t.Errorf("found %+v, error %v", r, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	// A missing port is invalid input; a machine without the kernel module is a failure.
	other, err := site.ParseSource("umad:mlx5_7:1")
	if err != nil {
		t.Fatal(err)
	}
	sys, dev := umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1})
	if _, err := other.DialBy(t.Context(), umad.Options{SysRoot: sys, DevRoot: dev}); cmdline.ExitCode(err) != cmdline.ExitUsage || !strings.Contains(err.Error(), "want one of mlx5_0:1") {
		t.Errorf("a port that is not there: %v", err)
	}
	if _, err := s.DialBy(t.Context(), umad.Options{SysRoot: filepath.Join(sys, "none")}); err == nil || cmdline.ExitCode(err) != cmdline.ExitFailed || !strings.Contains(err.Error(), "modprobe ib_umad") {
		t.Errorf("a machine without the module: %v", err)
	}
}
