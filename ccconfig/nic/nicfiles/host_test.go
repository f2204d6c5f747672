package nicfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/nicparam"
)

// host is a fake root with a card of two ports, whose files can misbehave.
type host struct {
	*Root
	dir     string
	mem     memory                                  // instead of a directory
	onRead  map[string]func() ([]byte, error)       // instead of reading
	onWrite map[string]func(string) (string, error) // returns the text for the file; with an error, the file is written only if the text is not empty
	writes  []string                                // "name=text" that were tried
	before  func(op int, write bool, name string)   // called before each operation
	ops     int
}

const (
	debugfsOf = "sys/kernel/debug/mlx5/0000:3b:00.%d/cc_params/"
	sysfsOf   = "sys/class/net/ens1f%dnp%d/ecn/"
)

func portOf(n int) Port {
	return Port{Number: n, NetDev: fmt.Sprintf("ens1f%dnp%d", n-1, n-1), PCI: fmt.Sprintf("0000:3b:00.%d", n-1)}
}

func newTable() *nicparam.Table { return nicparam.New(nicparam.Caps{}) }

// newHost makes a root with the files that a function names.
func newHost(t testing.TB, files map[string]string) *host {
	t.Helper()
	h := &host{dir: t.TempDir(), onRead: map[string]func() ([]byte, error){}, onWrite: map[string]func(string) (string, error){}}
	for name, text := range files {
		path := filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := Open(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	h.Root = root
	return h
}

// debugfsFiles returns the files of the kernel's driver for a port, with the defaults.
func debugfsFiles(port int) map[string]string {
	out := map[string]string{}
	for _, p := range newTable().By(nicparam.Debugfs) {
		s, _ := p.Source(nicparam.Debugfs)
		out[fmt.Sprintf(debugfsOf, port-1)+s.Name] = strconv.FormatUint(p.Default, 10)
	}
	return out
}

// sysfsFiles returns the files of the vendor's driver for a port, with the defaults.
func sysfsFiles(port int, params string) map[string]string {
	out := map[string]string{}
	for _, p := range newTable().By(nicparam.Sysfs) {
		s, _ := p.Source(nicparam.Sysfs)
		role, file, _ := strings.Cut(s.Name, "/")
		for i := range p.Scope.Size() {
			name := params + file
			if p.Scope != nicparam.ScopePort {
				name = strings.ReplaceAll(file, "<index>", strconv.Itoa(i))
			}
			out[fmt.Sprintf(sysfsOf, port-1, port-1)+role+"/"+name] = strconv.FormatUint(p.Default, 10)
		}
	}
	return out
}

func join(parts ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, p := range parts {
		maps.Copy(out, p)
	}
	return out
}

func (h *host) Read(name string) ([]byte, error) {
	if h.before != nil {
		h.before(h.ops, false, name)
	}
	h.ops++
	if f := h.onRead[name]; f != nil {
		return f()
	}
	return h.inner().Read(name)
}

func (h *host) Write(name string, b []byte) error {
	if h.before != nil {
		h.before(h.ops, true, name)
	}
	h.ops++
	h.writes = append(h.writes, name[strings.LastIndexByte(name, '/')+1:]+"="+string(b))
	text := string(b)
	if f := h.onWrite[name]; f != nil {
		var err error
		if text, err = f(text); err != nil {
			if text != "" {
				err = errors.Join(err, h.inner().Write(name, []byte(text)))
			}
			return err
		}
	}
	return h.inner().Write(name, []byte(text+"\n"))
}

// memory holds files without a directory, for many short tests.
type memory map[string]string

// Read implements Files.
func (m memory) Read(name string) ([]byte, error) {
	s, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(s + "\n"), nil
}

// Write implements Files.
func (m memory) Write(name string, b []byte) error {
	if _, ok := m[name]; !ok {
		return fs.ErrNotExist
	}
	m[name] = strings.TrimSpace(string(b))
	return nil
}

// List implements Files.
func (m memory) List(string) ([]string, error) { return nil, fs.ErrNotExist }

// inner returns the files without hooks.
func (h *host) inner() Files {
	if h.mem != nil {
		return h.mem
	}
	return h.Root
}

// get reads a file without hooks.
func (h *host) get(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func (h *host) put(t testing.TB, name, text string) {
	t.Helper()
	if h.mem != nil {
		h.mem[name] = strings.TrimSpace(text)
		return
	}
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// all reads all files without hooks.
func (h *host) all(t testing.TB) map[string]string {
	t.Helper()
	if h.mem != nil {
		return maps.Clone(h.mem)
	}
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(h.dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out[path] = h.get(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// linkEffects makes the files of a port do what the kernel's driver does: writing the priority clears its mode.
func (h *host) linkEffects(t testing.TB, port int) {
	dir := fmt.Sprintf(debugfsOf, port-1)
	h.onWrite[dir+"np_cnp_prio"] = func(s string) (string, error) {
		h.put(t, dir+"np_cnp_prio_mode", "0\n")
		return s, nil
	}
}

// debugfsDevice is a card whose ports are accessed through the kernel's driver.
func debugfsDevice(t testing.TB, h *host, ports ...int) *Device {
	t.Helper()
	var accessors []Accessor
	for _, n := range ports {
		a, err := Debugfs(h, newTable(), portOf(n))
		if err != nil {
			t.Fatal(err)
		}
		accessors = append(accessors, a)
	}
	return NewDevice(newTable(), accessors...)
}

func at(port int, name string) nicparam.Key { return nicparam.Key{Port: port, Name: name} }

func want(port int, name string, v uint64) nicparam.Setting {
	return nicparam.Setting{Key: at(port, name), Value: v}
}

func outcomes(r *Receipt) string {
	var out []string
	for _, f := range r.Fields {
		out = append(out, fmt.Sprintf("%s=%s", f.Name, f.Outcome))
	}
	return strings.Join(out, " ")
}

func TestAccessorsReadEveryParameterOfAPort(t *testing.T) {
	t.Parallel()
	def := dcqcn.Default()
	for _, c := range []struct {
		title string
		files map[string]string
		make  func(Files) (Accessor, error)
		count int
	}{
		{"debugfs", debugfsFiles(1), func(f Files) (Accessor, error) { return Debugfs(f, newTable(), portOf(1)) }, 20},
		{"sysfs", sysfsFiles(1, ""), func(f Files) (Accessor, error) { return Sysfs(f, newTable(), portOf(1)) }, 19 + 16},
		{"sysfs with params", sysfsFiles(1, "params/"), func(f Files) (Accessor, error) { return Sysfs(f, newTable(), portOf(1)) }, 19 + 16},
	} {
		h := newHost(t, c.files)
		a, err := c.make(h)
		if err != nil {
			t.Fatal(err)
		}
		readings := NewDevice(newTable(), a).ReadAll(t.Context())
		if len(readings) != c.count || len(c.files) != c.count {
			t.Errorf("%s: %d readings of %d files, want %d", c.title, len(readings), len(c.files), c.count)
		}
		registers := map[string]uint64{}
		for _, r := range (dcqcn.Limits{}).Registers() {
			registers[r.Name] = r.Value(&def)
		}
		seen := 0
		for _, r := range readings {
			if v, ok := registers[r.Name]; ok {
				seen++
				if r.Err != nil || r.Value != v {
					t.Errorf("%s: %s is %d, error %v; want %d", c.title, r.Key, r.Value, r.Err, v)
				}
			}
		}
		if seen != len(registers) {
			t.Errorf("%s: %d of %d registers", c.title, seen, len(registers))
		}
	}
}

func TestEnableFilesAreByPriority(t *testing.T) {
	t.Parallel()
	h := newHost(t, sysfsFiles(1, "params/"))
	a, err := Sysfs(h, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	s := nicparam.Setting{Key: nicparam.Key{Port: 1, Name: "rp_enable", Index: 3}, Value: 1}
	if _, err := NewDevice(newTable(), a).Set(t.Context(), []nicparam.Setting{s}); err != nil {
		t.Fatal(err)
	}
	for prio := range 8 {
		name := fmt.Sprintf(sysfsOf, 0, 0) + "roce_rp/enable/" + strconv.Itoa(prio)
		if got := h.get(t, name); (got == "1") != (prio == 3) {
			t.Errorf("priority %d is %s", prio, got)
		}
	}
}

func TestConfigfsAcceptsTypesOfServiceAndVersions(t *testing.T) {
	t.Parallel()
	const dir = "sys/kernel/config/rdma_cm/mlx5_0/ports/1/"
	port := portOf(1)
	port.RDMA, port.RDMAPort = "mlx5_0", 1
	h := newHost(t, map[string]string{dir + "default_roce_tos": "0", dir + "default_roce_mode": "IB/RoCE v1"})
	a, err := Configfs(h, newTable(), port)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewDevice(newTable(), a).Set(t.Context(), []nicparam.Setting{want(1, "default_roce_tos", 106), want(1, "default_roce_mode", 1)})
	if err != nil || outcomes(r) != "default_roce_tos=verified default_roce_mode=verified" {
		t.Fatalf("error %v", err)
	}
	if tos, mode := h.get(t, dir+"default_roce_tos"), h.get(t, dir+"default_roce_mode"); tos != "106" || mode != "RoCE v2" {
		t.Errorf("type of service %s, version %s", tos, mode)
	}
	fresh := newHost(t, map[string]string{"sys/kernel/config/rdma_cm/other/x": ""})
	a, err = Configfs(fresh, newTable(), port)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(fresh.dir, "sys/kernel/config/rdma_cm/mlx5_0")); err != nil || !info.IsDir() {
		t.Errorf("the device's directory was not made: %v", err)
	}
	if r := NewDevice(newTable(), a).ReadAll(t.Context()); len(r) != 0 {
		t.Errorf("a device without files: %+v", r)
	}
	if _, err := Configfs(newHost(t, nil), newTable(), port); !errors.Is(err, ErrAbsent) {
		t.Errorf("no configfs: error %v", err)
	}
	for _, bad := range []Port{{Number: 1, RDMA: "../x", RDMAPort: 1}, {Number: 1, RDMA: "mlx5_0"}, {Number: 1, RDMA: "mlx5_0", RDMAPort: 17}} {
		if _, err := Configfs(h, newTable(), bad); err == nil {
			t.Errorf("%+v", bad)
		}
	}
}

func TestFirstSupportingBackEndIsUsed(t *testing.T) {
	t.Parallel()
	h := newHost(t, join(sysfsFiles(1, ""), debugfsFiles(1)))
	sysfs, err := Sysfs(h, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	debugfs, err := Debugfs(h, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDevice(newTable(), sysfs, debugfs)
	if err := os.Remove(filepath.Join(h.dir, fmt.Sprintf(sysfsOf, 0, 0)+"roce_rp/rpg_gd")); err != nil {
		t.Fatal(err)
	}
	r := d.Read(t.Context(), []nicparam.Key{at(1, "rpg_ai_rate"), at(1, "rpg_gd"), at(1, "cnp_prio_mode"), at(1, "pfc"), at(2, "rpg_gd")})
	for i, by := range []nicparam.Backend{nicparam.Sysfs, nicparam.Debugfs, nicparam.Debugfs} {
		if r[i].Err != nil || r[i].By != by {
			t.Errorf("%s by %s, error %v; want %s", r[i].Key, r[i].By, r[i].Err, by)
		}
	}
	for _, x := range r[3:] {
		if !errors.Is(x.Err, ErrAbsent) {
			t.Errorf("%s: error %v", x.Key, x.Err)
		}
	}
}

func TestAccessorsRejectInvalidNames(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	for _, name := range []string{"", ".", "..", "a/b", "../../etc", "sixteen-bytes-ab", "a\x00"} {
		if _, err := Sysfs(h, newTable(), Port{Number: 1, NetDev: name}); err == nil {
			t.Errorf("network device %q", name)
		}
	}
	for _, name := range []string{"", "3b:00.0", "0000:3b:00.8", "0000:3b:00.0/..", "0000:3B:00.0", "../0000:3b:00.0"} {
		if _, err := Debugfs(h, newTable(), Port{Number: 1, PCI: name}); err == nil {
			t.Errorf("PCI address %q", name)
		}
	}
	if _, err := HWCounters(h, "../x", 1); err == nil {
		t.Error("RDMA device ../x")
	}
}

func TestRootStaysWithinItself(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, map[string]string{"a/real": "5", "a/large": strings.Repeat("1", MaxFile)})
	for link, to := range map[string]string{"out": outside, "in": "a/real", "up": "../../../../../../../../etc/hostname"} {
		if err := os.Symlink(to, filepath.Join(h.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := h.Root.Read("in"); err != nil || string(b) != "5\n" {
		t.Errorf("%q, error %v", b, err)
	}
	for _, name := range []string{"out", "up", "../x", outside, "a/large", "a"} {
		if b, err := h.Root.Read(name); err == nil {
			t.Errorf("read %s: %q", name, b)
		}
	}
	if err := h.Root.Write("out", []byte("2")); err == nil {
		t.Error("wrote through a link that leads out")
	}
	if err := h.Root.Write("a/new", []byte("2")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made a file: error %v", err)
	}
	if err := h.Root.Write("a/real", []byte("123456")); err != nil || h.get(t, "a/real") != "123456" {
		t.Errorf("%s, error %v", h.get(t, "a/real"), err)
	}
	if err := h.Root.Write("a/real", []byte("7")); err != nil || h.get(t, "a/real") != "7" {
		t.Errorf("a shorter text left %s, error %v", h.get(t, "a/real"), err)
	}
	if names, err := h.Root.List("a"); err != nil || !slices.Equal(names, []string{"large", "real"}) {
		t.Errorf("%q, error %v", names, err)
	}
	if _, err := h.Root.List("gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := Open(filepath.Join(h.dir, "gone")); err == nil {
		t.Error("opened a missing root")
	}
}
