// Package host is the agent's real Linux host: its RoCE NICs, the back ends for the settings of each, their counters, and
// events about changes. It reads the files below a root, so that tests may use their own; everything that is not a file
// (netlink, programs) is behind options.
//
// Names and formats follow the kernel's and the vendor's documentation. Nothing here has been tried on hardware.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fairlane/agent"
	"fairlane/ccconfig/nic/dms"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/vfshare"
	"fairlane/subnet/ident"
)

// DefaultTimeout bounds an exchange with the kernel, and DefaultProgramTimeout a run of a program: mstconfig asks the
// firmware for each parameter.
const (
	DefaultTimeout        = 5 * time.Second
	DefaultProgramTimeout = 60 * time.Second
)

// Backends lists all back ends in the order in which they are tried: those with immediate effect precede those that need
// a reset, and the vendor's files precede the kernel's, since they also have the enable flags by priority.
func Backends() []nicparam.Backend {
	return []nicparam.Backend{nicparam.Sysfs, nicparam.Debugfs, nicparam.DCB, nicparam.Configfs, nicparam.Bnxt, nicparam.Devlink, nicparam.Link, nicparam.DMS, nicparam.NV}
}

// DMSAddress is the address of the vendor's management service.
type DMSAddress = dms.Address

// Options configure the host. The zero value is this machine, with every back end except DMS.
type Options struct {
	Root     string             // directory of the host's files; empty is "/"
	Devices  []string           // network devices or PCI addresses of the cards to use; empty: all
	Backends []nicparam.Backend // back ends to use; empty: all
	// Assume lists capabilities that cards have although the host does not report them: 32-bit registers of rates,
	// undocumented values.
	Assume nicparam.Caps
	// The following default, when nil, to the machine's own.
	Socket    nicfiles.Socket
	Links     vfshare.Links
	Mstconfig nicfiles.Runner
	Mstreg    nicfiles.Runner // reads registers of the firmware
	Devlink   vfshare.Tool
	Ethtool   vfshare.Tool
	// DMSAddress is the address of the vendor's management service; without a Target it is not used. DMS, if set, returns
	// its client for a card, by PCI address, instead.
	DMSAddress DMSAddress
	DMS        func(pci string) dms.Client
	// Quiet opens no sockets for events and reads neither RDMA netlink nor virtual functions' counters.
	Quiet bool
	// ReadOnly makes probing change nothing: it does not create the directory that the configfs back end needs.
	ReadOnly bool
}

// Host implements agent.Host.
type Host struct {
	options Options
	files   nicfiles.Maker
	close   func() error
	inodes  *os.Root // nil when unknown
	mapper  mapper
	counts  *Links       // nil when Quiet
	holder  Holder       // nil: no pod holds a function
	sets    *counterSets // nil when Quiet
	watcher *Watcher

	mu     sync.Mutex
	cards  map[string]*known            // by name
	last   map[string]map[string]string // last known values of devices, by card and kind
	report Report
}

// known is a probed card, with its signature at that time.
type known struct {
	signature string
	nic       agent.NIC
	findings  []Finding
	// failed is set when a program or a socket failed in a way that may be temporary; reads counts the reads since.
	failed bool
	reads  int
	fixed  *bool // the firmware's fixed-function DCQCN is on; nil when unknown
}

// readsUntilRetry is the number of reads after a failure until the card is probed again. Sweeps are some seconds apart.
const readsUntilRetry = 30

// Open opens the host. Close ends it.
func Open(o Options) (*Host, error) {
	if o.Root == "" {
		o.Root = "/"
	}
	root, err := nicfiles.Open(o.Root)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	inodes, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host: %w", err), root.Close())
	}
	h := &Host{options: o, files: root, inodes: inodes, cards: map[string]*known{}, last: map[string]map[string]string{}, mapper: fileMap{root}}
	h.close = func() error { return errors.Join(root.Close(), inodes.Close()) }
	if o.Root == "/" {
		h.mapper = newRDMAMap()
	}
	h.fill()
	if o.DMS == nil && o.DMSAddress.Target != "" {
		service, err := dms.Dial(o.DMSAddress)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("host: %w", err), h.close())
		}
		h.options.DMS = func(string) dms.Client { return service.Client() }
		h.close = func() error { return errors.Join(service.Close(), root.Close(), inodes.Close()) }
	}
	if !o.Quiet {
		h.counts, h.sets = &Links{DefaultTimeout}, &counterSets{DefaultTimeout, openRDMA}
		if h.watcher, err = Watch(); err != nil {
			h.watcher = nil // sweeps detect changes
			h.report.Notes = append(h.report.Notes, Note{"events of devices", err.Error()})
		}
	}
	return h, nil
}

// fill sets omitted options to what the machine has.
func (h *Host) fill() {
	o := &h.options
	if len(o.Backends) == 0 {
		o.Backends = Backends()
	}
	if o.Socket == nil {
		o.Socket = NewNetlink(DefaultTimeout)
	}
	if o.Links == nil {
		o.Links = &Links{DefaultTimeout}
	}
	if o.Devlink == nil {
		o.Devlink = anyProgram{"devlink"}
	}
	if o.Ethtool == nil {
		o.Ethtool = anyProgram{"ethtool"}
	}
	if o.Mstconfig == nil {
		o.Mstconfig = anyProgram{"mstconfig", "mlxconfig"}
	}
	if o.Mstreg == nil {
		o.Mstreg = anyProgram{"mstreg", "mlxreg"}
	}
}

// anyProgram is a program that is searched for at each run: it may be installed while the agent runs.
type anyProgram []string

