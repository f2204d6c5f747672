package umad

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// abiVersion is the supported version of the interface.
const abiVersion = 5

// Port is the kernel's description of a port with a umad file.
type Port struct {
	Name      Name
	Device    string // of the umad file: "umad0"
	LinkLayer string // "InfiniBand", or "Ethernet" of a RoCE port
	State     string // "DOWN", "INIT", "ARMED" or "ACTIVE"
	Rate      string // "100 Gb/sec (4X EDR)"
	LID       ident.LID
	SMLID     ident.LID // of the subnet manager; 0: none so far
	SMSL      ident.SL  // SL to reach the subnet manager
	// PKeys is the partition table by index; 0 is an empty entry.
	PKeys []ident.PKey
}

// InfiniBand reports whether the port is an InfiniBand one: RoCE ports may have a umad file too.
func (p *Port) InfiniBand() bool { return p.LinkLayer == "InfiniBand" }

// PKeyIndex returns the entry of a partition: the full member, or else the limited one.
func (p *Port) PKeyIndex(k ident.PKey) (uint16, bool) {
	for _, want := range []ident.PKey{k.Base() | 0x8000, k.Base()} {
		if i := slices.Index(p.PKeys, want); i >= 0 {
			return uint16(i), true
		}
	}
	return 0, false
}

// Bounds of reads from /sys.
const (
	maxFact  = 4096 // bytes of a file: a page, as in the kernel
	maxPKeys = 4096
	maxPorts = 4096
)

// tree holds the roots of the kernel's device files.
type tree struct{ sys, dev string }

// fact reads a file of /sys.
func (t tree) fact(path ...string) (string, error) {
	f, err := os.Open(filepath.Join(append([]string{t.sys}, path...)...))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	b, err := io.ReadAll(io.LimitReader(f, maxFact))
	return strings.TrimSpace(string(b)), err
}

// number reads a number from /sys, decimal or with 0x, of at most the given number of bits.
func (t tree) number(bits int, path ...string) (uint64, error) {
	s, err := t.fact(path...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s says %q: want a number of %d bits", filepath.Join(append([]string{t.sys}, path...)...), s, bits)
	}
	return n, nil
}

const classDir = "class/infiniband_mad"

// file returns the path of a device file.
func (t tree) file(device string) string { return filepath.Join(t.dev, "infiniband", device) }

// Ports lists the ports of this machine that have a umad file, in the order of their files. LinkLayer and the fields
// after it are not set. It fails when the module ib_umad is not loaded, or has another version of the interface.
func Ports(o Options) ([]Port, error) { return o.tree().ports() }

func (t tree) ports() ([]Port, error) {
	abi, err := t.number(32, classDir, "abi_version")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no umad interface: %w: want the kernel module ib_umad (modprobe ib_umad) and a channel adapter, and in a container the host's /sys", err)
	case err != nil:
		return nil, err
	case abi != abiVersion:
		return nil, fmt.Errorf("the kernel's umad interface has version %d: want %d", abi, abiVersion)
	}
	entries, err := os.ReadDir(filepath.Join(t.sys, classDir))
	if err != nil {
		return nil, err
	}
	var list []Port
	for _, e := range entries {
		n, isUmad := strings.CutPrefix(e.Name(), "umad")
		if _, err := strconv.ParseUint(n, 10, 16); !isUmad || err != nil || len(list) == maxPorts {
			continue
		}
		ca, err := t.fact(classDir, e.Name(), "ibdev")
		if err != nil {
			continue // it was just unplugged
		}
		port, err := t.number(8, classDir, e.Name(), "port")
		if err != nil {
			continue
		}
		list = append(list, Port{Name: Name{CA: ca, Port: ident.PortNum(port)}, Device: e.Name()})
	}
	slices.SortFunc(list, func(a, b Port) int {
		if len(a.Device) != len(b.Device) {
			return len(a.Device) - len(b.Device) // umad9 before umad10
		}
		return strings.Compare(a.Device, b.Device)
	})
	return list, nil
}

// Inspect finds a port and reads the kernel's description of it. It opens no device file.
func Inspect(n Name, o Options) (Port, error) {
	t := o.tree()
	list, err := t.ports()
	if err != nil {
		return Port{}, fmt.Errorf("port %s: %w", n, err)
	}
	i := slices.IndexFunc(list, func(p Port) bool { return p.Name == n })
	if i < 0 {
		return Port{}, &AbsentError{Name: n, There: list}
	}
	p := list[i]
	if err := t.learn(&p); err != nil {
		return p, fmt.Errorf("port %s: %w", n, err)
	}
	return p, nil
}

// learn sets the kernel's description of a port.
func (t tree) learn(p *Port) error {
	dir := filepath.Join("class/infiniband", p.Name.CA, "ports", strconv.Itoa(int(p.Name.Port)))
	var err error
	for _, f := range []struct {
		name string
		to   *string
	}{{"link_layer", &p.LinkLayer}, {"state", &p.State}, {"rate", &p.Rate}} {
		if *f.to, err = t.fact(dir, f.name); err != nil {
			return err
		}
	}
	if _, word, ok := strings.Cut(p.State, ":"); ok { // "4: ACTIVE"
		p.State = strings.TrimSpace(word)
	}
	lid, err := t.number(16, dir, "lid")
	if err != nil {
		return err
	}
	sm, err := t.number(16, dir, "sm_lid")
	if err != nil {
		return err
	}
	sl, err := t.number(4, dir, "sm_sl")
	if err != nil {
		return err
	}
	p.LID, p.SMLID, p.SMSL = ident.LID(lid), ident.LID(sm), ident.SL(sl)
	for i := range maxPKeys {
		k, err := t.number(16, dir, "pkeys", strconv.Itoa(i))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		p.PKeys = append(p.PKeys, ident.PKey(k))
	}
	return nil
}

// SMPorts lists the GUIDs of the InfiniBand ports of this machine that run a subnet manager, by their capability masks. A
// machine without the umad interface has none.
func SMPorts(o Options) ([]ident.GUID, error) {
	t := o.tree()
	list, err := t.ports()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []ident.GUID
	for _, p := range list {
		dir := filepath.Join("class/infiniband", p.Name.CA, "ports", strconv.Itoa(int(p.Name.Port)))
		layer, err := t.fact(dir, "link_layer")
		if err != nil || layer != "InfiniBand" {
			continue // RoCE, or just unplugged
		}
		mask, err := t.number(32, dir, "cap_mask")
		if err != nil {
			return nil, err
		}
		if uint32(mask)&mad.PortCapIsSM == 0 {
			continue
		}
		gid, err := t.fact(dir, "gids", "0")
		if err != nil {
			return nil, err
		}
		at, err := netip.ParseAddr(gid)
		if err != nil || !at.Is6() {
			return nil, fmt.Errorf("%s says %q: want a GID", filepath.Join(t.sys, dir, "gids", "0"), gid)
		}
		b := at.As16()
		out = append(out, ident.GUID(binary.BigEndian.Uint64(b[8:])))
	}
	return out, nil
}
