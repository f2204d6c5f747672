package gnmidev

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// root is the file system of a host as the vendor's driver, the kernel's driver, configfs and the RDMA subsystem provide it.
// It stores no files; the contents come from the cards.
type root struct{ host *Host }

// file is one file of the root. Its functions are called under the card's lock.
type file struct {
	port  *port
	read  func() (string, error)
	write func(text string) error // nil means read-only
}

var _ nicfiles.Files = (*root)(nil)

func (r root) Read(name string) ([]byte, error) {
	p, rest, ok := r.find(name)
	if !ok {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	f, ok := p.file(rest)
	if !ok {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	text, err := f.read()
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return append([]byte(text), '\n'), nil
}

func (r root) Write(name string, contents []byte) error {
	p, rest, ok := r.find(name)
	if !ok {
		return pathError("open", name, fs.ErrNotExist)
	}
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	f, ok := p.file(rest)
	if !ok {
		return pathError("open", name, fs.ErrNotExist)
	}
	if f.write == nil {
		return pathError("open", name, fs.ErrPermission)
	}
	if err := f.write(strings.TrimSpace(string(contents))); err != nil {
		return pathError("write", name, err)
	}
	p.configure()
	p.card.written()
	return nil
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// List implements nicfiles.Files for the directories that agents read.
func (r root) List(name string) ([]string, error) {
	p, rest, ok := r.find(name)
	if !ok {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	names := p.list(rest)
	if names == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	slices.Sort(names)
	return names, nil
}

// Make implements nicfiles.Maker: configfs creates the directory of an RDMA device on mkdir.
func (r root) Make(name string) error {
	device, ok := strings.CutPrefix(name, configfs)
	if !ok {
		return pathError("mkdir", name, fs.ErrPermission)
	}
	for _, c := range r.host.cards {
		if c.name == device {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, p := range c.ports {
				p.made = true
			}
			return nil
		}
	}
	return pathError("mkdir", name, syscall.ENODEV)
}

// Directories that contain the files.
const (
	sysfs      = "sys/class/net/"
	debugfs    = "sys/kernel/debug/mlx5/"
	configfs   = "sys/kernel/config/rdma_cm/"
	infiniband = "sys/class/infiniband/"
)

// place is a file's path relative to the directory of its port.
type place struct {
	root string // one of the constants above
	name string
}

// find returns the port of a path.
func (r root) find(name string) (*port, place, bool) {
	for _, base := range []string{sysfs, debugfs, configfs, infiniband} {
		rest, ok := strings.CutPrefix(name, base)
		if !ok {
			continue
		}
		who, rest, _ := strings.Cut(rest, "/")
		for _, c := range r.host.cards {
			if p := c.named(base, who, &rest); p != nil {
				return p, place{base, rest}, true
			}
		}
	}
	return nil, place{}, false
}

// named returns the card's port whose network device, PCI address, or RDMA device and port number is given. For an RDMA
// device it removes the port number from rest.
func (c *card) named(base, who string, rest *string) *port {
	if base == configfs || base == infiniband {
		below, ok := strings.CutPrefix(*rest, "ports/")
		if who != c.name || !ok {
			return nil
		}
		number, below, _ := strings.Cut(below, "/")
		i := slices.IndexFunc(c.ports, func(p *port) bool { return strconv.Itoa(p.number) == number })
		if i < 0 {
			return nil
		}
		*rest = below
		return c.ports[i]
	}
	for _, p := range c.ports {
		if base == sysfs && p.netdev == who || base == debugfs && p.pci == who {
			return p
		}
	}
	return nil
}

// file returns a file of the port. The caller holds the card's lock.
func (p *port) file(at place) (file, bool) {
	switch at.root {
	case sysfs:
		return p.sysfsFile(at.name)
	case debugfs:
		name, ok := strings.CutPrefix(at.name, "cc_params/")
		i, known := p.card.layout.debugfs[name]
		if !ok || !known || !p.card.hasDebugfs() {
			return file{}, false
		}
		return p.registerFile(i, nicparam.Debugfs), true
	case configfs:
		return p.configfsFile(at.name)
	default:
		return p.counterFile(at.name)
	}
}

func (c *card) hasSysfs() bool   { return !c.virtual && c.driver != KernelDriver }
func (c *card) hasDebugfs() bool { return !c.virtual && c.driver >= KernelDriver }

func (p *port) sysfsFile(name string) (file, bool) {
	name, ok := strings.CutPrefix(name, "ecn/")
	if !ok || !p.card.hasSysfs() {
		return file{}, false
	}
	if role, priority, ok := enableFile(name); ok {
		return p.enableFile(role, priority)
	}
	if p.card.driver == VendorDriverParams {
		role, rest, _ := strings.Cut(name, "/params/")
		name = role + "/" + rest
	}
	i, ok := p.card.layout.sysfs[name]
	if !ok {
		return file{}, false
	}
	return p.registerFile(i, nicparam.Sysfs), true
}

// list returns the names in a directory; nil if it does not exist.
func (p *port) list(at place) []string {
	role, rest, _ := strings.Cut(strings.TrimPrefix(at.name, "ecn/"), "/")
	switch {
	case at.root == sysfs && (role == "roce_rp" || role == "roce_np") && p.card.hasSysfs():
		if (rest == "params") != (p.card.driver == VendorDriverParams) {
			return nil
		}
		var out []string
		for name := range p.card.layout.sysfs {
			if file, ok := strings.CutPrefix(name, role+"/"); ok {
				out = append(out, file)
			}
		}
		return out
	case at.root == infiniband:
		return p.counterNames(at.name)
	}
	return nil
}

// registerFile returns the file of a run-time register. Reads return unsigned decimal text. Writes accept any number syntax
// of C.
func (p *port) registerFile(i int, by nicparam.Backend) file {
	row := p.card.layout.rows[i]
	return file{
		port: p,
		read: func() (string, error) {
			if err := p.faults.readable(row.Name); err != nil {
				return "", err
			}
			return strconv.FormatUint(p.register(i), 10), nil
		},
		write: func(text string) error {
			skip, err := p.faults.writable(row.Name)
			if err != nil {
				return err
			}
			v, err := strconv.ParseUint(text, 0, 64)
			if err != nil || !row.Legal(v) {
				return syscall.EINVAL
			}
			if skip {
				return nil
			}
			p.setRegister(i, p.faults.keep(row, v))
			source, _ := row.Source(by)
			for _, e := range source.Also {
				if j, ok := p.card.layout.byName[e.Name]; ok {
					p.setRegister(j, e.Value)
				}
			}
			return nil
		},
	}
}

// enableFile returns the file that turns DCQCN on and off for a priority.
func (p *port) enableFile(role string, priority int) (file, bool) {
	side, name := reaction, "rp_enable"
	switch role {
	case "roce_rp":
	case "roce_np":
		side, name = notification, "np_enable"
	default:
		return file{}, false
	}
	return file{
		port: p,
		read: func() (string, error) {
			if err := p.faults.readable(name); err != nil {
				return "", err
			}
			return strconv.Itoa(int(p.enabled(side) >> priority & 1)), nil
		},
		write: func(text string) error {
			skip, err := p.faults.writable(name)
			if err != nil {
				return err
			}
			v, err := strconv.ParseUint(text, 0, 64)
			if err != nil || v > 1 {
				return syscall.EINVAL
			}
			if skip {
				return nil
			}
			p.off[side] &^= 1 << priority
			if v == 0 {
				p.off[side] |= 1 << priority
			}
			return nil
		},
	}, true
}

// configfsFile returns the file of a default for RDMA-CM connections.
func (p *port) configfsFile(name string) (file, bool) {
	row, ok := p.card.layout.table.Find(name)
	source, is := row0(row).Source(nicparam.Configfs)
	if !ok || !is || source.Name != name || !p.made {
		return file{}, false
	}
	at, words := &p.tos, false
	if name == "default_roce_mode" {
		at, words = &p.version, true
	}
	return file{
		port: p,
		read: func() (string, error) {
			if err := p.faults.readable(name); err != nil {
				return "", err
			}
			if words {
				return row.Values[*at].Name, nil
			}
			return strconv.FormatUint(*at, 10), nil
		},
		write: func(text string) error {
			skip, err := p.faults.writable(name)
			if err != nil {
				return err
			}
			v, err := row.Parse(text)
			if err != nil || !row.Legal(v) {
				return syscall.EINVAL
			}
			if !skip {
				*at = v
			}
			return nil
		},
	}, true
}

// row0 returns p, or an empty row if p is nil.
func row0(p *nicparam.Param) *nicparam.Param {
	if p == nil {
		return &nicparam.Param{}
	}
	return p
}
