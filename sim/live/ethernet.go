package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/outfile"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/sim/ether"
	"fairlane/sim/etherlive"
	"fairlane/sim/gnmidev"
	"fairlane/sim/p4dev"
	"fairlane/sim/scenario"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/inventory"
	"fairlane/subnet/topofile"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// Case describes a live Ethernet fabric: its topology, its tenants, and their flows, which never end.
type Case struct {
	Name, Description string
	Plane             policy.Plane
	Fabric            *subnet.Fabric
	Tenants           []tenants.Tenant
	Flows             []tenants.Flow
	Buffer            ether.Buffer
	Buffers           map[int32]ether.Buffer
	Bare              []ident.PortID       // NIC ports without virtual functions
	Functions         map[ident.PortID]int // numbers of virtual functions of ports that have more of them than tenants
	Waiting           []int                // flows that do not send at first
	// Classes provision switches and NICs for classes of traffic; DSCPs are those that the applications of tenants choose.
	Classes []qos.TrafficClass
	DSCPs   map[string]uint8
	Seed    uint64
}

// CaseOf converts an Ethernet scenario to a live one: its flows become queue pairs of tenants that send without end. It rejects
// an InfiniBand scenario, and traffic that ends or is drawn from a distribution.
func CaseOf(s *scenario.Scenario) (*Case, error) {
	e := s.Ethernet
	if e == nil {
		return nil, wrongPlane(s, scenario.PlaneEthernet)
	}
	c := &Case{
		Name: s.Name, Description: s.Description, Plane: policy.PlaneRoCE, Fabric: s.Fabric, Seed: s.Config.Seed,
		Buffer: e.Model.Buffer, Buffers: e.SwitchBuffers(s.Fabric), Classes: e.Classes,
	}
	if e.WRCC != nil {
		c.Plane = policy.PlaneWRCC
	}
	if len(e.Workload) > 0 || e.BiCC != nil {
		return nil, usage.Of(phrase.Of("scenario.live-workload", "scenario", s.Name))
	}
	hosts := scenario.Hosts(s.Fabric)
	for i := range e.Flows {
		f := &e.Flows[i]
		if f.Bytes != 0 || f.Start != 0 || f.Stop != 0 {
			return nil, usage.Of(phrase.Of("scenario.live-flow", "scenario", s.Name, "flow", i))
		}
		c.Flows = append(c.Flows, tenants.Flow{
			Tenant: s.Tenants[f.Tenant].Name, Src: s.Fabric.PortID(hosts[f.Src]), Dst: s.Fabric.PortID(hosts[f.Dst]), QPs: max(1, f.Count), Demand: f.Demand,
		})
	}
	for i, t := range s.Tenants {
		t.Attachments = nil
		c.Tenants = append(c.Tenants, t)
		c.Tenants[i].Attachments = nil
	}
	c.Tenants = tenants.Attach(c.Tenants, c.Flows)
	if err := tenants.Validate(c.Tenants, c.Flows); err != nil {
		return nil, usage.Wrap(phrase.Because(err, phrase.Of("scenario.reason", "scenario", s.Name, "reason", err)))
	}
	return c, nil
}

// Ethernet is a live simulated Ethernet fabric that answers gNMI and, if its switches use WRCC, P4Runtime.
type Ethernet struct {
	Case   *Case
	Fabric *etherlive.Fabric
	gnmi   *gnmidev.Server
	p4     *p4dev.Server // nil without WRCC

	Hosts    map[ident.GUID]*gnmidev.Host // by node, if they have ports with a link
	Switches map[ident.GUID]*gnmidev.Switch
	renamed  []inventory.Device // switches whose name is not a valid host name, without address

	Addr, P4Addr string
	Dir          string // directory of the inventory
	ownDir       bool   // Dir is removed with the fabric
	group        *errgroup.Group
	stop         context.CancelFunc
	done         context.Context // ends with the fabric
}

// EthernetOptions are the addresses and the directory of a live fabric.
type EthernetOptions struct {
	Addr      string // loopback address of gNMI; empty selects any free port
	Dir       string // directory for the inventory and the fabric file; empty selects a new one that is removed with the fabric
	TimeScale float64
}

// InventoryName is the file with the addresses of a live fabric's devices.
const InventoryName = "inventory.yaml"

