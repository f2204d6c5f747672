package interop

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/ibmad"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/service/device"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
)

// umadFile is the device file of a port of a simulated fabric.
type umadFile struct {
	*umadtest.Device
	dev  *simdev.Devices
	lost atomic.Uint64 // requests without an answer
}

// openUmad opens the first host's port of a simulated fabric through a device file.
func openUmad(t *testing.T, topo *subnet.Fabric, faults simdev.Faults) (*umad.Client, *umadFile) {
	t.Helper()
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &umadFile{}
	if f.dev, err = simdev.New(n, simdev.Options{}); err != nil {
		t.Fatal(err)
	}
	f.dev.SetFaults(faults)
	at := subnet.PortRef{Node: topo.Hosts()[0], Port: 1}
	lid, _ := n.LID(at.Node, at.Port)
	f.Device = umadtest.New(func(s umadtest.Sent) []byte {
		m := simdev.Message{DLID: ident.LID(s.LID), DQP: ident.QPN(s.QPN), SQP: ident.QPN(s.QPN), MAD: s.MAD}
		if s.MAD.Class() == mad.ClassSubnDR {
			m.SLID = ident.PermissiveLID
		} else if gsi := s.QKey == 0x80010000; gsi != (s.QPN == 1) {
			t.Errorf("%s to QP%d with Q_Key %x", &s.MAD, s.QPN, s.QKey)
		}
		v := f.dev.Handle(at, &m)
		if v.Outcome != simdev.Replied {
			f.lost.Add(1)
			return nil
		}
		return m.MAD[:]
	})
	sys, dev := umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1, LID: uint16(lid), SMLID: 1})
	c, err := umad.Open(t.Context(), umad.Name{CA: "mlx5_0", Port: 1}, umad.Options{
		SysRoot: sys, DevRoot: dev, Timeout: 50 * time.Millisecond, Retries: 6,
		OpenDevice: func(string) (umad.Device, error) { return f, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, f
}

// Discovery and a plan's settings through the Linux device file, with and without losses: the model must match the
// fabric, and every device must be verified and have its settings in the fabric.
func TestAFabricIsManagedThroughTheDeviceFile(t *testing.T) {
	t.Parallel()
	in, err := plantest.Large(plantest.LargeOptions{Leaves: 6, HostsPerLeaf: 8, Spines: 3, Tenants: 4, Flows: 200, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for name, faults := range map[string]simdev.Faults{
		"lossless":           {},
		"one lost in twenty": {Seed: 3, DropRequest: 0.05, DropReply: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, f := openUmad(t, in.Fabric, faults)
			found, err := discover.Sweep(t.Context(), c, discover.Options{Parallel: 64})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Warnings) > 0 {
				t.Errorf("%d warnings, the first: %s", len(found.Warnings), found.Warnings[0])
			}
			sameFabric(t, in.Fabric, found.Fabric)
			plan, err := policy.Compile(policy.Input{Fabric: found.Fabric, Tenants: in.Tenants, Flows: in.Flows, Options: in.Options})
			if err != nil {
				t.Fatal(err)
			}
			targets, err := device.Desired(plan, found.Fabric)
			if err != nil || len(targets) < 48 {
				t.Fatalf("%d devices, error %v", len(targets), err)
			}
			pushAll(t, c, targets)
			st := c.Stats()
			if st.Malformed+st.Unsolicited+st.Timeouts != 0 || faults.DropRequest > 0 && (st.Retries == 0 || f.lost.Load() == 0) {
				t.Errorf("statistics %+v, %d lost", st, f.lost.Load())
			}
			t.Logf("%d nodes, %d devices; %+v", len(found.Fabric.Nodes), len(targets), st)
		})
	}
}

// pushAll writes and reads every device.
func pushAll(t *testing.T, c mad.Transport, targets []device.Target) {
	t.Helper()
	d, err := ibmad.New(c, ibmad.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	g.SetLimit(16)
	var mu sync.Mutex
	differed := 0
	for _, target := range targets {
		g.Go(func() error {
			before, err := d.Read(t.Context(), target.Device)
			if err != nil {
				return err
			}
			if _, err := d.Apply(t.Context(), target.Device, target.Want); err != nil {
				return err
			}
			got, err := d.Read(t.Context(), target.Device)
			if err != nil {
				return err
			}
			if diff := target.Want.Diff(got); len(diff) > 0 {
				t.Errorf("%s: %d settings differ, the first: %v", target.Device, len(diff), diff[0])
			}
			mu.Lock()
			defer mu.Unlock()
			if len(target.Want.Diff(before)) > 0 {
				differed++
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if differed == 0 {
		t.Error("the plan has no effect, so the test is void")
	}
}
