package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicparam"
)

// Reading is the result of reading one parameter.
type Reading struct {
	nicparam.Setting
	By  nicparam.Backend
	Err error // if set, there is no value
	// Acting is the value that acts now, if that differs until something ends that the host knows, such as a pod; nil otherwise.
	Acting *uint64
}

// Accessor accesses the parameters of one or several ports through one back end.
type Accessor interface {
	// Backend returns the back end.
	Backend() nicparam.Backend
	// Keys returns the keys that the accessor may support. Read shows which of them exist.
	Keys() []nicparam.Key
	// Knows reports whether k is one of Keys, without building the list.
	Knows(k nicparam.Key) bool
	// Read reads parameters, in their order. After a write it returns the values that the device stores.
	Read(ctx context.Context, keys []nicparam.Key) []Reading
	// Write writes parameters in their order, and stops at the first failure. It returns an error for each parameter that was
	// not accepted; those after the failed one have ErrSkipped.
	Write(ctx context.Context, set []nicparam.Setting) []error
}

// Rewinder is an accessor whose state is more than the values of its parameters: writing the earlier values does not
// restore it. For example, a missing table entry has no value to write.
type Rewinder interface {
	Accessor
	// Snapshot reads the complete state of the accessor and returns a function that restores it.
	Snapshot(ctx context.Context) (back func(context.Context) error, err error)
}

// Port is the location of a port on the host.
type Port struct {
	Number int    // of the card, from 1
	NetDev string // network device, such as "ens1f0np0"
	PCI    string // address of its function, such as "0000:3b:00.0"
	// RDMA is its RDMA device, such as "mlx5_0", and RDMAPort the port number on that device, from 1. For a card whose
	// functions have one port each, RDMAPort is always 1.
	RDMA     string
	RDMAPort int
}

var pciAddress = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// checkName rejects names that could change the meaning of a path.
func checkName(what, name string, most int) error {
	if name == "" || len(name) > most || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%s: found %q, want 1 to %d bytes, no slash", what, nicparam.Clip(name), most)
	}
	return nil
}

// fileAccessor is an accessor with one file for each parameter.
type fileAccessor struct {
	files   Files
	backend nicparam.Backend
	port    int
	table   *nicparam.Table
	path    func(*nicparam.Param, nicparam.Key) string
	words   bool // write values of enumerations as names
}

// ParamOf returns the row of a parameter that a back end may support, at an index; nil if it does not.
func ParamOf(table *nicparam.Table, backend nicparam.Backend, name string, index int) *nicparam.Param {
	p, ok := table.Find(name)
	if !ok || !table.Caps().Has(p.Needs) || index < 0 || index >= p.Scope.Size() {
		return nil
	}
	if _, ok = p.Source(backend); !ok {
		return nil
	}
	return p
}

// KeysOf returns all keys of one port that a back end may support.
func KeysOf(table *nicparam.Table, backend nicparam.Backend, port int) []nicparam.Key {
	var out []nicparam.Key
	for _, p := range table.By(backend) {
		for i := range p.Scope.Size() {
			out = append(out, nicparam.Key{Port: port, Name: p.Name, Index: i})
		}
	}
	return out
}

// Debugfs returns the accessor to the files of the kernel's mlx5 driver. The files exist only if the firmware allows
// queries and changes of congestion parameters; a virtual function has none.
func Debugfs(files Files, table *nicparam.Table, port Port) (Accessor, error) {
	if !pciAddress.MatchString(port.PCI) {
		return nil, fmt.Errorf("port %d: found PCI address %q, want one such as 0000:3b:00.0", port.Number, port.PCI)
	}
	a := &fileAccessor{files: files, backend: nicparam.Debugfs, port: port.Number, table: table}
	a.path = func(p *nicparam.Param, _ nicparam.Key) string {
		s, _ := p.Source(nicparam.Debugfs)
		return "sys/kernel/debug/mlx5/" + port.PCI + "/cc_params/" + s.Name
	}
	return a, nil
}

// Sysfs returns the accessor to the files of the vendor's driver. Some releases have a directory "params" between role
// and parameter; Sysfs detects the existing layout for each role.
func Sysfs(files Files, table *nicparam.Table, port Port) (Accessor, error) {
	if err := checkName(fmt.Sprintf("port %d: network device", port.Number), port.NetDev, 15); err != nil {
		return nil, err
	}
	base := "sys/class/net/" + port.NetDev + "/ecn/"
	params := map[string]bool{}
	for _, role := range []string{"roce_rp", "roce_np"} {
		_, err := files.List(base + role + "/params")
		params[role] = !errors.Is(err, fs.ErrNotExist)
	}
	a := &fileAccessor{files: files, backend: nicparam.Sysfs, port: port.Number, table: table}
	a.path = func(p *nicparam.Param, k nicparam.Key) string {
		s, _ := p.Source(nicparam.Sysfs)
		name := strings.ReplaceAll(s.Name, "<index>", strconv.Itoa(k.Index))
		role, file, _ := strings.Cut(name, "/")
		if params[role] && !strings.HasPrefix(file, "enable/") {
			file = "params/" + file
		}
		return base + role + "/" + file
	}
	return a, nil
}

