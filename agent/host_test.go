package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errDead is the error of all operations of a host once the agent was killed.
var errDead = errors.New("the process is dead")

// rig is a host of two cards in memory: "eth-a" with two ports, of which the first has WRCC and the files of the kernel's
// driver and the second those of the vendor's, and "eth-b" with one port.
type rig struct {
	algorithm ccalgo.State // of all ports
	mu        sync.Mutex
	files     map[string]string
	writes    []string // "name=text"
	reads     int
	queries   int           // of mstconfig
	hangs     chan struct{} // queries block on it, and fail
	onRead    map[string]func() ([]byte, error)
	onWrite   map[string]func(string) (string, error)
	counters  map[string]niccount.Counter
	counted   int
	onCount   func() // called while counters are read
	setsRead  int
	senders   *wrcc.NICConfig
	sendersOn func(*wrcc.NICConfig) (*wrcc.NICConfig, error) // modifies what is written
	nv        map[string][3]uint64
	gone      map[string]bool // cards
	boot      string
	life      string // incarnation
	broken    error  // of all counters
	problem   string // of eth-b
	events    chan struct{}
	now       time.Time
	ops       int // writes to devices and the journal
	dieAt     int // the operation from which on everything fails; 0 never
	document  []byte

	table   *nicparam.Table
	devices map[string]*nicfiles.Device
	mst     *nicfiles.NV
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{algorithm: ccalgo.State{Name: ccalgo.DCQCN, Driver: "mlx5_core", Evidence: "slot 0"},
		files: map[string]string{}, onRead: map[string]func() ([]byte, error){}, onWrite: map[string]func(string) (string, error){},
		counters: map[string]niccount.Counter{"np_cnp_sent": {Name: "np_cnp_sent", Value: 7}, "rp_cnp_handled": {Name: "rp_cnp_handled", Err: errors.New("input/output error")}},
		senders:  &wrcc.NICConfig{Domain: 1, T1Us: 24, MinRateMbps: 100, Increase: "ask"},
		nv:       map[string][3]uint64{}, gone: map[string]bool{}, boot: "boot-1", life: "life-1", events: make(chan struct{}, 1), now: time.Unix(1000, 0),
		table: nicparam.New(nicparam.Caps{GeneralCC: true}), devices: map[string]*nicfiles.Device{},
	}
	r.defaults()
	for _, p := range r.table.By(nicparam.NV) {
		if p.Group != nicparam.GroupFirmware {
			continue
		}
		name, err := p.NVName(1)
		if err != nil {
			t.Fatal(err)
		}
		r.nv[name] = [3]uint64{p.Default, p.Default, p.Default}
	}
	accessors := func(names ...func() (nicfiles.Accessor, error)) []nicfiles.Accessor {
		var out []nicfiles.Accessor
		for _, f := range names {
			w, err := f()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, w)
		}
		return out
	}
	nv, err := nicfiles.NewNV(r, r.table, "0000:3b:00.0", 1)
	if err != nil {
		t.Fatal(err)
	}
	r.mst = nv
	r.devices["eth-a"] = nicfiles.NewDevice(r.table, append(accessors(
		func() (nicfiles.Accessor, error) { return nicfiles.Debugfs(r, r.table, place(1)) },
		func() (nicfiles.Accessor, error) { return nicfiles.Sysfs(r, r.table, place(2)) },
	), nv)...)
	r.devices["eth-b"] = nicfiles.NewDevice(r.table, accessors(func() (nicfiles.Accessor, error) {
		return nicfiles.Debugfs(r, r.table, nicfiles.Port{Number: 1, NetDev: "ens2", PCI: "0000:5e:00.0"})
	})...)
	return r
}

func place(port int) nicfiles.Port {
	return nicfiles.Port{Number: port, NetDev: fmt.Sprintf("ens1f%d", port-1), PCI: fmt.Sprintf("0000:3b:00.%d", port-1)}
}

// defaults sets all files to the driver's initial values.
func (r *rig) defaults() {
	for _, p := range r.table.By(nicparam.Debugfs) {
		s, _ := p.Source(nicparam.Debugfs)
		for _, pci := range []string{"0000:3b:00.0", "0000:5e:00.0"} {
			r.files["sys/kernel/debug/mlx5/"+pci+"/cc_params/"+s.Name] = strconv.FormatUint(p.Default, 10)
		}
	}
	for _, p := range r.table.By(nicparam.Sysfs) {
		s, _ := p.Source(nicparam.Sysfs)
		for i := range p.Scope.Size() {
			r.files["sys/class/net/ens1f1/ecn/"+strings.ReplaceAll(s.Name, "<index>", strconv.Itoa(i))] = strconv.FormatUint(p.Default, 10)
		}
	}
}

// op counts a changing operation, and fails when the process is dead.
func (r *rig) op() error {
	r.ops++
	if r.dieAt > 0 && r.ops >= r.dieAt {
		return errDead
	}
	return nil
}

