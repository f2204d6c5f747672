package interop

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// Neither OpenSM's options name a port. The local one is master until another with a higher priority starts.
func TestASecondOpenSMIsAForeignMaster(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	ours := ibsimtest.NewSM(t, l.server.Addr(), host(1), "sm_priority 3\nsminfo_polling_timeout 200\n")
	ours.Start("SUBNET UP")
	beside := func(at string) *opensm.Manager {
		c, err := ibsim.Dial(t.Context(), l.server.Addr(), ibsim.Options{NodeID: at})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // the fabric ends with the test
		m, err := opensm.New(opensm.Config{Options: ours.Path("opensm.conf"), Partitions: ours.Path("partitions.conf"), Policy: ours.Path("policy.conf"), ProofTimeout: 10 * time.Second},
			opensm.Disk{}, opensm.PIDFile{Path: ours.Path("pid")}, c)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, away := beside(host(1)), beside(host(3))
	port := l.topo.Nodes[2].Ports[1].GUID
	if o, err := m.Observe(t.Context()); err != nil || o.Foreign || o.UnknownMaster != "" || o.Own != port || o.GUID != port {
		t.Errorf("alone: %+v, %v; want the master on %s", o, err, port)
	}
	if o, err := away.Observe(t.Context()); err != nil || o.Foreign || o.UnknownMaster == "" {
		t.Errorf("from a port without a subnet manager: %+v, %v; want that it is unknown", o, err)
	}
	rival := ibsimtest.NewSM(t, l.server.Addr(), host(4), "sm_priority 14\nsminfo_polling_timeout 200\n")
	rival.Start("SUBNET UP")
	other := l.topo.Nodes[5].Ports[1].GUID
	var o osmfile.Observation
	var err error
	if late := eventually(func() bool { o, err = m.Observe(t.Context()); return err != nil || o.GUID == other }); late != nil {
		t.Fatal(late)
	}
	if err != nil || !o.Foreign || o.Own != port {
		t.Errorf("with another master: %+v, %v; want a foreign one", o, err)
	}
	desired := osmfile.Desired{Partitions: []osmfile.Partition{{Tenant: "gold", PKey: 0x10, SL: 2, Members: []osmfile.Member{{PortGUID: port, Full: true}, {PortGUID: other, Full: true}}}}}
	var refused *opensm.RefusedError
	_, err = m.Apply(t.Context(), desired, opensm.ApplyOptions{})
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), fmt.Sprintf("the master is the one on %s", other)) {
		t.Errorf("error %v, want a refusal that names the master", err)
	}
	if _, err := os.Stat(ours.Path("partitions.conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("partitions: %v, want none written", err)
	}
}
