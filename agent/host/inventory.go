package host

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
)

// Function is a virtual function of a port.
type Function struct {
	Index       int
	PCI         string
	NetDev      string // in the host's network namespace; empty where a guest has it
	Representor string // in switchdev mode
}

// PortFound is a port of a card, from the host's files.
type PortFound struct {
	nicfiles.Port
	Index     int // of the network device
	GUID      ident.GUID
	Switch    string // name of the e-switch, in switchdev mode
	Virtual   bool   // itself a virtual function
	Functions []Function
}

// Card is a card, from the host's files.
type Card struct {
	Name     string // PCI address without the function
	PCI      string // of its first function
	Driver   string
	Vendor   string // such as "0x15b3"
	Model    string // the vendor's name of the board if available, otherwise the PCI device
	Firmware string
	Ports    []PortFound // by number
	Problems []string
}

// Note names a device on the host that was examined and is no port, with the reason.
type Note struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// maxCards bounds the cards of a host.
const maxCards = 256

// inventory reads the host's files.
type inventory struct {
	files nicfiles.Files
	mapper
	notes []Note
}

// mapper maps RDMA devices to PCI functions and ports.
type mapper interface {
	// devices lists the RDMA devices of a PCI function.
	devices(pci string) []string
	// auxiliary lists the RDMA devices of an auxiliary device, such as a sub-function.
	auxiliary(name string) []string
	// ports lists the ports of an RDMA device.
	ports(device string) []string
}

const (
	netClass  = "sys/class/net/"
	rdmaClass = "sys/class/infiniband/"
)

// text reads a file of one line; empty when it is missing or unreadable.
func (v *inventory) text(name string) string {
	b, err := v.files.Read(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// uevent reads the properties of a device.
func (v *inventory) uevent(dir string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(v.text(dir + "/uevent")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[name] = value
		}
	}
	return out
}

var (
	pciAddress  = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	representor = regexp.MustCompile(`^(?:c0)?pf(\d{1,3})vf(\d{1,5})$`)
	uplink      = regexp.MustCompile(`^p(\d{1,2})$`)
)

// cards lists the cards with RoCE ports, by name.
func (v *inventory) cards() ([]Card, error) {
	names, err := v.files.List(strings.TrimSuffix(netClass, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("network devices: %w", err)
	}
	byName := map[string]*Card{}
	for _, name := range names {
		p, dev, ok := v.port(name)
		if !ok {
			continue
		}
		card := p.PCI[:strings.LastIndexByte(p.PCI, '.')]
		c := byName[card]
		if c == nil {
			c = v.card(card, p, dev)
			byName[card] = c
		}
		c.add(p)
	}
	if len(byName) > maxCards {
		return nil, fmt.Errorf("network devices: found %d cards, want at most %d", len(byName), maxCards)
	}
	out := make([]Card, 0, len(byName))
	for _, c := range byName {
		slices.SortFunc(c.Ports, func(a, b PortFound) int { return a.Number - b.Number })
		c.PCI = c.Ports[0].PCI
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Card) int { return strings.Compare(a.Name, b.Name) })
	v.representors(names, out)
	return out, nil
}

// add adds a port, unless its number exists.
func (c *Card) add(p PortFound) {
	for _, o := range c.Ports {
		if o.Number == p.Number {
			c.Problems = append(c.Problems, fmt.Sprintf("%s and %s both are port %d: %s is left out", o.NetDev, p.NetDev, p.Number, p.NetDev))
			return
		}
	}
	c.Ports = append(c.Ports, p)
}

// card reads the common properties of all ports of a card.
func (v *inventory) card(name string, p PortFound, dev map[string]string) *Card {
	c := &Card{Name: name, Driver: dev["DRIVER"], Firmware: v.text(rdmaClass + p.RDMA + "/fw_ver"), Model: v.text(rdmaClass + p.RDMA + "/board_id")}
	if release := v.text("sys/module/" + c.Driver + "/version"); c.Driver != "" && !strings.ContainsRune(c.Driver, '/') && release != "" {
		c.Driver += " " + release
	}
	if vendor, device, ok := strings.Cut(strings.ToLower(dev["PCI_ID"]), ":"); ok {
		c.Vendor = "0x" + vendor
		if c.Model == "" {
			c.Model = "0x" + device
		}
	}
	return c
}

// port reads a network device; false when it is not a RoCE port.
func (v *inventory) port(netdev string) (p PortFound, dev map[string]string, ok bool) {
	dir := netClass + netdev
	dev = v.uevent(dir + "/device")
	p.NetDev, p.PCI = netdev, dev["PCI_SLOT_NAME"]
	if !pciAddress.MatchString(p.PCI) {
		return p, nil, false // loopback, bridges, bonds, USB devices
	}
	physical := v.text(dir + "/phys_port_name")
	if represents(physical) {
		return p, nil, false // see representors
	}
	if of := v.uevent(dir + "/device/physfn")["PCI_SLOT_NAME"]; of != "" {
		return p, nil, false // a virtual function of a card of this host
	}
	if err := v.rdma(&p); err != nil {
		v.notes = append(v.notes, Note{netdev, err.Error()})
		return p, nil, false
	}
	p.Virtual = strings.Contains(strings.ToLower(v.text(rdmaClass+p.RDMA+"/hca_type")), "vf")
	p.Index, _ = strconv.Atoi(v.text(dir + "/ifindex"))
	p.Switch = v.text(dir + "/phys_switch_id")
	p.Number = v.number(p.PCI, dir, physical)
	p.Functions = v.functions(dir + "/device")
	return p, dev, true
}

// represents reports whether a network device of a port name stands for a function, and not for a port.
func represents(physical string) bool {
	return representor.MatchString(physical) || strings.Contains(physical, "sf")
}

// speed returns the rate of a network device in Mbit/s; 0 when it is unknown: the file of a port that is down contains -1 or
// is unreadable.
func (v *inventory) speed(netdev string) uint64 {
	mbps, err := strconv.ParseInt(v.text(netClass+netdev+"/speed"), 10, 32)
	if err != nil || mbps < 0 {
		return 0
	}
	return uint64(mbps)
}

// number returns the number of a port on its card: the device's own where it reports one, otherwise from the PCI function
// and its port.
func (v *inventory) number(pci, dir, physical string) int {
	if m := uplink.FindStringSubmatch(physical); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n + 1
	}
	of, _ := strconv.Atoi(v.text(dir + "/dev_port"))
	return int(pci[len(pci)-1]-'0') + of + 1
}

