package umad_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/subnet/ident"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]umad.Name{
		"mlx5_0:1":      {CA: "mlx5_0", Port: 1},
		"ibp65s0f1:254": {CA: "ibp65s0f1", Port: 254},
	} {
		got, err := umad.ParseName(in)
		if got != want || err != nil || got.String() != in {
			t.Errorf("%q: %+v, error %v", in, got, err)
		}
	}
	for in, wantText := range map[string]string{
		"":                             "want CA:PORT",
		"mlx5_0":                       "want CA:PORT",
		":1":                           "want CA:PORT",
		"../../etc:1":                  "want CA:PORT",
		"a/b:1":                        "want CA:PORT",
		"..:1":                         "want CA:PORT",
		"a b:1":                        "want CA:PORT",
		strings.Repeat("x", 64) + ":1": "want CA:PORT",
		"mlx5_0:":                      `port number "": want 1 to 254`,
		"mlx5_0:0":                     `port number "0": want 1 to 254`,
		"mlx5_0:255":                   `port number "255": want 1 to 254`,
		"mlx5_0:1:2":                   `port number "1:2": want 1 to 254`,
	} {
		if got, err := umad.ParseName(in); err == nil || !strings.Contains(err.Error(), wantText) {
			t.Errorf("%q: %+v, error %v: want %q", in, got, err, wantText)
		}
	}
}

func TestInspectReadsTheKernelState(t *testing.T) {
	t.Parallel()
	var list []umadtest.Port
	for i := range 12 { // umad10 sorts after umad9
		list = append(list, umadtest.Port{CA: "mlx5_" + string(rune('a'+i)), Port: 1})
	}
	list[10] = umadtest.Port{CA: "mlx5_0", Port: 2, State: "2: INIT", LID: 0xffff, SMLID: 5, SMSL: 15, PKeys: []uint16{0x7fff, 0}}
	sys, dev := umadtest.Machine(t, list...)
	o := umad.Options{SysRoot: sys, DevRoot: dev}
	got, err := umad.Inspect(umad.Name{CA: "mlx5_0", Port: 2}, o)
	want := umad.Port{
		Name: umad.Name{CA: "mlx5_0", Port: 2}, Device: "umad10", LinkLayer: "InfiniBand", State: "INIT", Rate: "100 Gb/sec (4X EDR)",
		LID: 0xffff, SMLID: 5, SMSL: 15, PKeys: []ident.PKey{0x7fff, 0},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, d)
	}
	if i, ok := got.PKeyIndex(ident.DefaultPKey); i != 0 || !ok {
		t.Errorf("default partition at %d, %v: its limited member is at 0", i, ok)
	}
	ports, err := umad.Ports(o)
	if err != nil || len(ports) != 12 || ports[9].Device != "umad9" || ports[10].Device != "umad10" {
		t.Errorf("%d ports, error %v: %+v", len(ports), err, ports)
	}
}

func TestOpenReportsWhyAPortCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := umadtest.Port{CA: "mlx5_0", Port: 1}
	refuse := func(no syscall.Errno) func(string) (umad.Device, error) {
		return func(path string) (umad.Device, error) { return nil, &fs.PathError{Op: "open", Path: path, Err: no} }
	}
	for _, c := range []struct {
		name     string
		port     umadtest.Port
		ask      umad.Name
		fault    func(t *testing.T, o *umad.Options) // the fault of the machine
		is       error
		wantText []string
	}{
		{"another adapter", good, umad.Name{CA: "mlx4_0", Port: 1}, nil, nil, []string{"no channel adapter mlx4_0 here", "want one of mlx5_0:1"}},
		{"another port", good, umad.Name{CA: "mlx5_0", Port: 2}, nil, nil, []string{"mlx5_0 has no port 2: want mlx5_0:1"}},
		{"Ethernet", umadtest.Port{CA: "mlx5_0", Port: 1, LinkLayer: "Ethernet"}, port, nil, nil, []string{"link layer is Ethernet", "ethernet:PATH"}},
		{"down", umadtest.Port{CA: "mlx5_0", Port: 1, State: "1: DOWN"}, port, nil, nil, []string{"state is DOWN", "cable"}},
		{"no partition", umadtest.Port{CA: "mlx5_0", Port: 1, PKeys: []uint16{0, 0x8010, 0x0020}}, port, nil, nil, []string{"not in partition 0x7fff", "want one of 0x8010, 0x0020"}},
		{"an empty table", umadtest.Port{CA: "mlx5_0", Port: 1, PKeys: []uint16{}}, port, nil, nil, []string{"want one of none"}},
		{"no module", good, port, func(t *testing.T, o *umad.Options) { o.SysRoot = t.TempDir() }, fs.ErrNotExist, []string{"modprobe ib_umad"}},
		{"another version", good, port, func(t *testing.T, o *umad.Options) {
			umadtest.Write(t, filepath.Join(o.SysRoot, "class/infiniband_mad/abi_version"), "6\n")
		}, nil, []string{"version 6: want 5"}},
		{"invalid values of a driver", good, port, func(t *testing.T, o *umad.Options) {
			umadtest.Write(t, filepath.Join(o.SysRoot, "class/infiniband/mlx5_0/ports/1/lid"), "many\n")
		}, nil, []string{"ports/1/lid", `says "many": want a number of 16 bits`}},
		{"no rights", good, port, func(_ *testing.T, o *umad.Options) { o.OpenDevice = refuse(syscall.EACCES) }, fs.ErrPermission,
			[]string{"permission denied", "mode 0600", "udev rule", `GROUP="umad"`}},
		{"another namespace", good, port, func(_ *testing.T, o *umad.Options) { o.OpenDevice = refuse(syscall.EPERM) }, fs.ErrPermission, []string{"network namespace", "rdma system"}},
		{"no file", good, port, func(t *testing.T, o *umad.Options) {
			if err := os.Remove(filepath.Join(o.DevRoot, "infiniband/umad0")); err != nil {
				t.Fatal(err)
			}
		}, fs.ErrNotExist, []string{"infiniband/umad0", "udev"}},
		{"just unplugged", good, port, func(_ *testing.T, o *umad.Options) { o.OpenDevice = refuse(syscall.ENXIO) }, umad.ErrRemoved, []string{"removed"}},
		{"an ordinary file", good, port, nil, os.ErrNoDeadline, []string{"infiniband/umad0", "want a character device of ib_umad"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sys, dev := umadtest.Machine(t, c.port)
			o := umad.Options{SysRoot: sys, DevRoot: dev}
			if c.fault != nil {
				c.fault(t, &o)
			}
			_, err := umad.Open(t.Context(), c.ask, o)
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("error %v: want %v", err, c.is)
			}
			for _, wantText := range append(c.wantText, c.ask.String()) {
				if !strings.Contains(err.Error(), wantText) {
					t.Errorf("error %q: want it to contain %q", err, wantText)
				}
			}
			var absent *umad.AbsentError
			if wantAbsent := c.ask != port; errors.As(err, &absent) != wantAbsent {
				t.Errorf("error %T", err)
			}
		})
	}
}

func TestMachineWithoutAdaptersIsReported(t *testing.T) {
	t.Parallel()
	sys, _ := umadtest.Machine(t)
	_, err := umad.Inspect(port, umad.Options{SysRoot: sys})
	if err == nil || !strings.Contains(err.Error(), "no channel adapter has a umad file here") {
		t.Errorf("error %v", err)
	}
}

func TestPortsWithASubnetManagerAreListed(t *testing.T) {
	t.Parallel()
	sys, dev := umadtest.Machine(t,
		umadtest.Port{CA: "mlx5_0", Port: 1, GUID: 0x0002c903000e0b72, SM: true},
		umadtest.Port{CA: "mlx5_0", Port: 2, GUID: 0x0002c903000e0b73},
		umadtest.Port{CA: "mlx5_1", Port: 1, GUID: 0x11, SM: true, LinkLayer: "Ethernet"})
	got, err := umad.SMPorts(umad.Options{SysRoot: sys, DevRoot: dev})
	if err != nil || !slices.Equal(got, []ident.GUID{0x0002c903000e0b72}) {
		t.Errorf("ports %v, %v", got, err)
	}
	umadtest.Write(t, filepath.Join(sys, "class/infiniband/mlx5_0/ports/1/gids/0"), "none\n")
	if _, err := umad.SMPorts(umad.Options{SysRoot: sys, DevRoot: dev}); err == nil || !strings.Contains(err.Error(), "want a GID") {
		t.Errorf("error %v, want one about the GID", err)
	}
	if got, err := umad.SMPorts(umad.Options{SysRoot: t.TempDir(), DevRoot: dev}); len(got) > 0 || err != nil {
		t.Errorf("without InfiniBand: %v, %v", got, err)
	}
}
