// Package host is the agent's real Linux host: which RoCE NICs it has, by which ways each can be told something, what they
// count, and when something about them changed. It reads the files below a root, so that tests may have one of their own;
// what is not a file (netlink, programs) is behind options.
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

// Backends are all ways, in the order in which they are tried: what acts at once comes before what acts after a reset, and
// the vendor's files before the kernel's, since they have the switches by priority too.
func Backends() []nicparam.Backend {
	return []nicparam.Backend{nicparam.Sysfs, nicparam.Debugfs, nicparam.DCB, nicparam.Configfs, nicparam.Devlink, nicparam.Link, nicparam.DMS, nicparam.NV}
}

// DMSAddress is where the vendor's management service is.
type DMSAddress = dms.Address

// Options say what the host is. Its zero value is the machine that the program runs on, with every way but DMS.
type Options struct {
	Root     string             // directory of the host's files; empty is "/"
	Devices  []string           // network devices or PCI addresses of the cards that count; none: all
	Backends []nicparam.Backend // ways that may be used; none: all
	// Assume is what cards have although nothing on the host tells: 32-bit registers of rates, undocumented values.
	Assume nicparam.Caps
	// Each of these stands for what the machine has, when it is nil.
	Socket    nicfiles.Socket
	Links     vfshare.Links
	Mstconfig nicfiles.Runner
	Devlink   vfshare.Tool
	Ethtool   vfshare.Tool
	// DMSAddress is where the vendor's management service is; without a Target it is not used. DMS gives its client for a
	// card, by PCI address, in place of that.
	DMSAddress DMSAddress
	DMS        func(pci string) dms.Client
	// Quiet opens no sockets for events and asks neither RDMA netlink nor virtual functions' counters.
	Quiet bool
	// Look changes nothing of the host by probing it: the directory that the way by configfs needs is not made.
	Look bool
}

// Host implements agent.Host.
type Host struct {
	options Options
	files   nicfiles.Maker
	close   func() error
	inodes  *os.Root // nil when they are not known
	mapper  mapper
	counts  *Links       // nil when Quiet
	sets    *counterSets // nil when Quiet
	watcher *Watcher

	mu     sync.Mutex
	cards  map[string]*known            // by name
	told   map[string]map[string]string // what devices were last known by, by card and what
	report Report
}

// known is a card that was looked at, and what it was like then.
type known struct {
	signature string
	nic       agent.NIC
	findings  []Finding
	// failed is set when a program or a socket failed that may do better later; looks counts the looks since.
	failed bool
	looks  int
}

// looksUntilRetry is how many looks after one at which something failed the card is probed again. Sweeps are some seconds apart.
const looksUntilRetry = 30

// Open looks at the host. Close ends it.
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
	h := &Host{options: o, files: root, inodes: inodes, cards: map[string]*known{}, told: map[string]map[string]string{}, mapper: fileMap{root}}
	h.close = func() error { return errors.Join(root.Close(), inodes.Close()) }
	if o.Root == "/" {
		h.mapper = rdmaMap{}
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
			h.watcher = nil // the sweeps find out
			h.report.Notes = append(h.report.Notes, Note{"events of devices", err.Error()})
		}
	}
	return h, nil
}

// fill puts what the machine has in place of what the options leave out.
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
}

// anyProgram is a program that is looked for whenever it is to run: it may be installed while the agent runs.
type anyProgram []string

// Run runs the first of the programs that is there.
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
			h.cards[c.Name] = k
		} else if k.again() {
			// The same ways are no reason for a new Device.
			if n := h.probe(ctx, c); !slices.Equal(n.findings, k.findings) {
				n.signature = now
				k, h.cards[c.Name] = n, n
			}
		}
		report.Findings = append(report.Findings, k.findings...)
		out = append(out, k.nic)
	}
	for name := range h.cards {
		if !seen[name] {
			delete(h.cards, name)
			delete(h.told, name)
		}
	}
	h.report = report
	return out, ctx.Err()
}

// again reports whether a card is to be probed again although it looks the same.
func (k *known) again() bool {
	k.looks++
	return k.failed && k.looks%looksUntilRetry == 0
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

// signature is another one when ways to the card's parameters may have come or gone.
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

// incarnation names the card's devices as the kernel numbered them when their drivers made them: another number is another
// device, with none of the values of the earlier one. A number that cannot be read just now is the one that was read last:
// otherwise everything would be set again, twice, over what people changed meanwhile.
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
		words = append(words, h.lastTold(c, "index of "+p.NetDev, index)+"."+h.lastTold(c, "inode of "+p.RDMA, inode))
	}
	return strings.Join(append(words, h.lastTold(c, "firmware", c.Firmware)), " ")
}

// lastTold is what was read now, or last when nothing could be read now. The caller holds mu.
func (h *Host) lastTold(c *Card, what, now string) string {
	told := h.told[c.Name]
	if now == "" {
		return told[what]
	}
	if told == nil {
		told = map[string]string{}
		h.told[c.Name] = told
	}
	told[what] = now
	return now
}

// inode is the number of a directory; 0 when it is not known.
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

// Report is what the last look at the host found.
func (h *Host) Report() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Report{slices.Clone(h.report.Findings), slices.Clone(h.report.Notes)}
}

// id is a port's identity.
func (p *PortFound) id() ident.PortID {
	return ident.PortID{Node: p.GUID, Port: ident.PortNum(p.RDMAPort)}
}
