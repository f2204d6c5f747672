package umadtest

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// Port is the /sys content of a port with a umad file.
type Port struct {
	CA         string
	Port       int
	LinkLayer  string // empty: InfiniBand
	State      string // empty: "4: ACTIVE"
	LID, SMLID uint16
	SMSL       uint8
	PKeys      []uint16 // nil: 0xffff
	GUID       uint64
	SM         bool // a subnet manager runs on it
}

// Machine writes the files of a machine with the ports umad0, umad1 and so on, and empty device files. It returns the
// roots of /sys and /dev.
func Machine(t testing.TB, ports ...Port) (sys, dev string) {
	t.Helper()
	root := t.TempDir()
	sys, dev = filepath.Join(root, "sys"), filepath.Join(root, "dev")
	Write(t, filepath.Join(sys, "class/infiniband_mad/abi_version"), "5\n")
	for i, p := range ports {
		umad := fmt.Sprintf("umad%d", i)
		dir := filepath.Join(sys, "class/infiniband_mad", umad)
		Write(t, filepath.Join(dir, "ibdev"), p.CA+"\n")
		Write(t, filepath.Join(dir, "port"), fmt.Sprintf("%d\n", p.Port))
		Write(t, filepath.Join(dir, "dev"), fmt.Sprintf("231:%d\n", i))
		Write(t, filepath.Join(sys, "class/infiniband_mad", fmt.Sprintf("issm%d", i), "ibdev"), p.CA+"\n")
		Write(t, filepath.Join(dev, "infiniband", umad), "")
		port(t, filepath.Join(sys, "class/infiniband", p.CA, "ports", fmt.Sprint(p.Port)), p)
	}
	return sys, dev
}

func port(t testing.TB, dir string, p Port) {
	t.Helper()
	if p.LinkLayer == "" {
		p.LinkLayer = "InfiniBand"
	}
	if p.State == "" {
		p.State = "4: ACTIVE"
	}
	if p.PKeys == nil {
		p.PKeys = []uint16{0xffff}
	}
	mask := 0x2651e848
	if p.SM {
		mask |= 2
	}
	gid := netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64([]byte{0xfe, 0x80, 0, 0, 0, 0, 0, 0}, p.GUID)))
	Write(t, filepath.Join(dir, "gids/0"), gid.StringExpanded()+"\n")
	for name, text := range map[string]string{
		"cap_mask":   fmt.Sprintf("0x%08x", mask),
		"link_layer": p.LinkLayer, "state": p.State, "rate": "100 Gb/sec (4X EDR)",
		"lid": fmt.Sprintf("0x%x", p.LID), "sm_lid": fmt.Sprintf("0x%x", p.SMLID), "sm_sl": fmt.Sprint(p.SMSL),
	} {
		Write(t, filepath.Join(dir, name), text+"\n")
	}
	for i, k := range p.PKeys {
		Write(t, filepath.Join(dir, "pkeys", fmt.Sprint(i)), fmt.Sprintf("0x%04x\n", k))
	}
}

// Write writes a file and creates the directories above it.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