// Run runs the first program that exists.
func (names anyProgram) Run(ctx context.Context, args []string) ([]byte, error) {
	p, err := FindProgram(DefaultProgramTimeout, names...)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, args)
}

// Close closes the host.
func (h *Host) Close() error {
	var err error
	if h.watcher != nil {
		err = h.watcher.Close()
	}
	return errors.Join(err, h.close())
}

var _ agent.Host = (*Host)(nil)

func (h *Host) Events() <-chan struct{} {
	if h.watcher == nil {
		return nil
	}
	return h.watcher.Events()
}

func (h *Host) BootID(context.Context) (string, error) {
	const name = "proc/sys/kernel/random/boot_id"
	b, err := h.files.Read(name)
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	id := strings.TrimSpace(string(b))
	if len(id) < 8 || len(id) > 64 {
		return "", fmt.Errorf("boot id: /%s: found %q, want 8..64 characters", name, nicparam.Clip(id))
	}
	return id, nil
}

func (h *Host) NICs(ctx context.Context) ([]agent.NIC, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := &inventory{files: h.files, mapper: h.mapper}
	cards, err := v.cards()
	if err != nil {
		return nil, err
	}
	report := Report{Notes: v.notes}
	seen := map[string]bool{}
	out := []agent.NIC{}
	for i := range cards {
		c := &cards[i]
		if !h.wanted(c) {
			report.Notes = append(report.Notes, Note{c.Name, "left out: it is not among the devices of the configuration"})
			continue
		}
		seen[c.Name] = true
		k := h.cards[c.Name]
		if now := h.signature(c); k == nil || k.signature != now {
			k = h.probe(ctx, c)
			k.signature = now
			k.nic.Ports = h.algorithms(ctx, c, k)
			h.cards[c.Name] = k
		} else if k.again() {
			// Unchanged back ends do not require a new Device.
			if n := h.probe(ctx, c); !slices.Equal(n.findings, k.findings) {
				n.signature = now
				for i := range min(len(n.nic.Ports), len(k.nic.Ports)) {
					n.nic.Ports[i].Algorithm = k.nic.Ports[i].Algorithm
				}
				n.nic.Ports = h.algorithms(ctx, c, n)
				k, h.cards[c.Name] = n, n
			}
		}
		if k.reads > 0 && k.reads%readsUntilStatus == 0 {
			k.nic.Ports = h.algorithms(ctx, c, k)
		}
		report.Findings = append(report.Findings, k.findings...)
		report.Notes = append(report.Notes, otherAlgorithms(k.nic.Ports)...)
		out = append(out, k.nic)
	}
	for name := range h.cards {
		if !seen[name] {
			delete(h.cards, name)
			delete(h.last, name)
		}
	}
	h.report = report
	return out, ctx.Err()
}

// again reports whether a card must be probed again although its signature is unchanged.
func (k *known) again() bool {
	k.reads++
	return k.failed && k.reads%readsUntilRetry == 0
}

// wanted reports whether a card is among the configured ones.
func (h *Host) wanted(c *Card) bool {
	if len(h.options.Devices) == 0 {
		return true
	}
	return slices.ContainsFunc(h.options.Devices, func(d string) bool {
		return d == c.Name || slices.ContainsFunc(c.Ports, func(p PortFound) bool { return d == p.NetDev || d == p.PCI || d == p.RDMA })
	})
}

// signature changes when back ends for the card's parameters may have appeared or disappeared.
func (h *Host) signature(c *Card) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", h.incarnation(c), strings.Join(c.Problems, ";"))
	for _, p := range c.Ports {
		fmt.Fprintf(&b, " %d:%s:%s:%d:%s:%v", p.Number, p.NetDev, p.RDMA, p.RDMAPort, p.Switch, p.Functions)
		_, vendor := h.files.List(netClass + p.NetDev + "/ecn")
		_, kernel := h.files.List(ccParams(p.PCI))
		_, cm := h.files.List(configfs)
		fmt.Fprint(&b, vendor == nil, kernel == nil, cm == nil)
	}
	return b.String()
}

// incarnation consists of the kernel's inode numbers of the card's devices, assigned when their drivers created them:
// another number means another device, without the values of the earlier one. For a number that is temporarily
// unreadable, the last one is used: otherwise all values would be set again, twice, and overwrite changes of other
// programs.
func (h *Host) incarnation(c *Card) string {
	var words []string
	for _, p := range c.Ports {
		index, inode := "", ""
		if p.Index > 0 {
			index = strconv.Itoa(p.Index)
		}
		if n := h.inode(rdmaClass + p.RDMA); n > 0 {
			inode = strconv.FormatUint(n, 10)
		}
		words = append(words, h.lastValue(c, "index of "+p.NetDev, index)+"."+h.lastValue(c, "inode of "+p.RDMA, inode))
	}
	return strings.Join(append(words, h.lastValue(c, "firmware", c.Firmware)), " ")
}

// lastValue returns the current value, or the last one when the current is empty. The caller holds mu.
func (h *Host) lastValue(c *Card, what, now string) string {
	values := h.last[c.Name]
	if now == "" {
		return values[what]
	}
	if values == nil {
		values = map[string]string{}
		h.last[c.Name] = values
	}
	values[what] = now
	return now
}

// inode returns the inode number of a directory; 0 when unknown.
func (h *Host) inode(name string) uint64 {
	i, err := h.inodes.Stat(name)
	if err != nil {
		return 0
	}
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// Report returns the result of the last read of the host.
func (h *Host) Report() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Report{slices.Clone(h.report.Findings), slices.Clone(h.report.Notes)}
}

// id returns a port's identity.
func (p *PortFound) id() ident.PortID {
	return ident.PortID{Node: p.GUID, Port: ident.PortNum(p.RDMAPort)}
}
