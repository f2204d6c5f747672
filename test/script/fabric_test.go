package script

import (
	"context"
	"errors"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
)

// fabricUp is "fabricup ADDRESS": it waits until the fabric accepts clients.
func fabricUp(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: fabricup ADDRESS")
	}
	until(ts, "the fabric", func(ctx context.Context) error {
		c, err := ibsim.Dial(ctx, args[0], ibsim.Options{})
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// rival is "rival ADDRESS HOST": a second manager changes the CCTI_Timer of SL 3 on the host's first port, with its own
// management datagrams.
func rival(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: rival ADDRESS HOST")
	}
	ts.Check(writeTimer(context.Background(), args[0], args[1]))
}

func writeTimer(ctx context.Context, addr, host string) (err error) {
	c, err := ibsim.Dial(ctx, addr, ibsim.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	found, err := discover.Sweep(ctx, c, discover.Options{})
	if err != nil {
		return err
	}
	ref, err := found.Fabric.ResolvePort(host)
	if err != nil {
		return err
	}
	d, err := ibmad.New(c, ibmad.Options{})
	if err != nil {
		return err
	}
	dev := driver.Device{
		ID: found.Fabric.PortID(ref), Kind: subnet.KindCA, LID: found.Fabric.Port(ref).LID,
		Name: strings.TrimSpace(found.Fabric.PortName(ref)),
	}
	s, err := d.Read(ctx, dev)
	if err != nil {
		return err
	}
	s.CA.SLs[3].Timer = 4242
	_, err = d.Apply(ctx, dev, s)
	return err
}