// Maker creates directories, as configfs requires before a device is configured.
type Maker interface {
	Files
	// Make creates a directory; it is not an error if it exists.
	Make(name string) error
}

// Configfs returns the accessor to the default type of service and version of RDMA-CM connections. It creates the
// device's directory if it is missing. On a host without configfs, or without rdma_cm, it returns ErrAbsent.
func Configfs(files Maker, table *nicparam.Table, port Port) (Accessor, error) {
	if err := checkName(fmt.Sprintf("port %d: RDMA device", port.Number), port.RDMA, 63); err != nil {
		return nil, err
	}
	if port.RDMAPort < 1 || port.RDMAPort > nicparam.MaxPorts {
		return nil, fmt.Errorf("port %d: found port %d of %s, want 1..%d", port.Number, port.RDMAPort, port.RDMA, nicparam.MaxPorts)
	}
	const base = "sys/kernel/config/rdma_cm"
	if err := files.Make(base + "/" + port.RDMA); err != nil {
		return nil, fileError(base+"/"+port.RDMA, ErrRefused, err)
	}
	a := &fileAccessor{files: files, backend: nicparam.Configfs, port: port.Number, table: table, words: true}
	a.path = func(p *nicparam.Param, _ nicparam.Key) string {
		s, _ := p.Source(nicparam.Configfs)
		return base + "/" + port.RDMA + "/ports/" + strconv.Itoa(port.RDMAPort) + "/" + s.Name
	}
	return a, nil
}

var _ Accessor = (*fileAccessor)(nil)

func (a *fileAccessor) Backend() nicparam.Backend { return a.backend }

// Keys builds a new list on each call, because it is called seldom, and a manager of simulated hosts has thousands of
// accessors.
func (a *fileAccessor) Keys() []nicparam.Key { return KeysOf(a.table, a.backend, a.port) }

func (a *fileAccessor) Knows(k nicparam.Key) bool {
	return k.Port == a.port && ParamOf(a.table, a.backend, k.Name, k.Index) != nil
}

// row returns the row of a key of this port.
func (a *fileAccessor) row(k nicparam.Key) (*nicparam.Param, error) {
	if !a.Knows(k) {
		return nil, fmt.Errorf("%s by %s: %w", k, a.backend, ErrAbsent)
	}
	p, _ := a.table.Find(k.Name)
	return p, nil
}

func (a *fileAccessor) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	out := make([]Reading, len(keys))
	for i, k := range keys {
		out[i] = Reading{Setting: nicparam.Setting{Key: k}, By: a.backend}
		out[i].Value, out[i].Err = a.read(ctx, k)
	}
	return out
}

func (a *fileAccessor) read(ctx context.Context, k nicparam.Key) (uint64, error) {
	p, err := a.row(k)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	name := a.path(p, k)
	b, err := a.files.Read(name)
	if err != nil {
		return 0, fileError(name, ErrUnreadable, err)
	}
	v, err := p.Parse(string(b))
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %w", name, ErrUnreadable, err)
	}
	return v, nil
}

func (a *fileAccessor) Write(ctx context.Context, set []nicparam.Setting) []error {
	errs := make([]error, len(set))
	failed := false
	for i, s := range set {
		if failed {
			errs[i] = fmt.Errorf("%s: %w", s.Key, ErrSkipped)
			continue
		}
		errs[i] = a.write(ctx, s)
		failed = errs[i] != nil
	}
	return errs
}

func (a *fileAccessor) write(ctx context.Context, s nicparam.Setting) error {
	p, err := a.row(s.Key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrSkipped, err)
	}
	name := a.path(p, s.Key)
	text := strconv.AppendUint(nil, s.Value, 10)
	if i := slices.IndexFunc(p.Values, func(v nicparam.Value) bool { return v.Number == s.Value }); a.words && i >= 0 {
		text = []byte(p.Values[i].Name)
	}
	if err := a.files.Write(name, text); err != nil {
		return fileError(name, ErrRefused, err)
	}
	return nil
}
