// Package inventory reads the file with the addresses of an Ethernet fabric's devices: NIC ports through the agent of
// their host, switches by gNMI or P4Runtime. See docs/fabric-files.md and the JSON schema
// docs/schema/inventory.schema.json.
package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Bounds of a file.
const (
	MaxSize    = 64 << 20 // bytes
	MaxDevices = 130_000
	MaxText    = 1024 // bytes of an address, a name or a path
)

// Protocol is the management protocol of a device.
type Protocol string

// Protocols.
const (
	Agent      Protocol = "agent"      // gNMI of the host agent
	SONiC      Protocol = "sonic"      // gNMI with the origin sonic-db
	OpenConfig Protocol = "openconfig" // gNMI with openconfig-qos
	P4Runtime  Protocol = "p4runtime"  // WRCC switches
)

// switchProtocols returns the protocols of switches.
func switchProtocols() []Protocol { return []Protocol{SONiC, OpenConfig, P4Runtime} }

// Inventory is the contents of a file.
type Inventory struct {
	// Fabric is the path of the fabric file, relative to the inventory's directory unless it is absolute.
	Fabric string
	// TLS secures all connections; nil means plain text, which the file must request and which only loopback addresses
	// may use.
	TLS *TLS
	// Agents is the address of all hosts that are not in Devices, Switches that of all such switches; empty: none.
	Agents, Switches string
	// Protocol is the protocol of switches that are not in Devices.
	Protocol Protocol
	Devices  []Device
}

// TLS names files, relative to the inventory's directory unless they are absolute.
type TLS struct {
	CA          string // the authority of the devices' certificates
	Certificate string // of the manager; empty with Key: devices require none
	Key         string
	ServerName  string // in the devices' certificates, if not the host of their address
}

// Device is the address of one node.
type Device struct {
	Node     string // name or node GUID, as in the fabric file
	Address  string // host:port
	Protocol Protocol
	Target   string // prefix.target of gNMI; empty: the node's name
	DeviceID uint64 // of P4Runtime; 0: the node GUID
	Hostname string // hostname that a gNMI switch must report; empty: the node's name

	line int
}

// Endpoint is the complete address of a device.
type Endpoint struct {
	Protocol Protocol
	Address  string // host:port
	Target   string // prefix.target of gNMI
	DeviceID uint64 // of P4Runtime
	Hostname string // hostname that a gNMI switch must report
}

// Directory maps the nodes of a fabric to their addresses.
type Directory map[ident.GUID]Endpoint

// On resolves every listed node on the fabric and returns the addresses of its hosts and switches; nodes without an
// address are omitted. name is the inventory's file name, for messages. It fails, with a *yamltree.Fault, for a
// listed node that is not on the fabric or is listed twice, and for a protocol that does not fit its kind.
func (v *Inventory) On(f *subnet.Fabric, name string) (Directory, error) {
	d := make(Directory, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		e := Endpoint{Target: n.Name, DeviceID: uint64(n.GUID)}
		switch n.Kind {
		case subnet.KindCA:
			e.Address, e.Protocol = v.Agents, Agent
		case subnet.KindSwitch:
			e.Address, e.Protocol = v.Switches, v.Protocol
		}
		if e.named() {
			e.Hostname = n.Name
		}
		if e.Address != "" {
			d[n.GUID] = e
		}
	}
	listed := make(map[ident.GUID]int, len(v.Devices))
	for i := range v.Devices {
		dev := &v.Devices[i]
		fault := func(field, found string, want phrase.Text) error {
			return &yamltree.Fault{File: name, Line: dev.line, Field: fmt.Sprintf("devices[%d].%s", i, field), Said: yamltree.Found(yamltree.Quoted(found), want)}
		}
		n, err := find(f, dev.Node)
		if err != nil {
			return nil, fault("node", dev.Node, phrase.OfError(err))
		}
		if first := listed[n.GUID]; first > 0 {
			return nil, fault("node", dev.Node, phrase.Of("inventory.want-once", "line", first))
		}
		listed[n.GUID] = dev.line
		e, err := dev.endpoint(n, v.Protocol)
		if err != nil {
			return nil, fault("protocol", string(dev.Protocol), phrase.OfError(err))
		}
		if dev.Hostname != "" && !e.named() {
			return nil, fault("hostname", dev.Hostname, phrase.Of("inventory.want-no-hostname", "protocol", e.Protocol, "mark", e.mark()))
		}
		d[n.GUID] = e
	}
	return d, nil
}

func (d *Device) endpoint(n *subnet.Node, switches Protocol) (Endpoint, error) {
	e := Endpoint{Protocol: d.Protocol, Address: d.Address, Target: d.Target, DeviceID: d.DeviceID}
	isSwitch := n.Kind == subnet.KindSwitch
	switch {
	case e.Protocol == "" && isSwitch:
		e.Protocol = switches
	case e.Protocol == "":
		e.Protocol = Agent
	case isSwitch && !slices.Contains(switchProtocols(), e.Protocol):
		return e, &phrase.Error{Text: phrase.Of("inventory.want-switch-protocol", "protocols", words(switchProtocols()), "switch", n.Name)}
	case !isSwitch && e.Protocol != Agent:
		return e, &phrase.Error{Text: phrase.Of("inventory.want-host-protocol", "protocol", Agent, "host", n.Name)}
	}
	if e.Target == "" {
		e.Target = n.Name
	}
	if e.DeviceID == 0 {
		e.DeviceID = uint64(n.GUID)
	}
	if e.named() {
		e.Hostname = cmp.Or(d.Hostname, n.Name)
	}
	return e, nil
}

// named reports whether the device reports its hostname.
func (e *Endpoint) named() bool { return e.Protocol == SONiC || e.Protocol == OpenConfig }

// mark names the identifier of a device that does not report a hostname.
func (e *Endpoint) mark() phrase.Text {
	if e.Protocol == P4Runtime {
		return phrase.Verbatim("device_id")
	}
	return phrase.Of("inventory.nic-guids")
}

// find resolves a name or a node GUID.
func find(f *subnet.Fabric, name string) (*subnet.Node, error) {
	at := f.NodesByName(name)
	if len(at) == 0 && strings.HasPrefix(name, "0x") {
		if id, err := ident.ParseGUID(name); err == nil {
			if n, has := f.NodeByGUID(id); has {
				at = []int32{n}
			}
		}
	}
	switch len(at) {
	case 0:
		return nil, &phrase.Error{Text: phrase.Of("inventory.want-node", "fabric", strconv.Quote(f.Name))}
	case 1:
	default:
		return nil, &phrase.Error{Text: phrase.Of("inventory.want-one-node")}
	}
	n := &f.Nodes[at[0]]
	if n.Kind != subnet.KindCA && n.Kind != subnet.KindSwitch {
		return nil, &phrase.Error{Text: phrase.Of("inventory.want-host-or-switch")}
	}
	return n, nil
}

func words(ps []Protocol) phrase.Text {
	list := make([]string, len(ps))
	for i, p := range ps {
		list[i] = string(p)
	}
	return yamltree.OneOf(list...)
}
