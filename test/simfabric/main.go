// Simfabric serves a simulated InfiniBand fabric whose devices a test can restart, silence and overwrite. Browser tests use it.
//
//	simfabric serve NAME              serve a leaf-spine fabric at unix:NAME, and execute commands from standard input until it ends
//	simfabric write ADDR HOST TIMER   as a second manager, set CCTI_Timer of SL 3 on a host's first port
//
// Commands are "off NODE" (the node does not answer) and "on NODE" (it answers again, with the settings of a restart). The answer to
// each is "ok" or the error.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/topogen"
)

func main() {
	ctx := context.Background()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "serve":
		err = serve(ctx, args[1])
	case len(args) == 4 && args[0] == "write":
		err = write(ctx, args[1], args[2], args[3])
	default:
		err = errors.New("usage: simfabric serve NAME | simfabric write ADDR HOST TIMER")
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "simfabric:", err)
		os.Exit(1)
	}
}

// serve runs the fabric until standard input ends.
func serve(ctx context.Context, name string) error {
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 4, Spines: 1})
	if err != nil {
		return err
	}
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		return err
	}
	sim, err := simdev.New(n, simdev.Options{TimeScale: 1e-3})
	if err != nil {
		return err
	}
	server, err := simdev.Listen(sim, "unix:"+name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var runErr, serveErr error
	wg.Go(func() { runErr = sim.Run(ctx) })
	wg.Go(func() { serveErr = server.Serve(ctx) })
	fmt.Println("ready", server.Addr())
	f := &lab{sim: sim, topo: topo}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if err := f.do(strings.Fields(in.Text())); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("ok")
	}
	cancel()
	wg.Wait()
	return errors.Join(in.Err(), runErr, serveErr)
}

// lab is the fabric with the nodes that commands turned off.
type lab struct {
	sim  *simdev.Devices
	topo *subnet.Fabric
	off  []int32 // nodes that do not answer
}

// do executes a command.
func (l *lab) do(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("%q: want a command and its argument", words)
	}
	at := int32(slices.IndexFunc(l.topo.Nodes, func(n subnet.Node) bool { return n.Name == words[1] }))
	if at < 0 {
		return fmt.Errorf("no node %q", words[1])
	}
	switch words[0] {
	case "off":
		l.off = append(l.off, at)
	case "on":
		l.off = slices.DeleteFunc(l.off, func(n int32) bool { return n == at })
		if err := l.sim.Reboot(at); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q: want off or on", words[0])
	}
	var f simdev.Faults
	if len(l.off) > 0 {
		f = simdev.Faults{Nodes: l.off, DropRequest: 1}
	}
	l.sim.SetFaults(f)
	return nil
}

// write sets a timer on a host's port by management datagrams.
func write(ctx context.Context, addr, host, timer string) (err error) {
	value, err := strconv.ParseUint(timer, 10, 16)
	if err != nil {
		return err
	}
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
	s.CA.SLs[3].Timer = uint16(value)
	_, err = d.Apply(ctx, dev, s)
	return err
}