// rdma finds the RDMA device and port of a network device. When the function has several, the GID table decides, since it
// names the network device of each port.
func (v *inventory) rdma(p *PortFound) error {
	devices := v.devices(p.PCI)
	if len(devices) == 0 {
		return errors.New("no RDMA device on its PCI function: the driver's RDMA part is not loaded, or the device has none")
	}
	if err := v.place(p, devices); err != nil {
		return err
	}
	if layer := v.linkLayer(p.RDMA, p.RDMAPort); layer != "" && layer != "Ethernet" {
		return fmt.Errorf("link layer of %s port %d is %q, want \"Ethernet\"", p.RDMA, p.RDMAPort, nicparam.Clip(layer))
	}
	var text string
	if p.GUID, text = v.nodeGUID(p.RDMA); p.GUID == 0 {
		return fmt.Errorf("node GUID of %s is %q: without one it cannot be distinguished from others", p.RDMA, nicparam.Clip(text))
	}
	return nil
}

// linkLayer returns the link layer of an RDMA device's port; empty when it is unknown.
func (v *inventory) linkLayer(device string, port int) string {
	return v.text(fmt.Sprintf("%s%s/ports/%d/link_layer", rdmaClass, device, port))
}

// nodeGUID returns the node GUID of an RDMA device, 0 when it has none, and its text in the file.
func (v *inventory) nodeGUID(device string) (guid ident.GUID, text string) {
	text = v.text(rdmaClass + device + "/node_guid")
	guid, _ = ident.ParseGUID(text) // 0 after an error
	return guid, text
}

// place finds the port of some RDMA devices that belongs to a network device.
func (v *inventory) place(p *PortFound, devices []string) error {
	type place struct {
		device string
		port   int
	}
	var all []place
	for _, d := range devices {
		for _, word := range v.ports(d) {
			if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= nicparam.MaxPorts {
				all = append(all, place{d, n})
			}
		}
	}
	named := all
	if len(all) > 1 { // tables are long; that of a single port may name a bond, or nothing while the port is down
		named = slices.DeleteFunc(slices.Clone(all), func(at place) bool { return !v.names(at.device, at.port, p.NetDev) })
	}
	if len(named) != 1 {
		return fmt.Errorf("%d ports of RDMA devices on its PCI function (%s), %d of them name it: cannot determine its own port", len(all), strings.Join(devices, ", "), len(named))
	}
	p.RDMA, p.RDMAPort = named[0].device, named[0].port
	return nil
}

// names reports whether the GID table of a port names a network device.
func (v *inventory) names(device string, port int, netdev string) bool {
	dir := fmt.Sprintf("%s%s/ports/%d/gid_attrs/ndevs", rdmaClass, device, port)
	entries, err := v.files.List(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e string) bool { return v.text(dir+"/"+e) == netdev }) // an empty entry cannot be read
}

// functions lists the virtual functions of a PCI function, by its directory.
func (v *inventory) functions(dir string) []Function {
	n, err := strconv.Atoi(v.text(dir + "/sriov_numvfs"))
	if err != nil || n < 1 {
		return nil
	}
	out := make([]Function, min(n, nicparam.MaxFunctions))
	for i := range out {
		at := dir + "/virtfn" + strconv.Itoa(i)
		out[i] = Function{Index: i, PCI: v.uevent(at)["PCI_SLOT_NAME"]}
		if names, err := v.files.List(at + "/net"); err == nil && len(names) > 0 {
			out[i].NetDev = names[0]
		}
	}
	return out
}

// representors sets the network devices that represent functions.
func (v *inventory) representors(names []string, cards []Card) {
	for _, name := range names {
		m := representor.FindStringSubmatch(v.text(netClass + name + "/phys_port_name"))
		if m == nil {
			continue
		}
		pf, _ := strconv.Atoi(m[1])
		vf, _ := strconv.Atoi(m[2])
		id := v.text(netClass + name + "/phys_switch_id")
		for c := range cards {
			for i := range cards[c].Ports {
				p := &cards[c].Ports[i]
				if id != "" && p.Switch == id && int(p.PCI[len(p.PCI)-1]-'0') == pf && vf < len(p.Functions) {
					p.Functions[vf].Representor = name
				}
			}
		}
	}
}