func (r *rig) dead() bool { return r.dieAt > 0 && r.ops >= r.dieAt }

func (r *rig) Read(name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.dead() {
		return nil, errDead
	}
	if f := r.onRead[name]; f != nil {
		return f()
	}
	s, ok := r.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(s + "\n"), nil
}

func (r *rig) Write(name string, b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.op(); err != nil {
		return err
	}
	if _, ok := r.files[name]; !ok {
		return fs.ErrNotExist
	}
	r.writes = append(r.writes, name[strings.LastIndexByte(name, '/')+1:]+"="+string(b))
	text := string(b)
	if f := r.onWrite[name]; f != nil {
		var err error
		if text, err = f(text); err != nil {
			return err
		}
	}
	r.files[name] = text
	if strings.HasSuffix(name, "/np_cnp_prio") { // as the driver does
		r.files[strings.TrimSuffix(name, "np_cnp_prio")+"np_cnp_prio_mode"] = "0"
	}
	return nil
}

func (r *rig) List(name string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for f := range r.files {
		if rest, ok := strings.CutPrefix(f, name+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			out = append(out, first)
		}
	}
	if out == nil {
		return nil, fs.ErrNotExist
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Run emulates mstconfig.
func (r *rig) Run(ctx context.Context, args []string) ([]byte, error) {
	r.mu.Lock()
	hangs := r.hangs
	r.mu.Unlock()
	if hangs != nil && args[len(args)-1] == "q" {
		select {
		case <-hangs:
			return nil, errors.New("mstconfig: took longer than 1m0s")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead() {
		return nil, errDead
	}
	if args[len(args)-1] != "q" {
		if err := r.op(); err != nil {
			return nil, err
		}
		for _, a := range args[4:] {
			name, text, _ := strings.Cut(a, "=")
			v, _ := strconv.ParseUint(text, 10, 64)
			row := r.nv[name]
			row[2] = v
			r.nv[name] = row
		}
		return []byte("Applying... Done!\n"), nil
	}
	r.queries++
	var b strings.Builder
	b.WriteString("\nDevice #1:\n----------\n\nDevice type:    ConnectX6DX\nDevice:         0000:3b:00.0\n\nConfigurations:    Default     Current     Next Boot\n")
	for _, name := range slices.Sorted(maps.Keys(r.nv)) {
		v := r.nv[name]
		mark := " "
		if v[2] != v[1] {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s        %-36s%-16d%-16d%-16d\n", mark, name, v[0], v[1], v[2])
	}
	return []byte(b.String()), nil
}

// BootID, NICs and Events implement agent.Host.
func (r *rig) BootID(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.boot, nil
}

const guidA, guidB = ident.GUID(0x0c42a10300a10000), ident.GUID(0x0c42a10300b10000)

func (r *rig) NICs(context.Context) ([]agent.NIC, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []agent.NIC
	for name, guid := range map[string]ident.GUID{"eth-a": guidA, "eth-b": guidB} {
		if r.gone[name] {
			continue
		}
		n := agent.NIC{Name: name, PCI: "0000:3b:00.0", Vendor: "NVIDIA", Model: "ConnectX-6 Dx", Firmware: "22.31.1014", Driver: "mlx5_core", NodeGUID: guid,
			Incarnation: r.life, Table: r.table, Device: r.devices[name]}
		ports := 1
		if name == "eth-a" {
			ports, n.NV = 2, r.mst
		}
		for p := 1; p <= ports; p++ {
			n.Ports = append(n.Ports, agent.Port{Number: p, ID: ident.PortID{Node: guid, Port: ident.PortNum(p)}, NetDev: place(p).NetDev, RDMA: "mlx5_0", RDMAPort: 1, Meter: meter{r}, Algorithm: r.algorithm})
		}
		if name == "eth-b" && r.problem != "" {
			n.Problem, n.Device = r.problem, nil
		}
		if name == "eth-a" {
			n.Ports[0].WRCC, n.Ports[0].Functions = senders{r}, 2
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(x, y agent.NIC) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

func (r *rig) Events() <-chan struct{} { return r.events }

type meter struct{ r *rig }

func (m meter) Link(context.Context) (agent.Link, error) {
	return agent.Link{MAC: "0c:42:a1:00:00:01", SpeedMbps: 100000, Up: true}, nil
}

func (m meter) Counters(ctx context.Context) (niccount.Counters, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.counted++
	if m.r.onCount != nil {
		m.r.onCount()
	}
	if m.r.broken != nil {
		return nil, m.r.broken
	}
	return maps.Clone(m.r.counters), ctx.Err()
}

func (m meter) Functions(context.Context) ([]agent.Function, error) {
	if m.r.broken != nil {
		return nil, m.r.broken
	}
	return []agent.Function{
		{Index: 0, Name: "pf0vf0", TxOctets: niccount.Counter{Value: 100}, RxOctets: niccount.Counter{Value: 50}, RDMA: "mlx5_2",
			Counters: niccount.Counters{"np_cnp_sent": {Name: "np_cnp_sent", Value: 3}, "rp_cnp_handled": {Name: "rp_cnp_handled", Err: errors.New("input/output error")}}},
		{Index: 1, Name: "pf0vf1", TxOctets: niccount.Counter{Err: errors.New("no such device")}, RxOctets: niccount.Counter{Value: 5}, Problem: agent.ErrFunctionElsewhere},
	}, nil
}

func (m meter) CounterSets(context.Context) ([]agent.CounterSet, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.setsRead++
	if m.r.broken != nil {
		return nil, m.r.broken
	}
	return []agent.CounterSet{
		{
			ID: 3, Mode: "auto", PID: 4711, Process: "trainer", QPs: []uint32{17, 4000000000}, QPCount: 2,
			Counters: niccount.Counters{"rdma_tx_bytes": {Name: "rdma_tx_bytes", Value: 1 << 40}, "rdma_rx_bytes": {Name: "rdma_rx_bytes", Err: errors.New("the kernel reports no value")}},
		},
		{ID: 9, Mode: "manual"},
	}, nil
}

type senders struct{ r *rig }

func (s senders) Read(context.Context) (*wrcc.NICConfig, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.dead() {
		return nil, errDead
	}
	return s.r.senders.Clone(), nil
}

func (s senders) Write(_ context.Context, c *wrcc.NICConfig) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if err := s.r.op(); err != nil {
		return err
	}
	if s.r.sendersOn != nil {
		var err error
		if c, err = s.r.sendersOn(c); err != nil {
			return err
		}
	}
	s.r.senders = c.Clone()
	return nil
}

func (s senders) Sent(context.Context) (niccount.Counters, error) {
	if s.r.broken != nil {
		return nil, s.r.broken
	}
	return niccount.Counters{"astro/bulk": {Name: "astro/bulk", Value: 1234}, "bio/x": {Name: "bio/x", Err: errors.New("no")}}, nil
}

func (s senders) MaxSenders() int { return 4 }

// Load and Save implement agent.Journal.
func (r *rig) Load(context.Context) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.document, nil
}

func (r *rig) Save(_ context.Context, b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.op(); err != nil {
		return err
	}
	r.document = b
	return nil
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// do runs a change of the host.
func (r *rig) do(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *rig) options() agent.Options {
	return agent.Options{Host: r, Journal: r, Now: r.clock, Version: "v1"}
}

func (r *rig) agent(t testing.TB, change ...func(*agent.Options)) *agent.Agent {
	t.Helper()
	o := r.options()
	for _, c := range change {
		c(&o)
	}
	a, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// file returns the value of a parameter of the kernel's driver on eth-a's first port.
func (r *rig) file(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files[debugfsA+name]
}

const debugfsA = "sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/"

func key(port int, name string, index ...int) nicparam.Key {
	k := nicparam.Key{Port: port, Name: name}
	if len(index) > 0 {
		k.Index = index[0]
	}
	return k
}

// give returns an update of a parameter.
func give(nic string, k nicparam.Key, v uint64) gnmitree.Operation {
	return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.ParamValue(nic, k), Value: gnmitree.Uint(v)}
}

func drop(p gnmitree.Path) gnmitree.Operation {
	return gnmitree.Operation{Op: gnmitree.OpDelete, Path: p}
}

// ask returns the leaves of one path, by path.
func ask(t testing.TB, a *agent.Agent, p gnmitree.Path) map[string]string {
	t.Helper()
	found, err := a.Get(t.Context(), gnmitree.Query{Paths: []gnmitree.Path{p}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, l := range found[0] {
		if p.Covers(l.Path) {
			text, err := l.Value.AsString()
			if err != nil {
				text = strings.Trim(l.Value.String(), `"`)
			}
			out[l.Path.String()] = text
		}
	}
	return out
}

// leaf returns one leaf; "absent" without one.
func leaf(t testing.TB, a *agent.Agent, p gnmitree.Path) string {
	t.Helper()
	if v, ok := ask(t, a, p)[p.String()]; ok {
		return v
	}
	return "absent"
}

func state(t testing.TB, a *agent.Agent, nic string, k nicparam.Key, name string) string {
	t.Helper()
	return leaf(t, a, nicyang.Param(nic, k).Child("state").Child(name))
}

func applied(t testing.TB, a *agent.Agent, name string) string {
	t.Helper()
	return leaf(t, a, nicyang.ApplyState().Child(name))
}

// everything returns all values of the host's devices.
func (r *rig) everything() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := maps.Clone(r.files)
	for name, v := range r.nv {
		out[name] = fmt.Sprint(v[2])
	}
	out["senders"] = fmt.Sprintf("%+v", *r.senders)
	return out
}

func portID(g ident.GUID, n int) ident.PortID { return ident.PortID{Node: g, Port: ident.PortNum(n)} }