// StartEthernet builds a live fabric, serves its devices until the context ends or Close is called, and writes the inventory.
func StartEthernet(ctx context.Context, c *Case, o EthernetOptions) (_ *Ethernet, err error) {
	l := &Ethernet{Case: c, Dir: o.Dir, Hosts: map[ident.GUID]*gnmidev.Host{}, Switches: map[ident.GUID]*gnmidev.Switch{}}
	l.Fabric, err = etherlive.New(c.Fabric, c.Flows, etherlive.Options{
		WRCC: c.Plane == policy.PlaneWRCC, Seed: c.Seed, TimeScale: o.TimeScale, Buffer: c.Buffer, Buffers: c.Buffers,
		Functions: c.Functions, Waiting: c.Waiting, Classes: c.Classes, DSCPs: c.DSCPs,
	})
	if err != nil {
		return nil, usage.Wrap(err)
	}
	began := time.Now()
	l.gnmi, err = gnmidev.NewServer(gnmidev.Options{Clock: func() time.Time { return began.Add(l.Fabric.Now().Duration()) }})
	if err != nil {
		return nil, err
	}
	if err = l.addDevices(); err != nil {
		l.gnmi.Close()
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	l.group, l.done = errgroup.WithContext(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if err = l.serve(o.Addr); err != nil {
		return nil, err
	}
	l.group.Go(func() error { return l.Fabric.Run(l.done) })
	if err = l.write(); err != nil {
		return nil, err
	}
	return l, nil
}

// addDevices adds a device for the data plane of every host and switch.
func (l *Ethernet) addDevices() error {
	if l.Case.Plane == policy.PlaneWRCC {
		l.p4 = p4dev.NewServer()
	}
	for i := range l.Case.Fabric.Nodes {
		var err error
		switch l.Case.Fabric.Nodes[i].Kind {
		case subnet.KindCA:
			err = l.addHost(int32(i))
		case subnet.KindSwitch:
			err = l.addSwitch(int32(i))
		}
		if err != nil {
			return fmt.Errorf("simulated devices: %w", err)
		}
	}
	return nil
}

// SimulatedCaps returns the capabilities of the simulated NICs.
func SimulatedCaps() nicparam.Caps {
	c := nicparam.Caps{GeneralCC: true, NewNV: true, Switchdev: true, VFRates: true, TCRates: true}
	c.Rate32 = true
	return c
}

func (l *Ethernet) addHost(node int32) error {
	n := &l.Case.Fabric.Nodes[node]
	card := gnmidev.CardOptions{GUID: n.GUID, Caps: SimulatedCaps()}
	for num := 1; num < len(n.Ports); num++ {
		ref := subnet.PortRef{Node: node, Port: ident.PortNum(num)}
		link, _ := l.Case.Fabric.Link(ref)
		if link == nil {
			continue
		}
		nic, err := l.Fabric.NIC(l.Case.Fabric.PortID(ref))
		if err != nil {
			return err
		}
		port := gnmidev.PortOptions{Number: num, Plane: nic, Speed: link.Rate, Functions: nic.Functions()}
		if slices.Contains(l.Case.Bare, l.Case.Fabric.PortID(ref)) {
			port.Functions = 0
		}
		if l.Case.Plane == policy.PlaneWRCC {
			port.Senders = wrcc.MaxSenders
		}
		card.Ports = append(card.Ports, port)
	}
	if len(card.Ports) == 0 {
		return nil
	}
	h, err := l.gnmi.AddHost(n.Name, gnmidev.HostOptions{Cards: []gnmidev.CardOptions{card}, Classes: l.Case.Classes})
	l.Hosts[n.GUID] = h
	return err
}

func (l *Ethernet) addSwitch(node int32) error {
	n := &l.Case.Fabric.Nodes[node]
	if l.p4 != nil {
		plane, err := l.Fabric.FairSwitch(n.GUID)
		if err != nil {
			return err
		}
		d, err := l.p4.Add(uint64(n.GUID), p4dev.Options{Ports: len(n.Ports) - 1, Plane: plane})
		if err != nil {
			return err
		}
		d.Put(plane.DefaultFair()) // initially: the same rate for all queue pairs
		return nil
	}
	plane, err := l.Fabric.Switch(n.GUID)
	if err != nil {
		return err
	}
	o := gnmidev.SwitchOptions{Plane: plane, Classes: l.Case.Classes}
	if len(o.Classes) > 0 {
		o.Guard = gnmidev.Guard2026 // earlier lists keep the weights of classes
	}
	for num := 1; num < len(n.Ports); num++ {
		port := gnmidev.SwitchPort{}
		if link, _ := l.Case.Fabric.Link(subnet.PortRef{Node: node, Port: ident.PortNum(num)}); link != nil {
			port.Speed = link.Rate
		}
		o.Ports = append(o.Ports, port)
	}
	w, err := l.gnmi.AddSwitch(n.Name, o)
	if err != nil {
		return err
	}
	l.Switches[n.GUID] = w
	if w.Hostname() != n.Name {
		l.renamed = append(l.renamed, inventory.Device{Node: n.GUID.String(), Hostname: w.Hostname()})
	}
	return nil
}

// serve opens the listeners.
func (l *Ethernet) serve(addr string) error {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(l.done, "tcp", addr)
	if err != nil {
		return fmt.Errorf("serve the simulated fabric: %w", err)
	}
	l.Addr = listener.Addr().String()
	l.group.Go(func() error { return l.gnmi.Serve(l.done, listener) })
	if l.p4 == nil {
		return nil
	}
	host, _, _ := net.SplitHostPort(l.Addr) // the address of a listener always parses
	p4, err := lc.Listen(l.done, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return fmt.Errorf("serve the simulated fabric: %w", err)
	}
	l.P4Addr = p4.Addr().String()
	l.group.Go(func() error { return l.p4.Serve(l.done, p4) })
	return nil
}

// write writes the inventory, and the fabric file into the same directory.
func (l *Ethernet) write() error {
	if l.Dir == "" {
		var err error
		if l.Dir, err = os.MkdirTemp("", "fairlane-ethernet-"); err != nil {
			return err
		}
		l.ownDir = true
	} else if err := os.MkdirAll(l.Dir, 0o750); err != nil {
		return err
	}
	v := &inventory.Inventory{Fabric: "fabric.yaml", Agents: l.Addr, Switches: l.Addr, Protocol: inventory.SONiC}
	if l.p4 != nil {
		v.Switches, v.Protocol = l.P4Addr, inventory.P4Runtime
	}
	for _, d := range l.renamed {
		d.Address = l.Addr
		v.Devices = append(v.Devices, d)
	}
	err := writeKeeping(filepath.Join(l.Dir, v.Fabric), func(w io.Writer) error { return topofile.WriteYAML(w, l.Case.Fabric) })
	if err != nil {
		return err
	}
	return writeKeeping(filepath.Join(l.Dir, InventoryName), func(w io.Writer) error { return inventory.Write(w, v) })
}

// writeKeeping writes a file. An existing file with different contents, for example after a user's edits, is kept as
// NAME.previous.
func writeKeeping(path string, write func(io.Writer) error) error {
	var want bytes.Buffer
	if err := write(&want); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	switch previous, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case bytes.Equal(previous, want.Bytes()):
		return nil
	default:
		if err := os.Rename(path, path+".previous"); err != nil {
			return err
		}
	}
	return outfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(want.Bytes())
		return err
	})
}

// Source returns the source with which a manager finds the fabric.
func (l *Ethernet) Source() string { return "ethernet:" + filepath.Join(l.Dir, InventoryName) }

// Ended returns a channel that is closed when the fabric has ended for any reason; Close returns the error.
func (l *Ethernet) Ended() <-chan struct{} { return l.done.Done() }

// Close stops the fabric and waits for its end.
func (l *Ethernet) Close() error {
	l.stop()
	err := l.group.Wait()
	l.gnmi.Close()
	if l.ownDir {
		err = errors.Join(err, os.RemoveAll(l.Dir))
	}
	return errors.Join(err, l.Fabric.Err())
}

// Wait returns when the fabric's own time has advanced by span.
func (l *Ethernet) Wait(ctx context.Context, span quantity.Picoseconds) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.done, cancel)() // the time of an ended fabric does not advance
	return waitFor(ctx, l.Fabric, l.Fabric.Now()+span)
}
