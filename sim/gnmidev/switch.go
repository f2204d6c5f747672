package gnmidev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
)

// Dialect is what a switch speaks over gNMI.
type Dialect uint8

// Dialects.
const (
	// SONiC is the community's server: databases by origin sonic-db, changes of the configuration as one patch that is
	// validated, guarded and applied as a whole. The older form, in which the target is a database, is served too: the
	// targets are named "<switch>/<database>", or by the database alone where the switch is the only device.
	SONiC Dialect = iota
	// OpenConfig is the model openconfig-qos, as vendors' editions have it. What it sets is the same configuration; no
	// guard watches it.
	OpenConfig
)

// SwitchOptions describe a switch.
type SwitchOptions struct {
	Dialect Dialect
	Ports   []SwitchPort // from port 1 on; at least one, at most 254
	Plane   SwitchPlane  // nil: a switch without traffic
	// Marking is that of the configuration it comes with, as a profile each for those that differ, of which the first is
	// AZURE_LOSSLESS. Nil: that of the data plane if it has a method Default that tells it, otherwise SONiC's own
	// AZURE_LOSSLESS on queue 3 of all ports.
	Marking []ecn.QueueMarking
	// Config is the configuration that it comes with instead, as config_db.json.
	Config []byte
	// ASIC and Build are what the guard list asks for: a family such as "spc4" or "th3", and the date of the image, such
	// as 20241100. Empty and 0: Spectrum-4 and new enough.
	ASIC  string
	Build int
	// Unguarded is a switch whose operator has extended the guard list, so that all of the RDMA tables can be changed.
	Unguarded bool
	// ReadOnly is a switch on which native write is not enabled.
	ReadOnly bool
	// NoECNCounters is a switch whose ASIC does not count marked packets by queue.
	NoECNCounters bool
	// QueuePolling is how often queues are counted until somebody configures it otherwise. 0: 10 s.
	QueuePolling time.Duration
}

// SwitchPort is a port of a switch.
type SwitchPort struct {
	Name  string // empty: Ethernet0, Ethernet4, …
	Speed quantity.BitRate
}

// SwitchFaults is what goes wrong with the configuration of a switch.
type SwitchFaults struct {
	// Partial carries out only the first half, rounded down, of the next Set, and acknowledges all of it.
	Partial bool
	// MostThreshold cuts thresholds of marking to so many bytes, and says nothing; 0: not.
	MostThreshold int64
	// Plain makes refusals of the updater reach the client without a code of their own, as servers of some releases do.
	Plain bool
	// Unreadable makes counters of queues fail to be read from the ASIC: they are not in the database.
	Unreadable bool
}

// Switch is a simulated switch. Its methods are safe for concurrent use.
type Switch struct {
	gate
	name  string
	o     SwitchOptions
	ports []SwitchPort
	index map[string]int // of ports, from 1, by name
	rules map[string]rule
	clock func() time.Time

	mu      sync.Mutex
	running database
	saved   database
	factory database
	marking []ecn.QueueMarking // what the plane was told
	service []plane.SwitchPort // what the ports go by
	trouble SwitchFaults
	polls   polls
	changed []func([][2]string) // told of entries that differ, as TABLE and KEY
}

// databaseMark is between a switch's name and a database's, in names of targets of the older form.
const databaseMark = "/"

// maxPorts bounds the ports of a switch.
const maxPorts = 254

func modelsOf(d Dialect) []gnmitree.Model {
	if d == SONiC {
		return []gnmitree.Model{{Name: "sonic-db", Organization: "SONiC", Version: "0.1.0"}}
	}
	return []gnmitree.Model{{Name: "openconfig-qos", Organization: "OpenConfig working group", Version: "2.2.0"}}
}

// AddSwitch makes a switch and answers for it from now on. It fails on a name that is taken, on options out of range and
// on a configuration that is not valid.
func (s *Server) AddSwitch(name string, o SwitchOptions) (*Switch, error) {
	w, err := newSwitch(name, o, s.rules, s.clock)
	if err != nil {
		return nil, fmt.Errorf("switch %q: %w", name, err)
	}
	devices := map[string]opener{}
	if o.Dialect == OpenConfig {
		devices[name] = w.serve(newOpenConfig(w))
	} else {
		devices[name] = w.serve(newNative(w))
		for _, db := range databases() {
			devices[name+databaseMark+db] = w.serve(newOneDatabase(w, db))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.add(devices, name); err != nil {
		return nil, err
	}
	s.dialect[o.Dialect] = true
	return w, nil
}

// served is a tree that is always there.
type served struct{ tree *gated }

func (s served) open() (gnmitree.Tree, error) { return s.tree, nil }

func (w *Switch) serve(t gnmitree.Tree) served { return served{&gated{t, &w.gate}} }

func newSwitch(name string, o SwitchOptions, rules map[string]rule, clock func() time.Time) (*Switch, error) {
	if len(o.Ports) < 1 || len(o.Ports) > maxPorts {
		return nil, fmt.Errorf("%d ports, want 1 to %d", len(o.Ports), maxPorts)
	}
	if o.Dialect > OpenConfig {
		return nil, fmt.Errorf("dialect %d, want %d or %d", o.Dialect, SONiC, OpenConfig)
	}
	if o.QueuePolling < 0 {
		return nil, fmt.Errorf("polling of queues every %s, want 0 or more", o.QueuePolling)
	}
	if o.ASIC == "" {
		o.ASIC = "spc4"
	}
	if o.Build == 0 {
		o.Build = 20251100
	}
	if o.Plane == nil {
		o.Plane = &StillSwitch{}
	}
	if d, ok := o.Plane.(interface{ Default() []ecn.QueueMarking }); ok && o.Marking == nil {
		o.Marking = d.Default()
	}
	w := &Switch{name: name, o: o, ports: slices.Clone(o.Ports), index: map[string]int{}, rules: rules, clock: clock}
	for i := range w.ports {
		p := &w.ports[i]
		if p.Name == "" {
			p.Name = "Ethernet" + strconv.Itoa(4*i)
		}
		if w.index[p.Name] != 0 {
			return nil, fmt.Errorf("two ports of the name %s", p.Name)
		}
		w.index[p.Name] = i + 1
	}
	var err error
	if o.Config != nil {
		w.factory, err = parseConfig(o.Config)
	} else {
		w.factory, err = w.fabricConfig(o.Marking)
	}
	if err != nil {
		return nil, err
	}
	if err := (&schema{rules: w.rules, d: w.factory}).check(); err != nil {
		return nil, err
	}
	w.running, w.saved = w.factory.clone(), w.factory.clone()
	w.marking = w.effective()
	w.service = w.servicePorts()
	o.Plane.Configure(w.marking)
	o.Plane.ConfigurePorts(w.service)
	return w, nil
}

// effective is the marking of all queues that mark, by port and queue. The caller holds the lock.
func (w *Switch) effective() []ecn.QueueMarking {
	var out []ecn.QueueMarking
	for key, f := range w.running["QUEUE"] {
		names, first, last, ok := splitQueues(key)
		m, marks := markingOf(w.running[wredTable][f["wred_profile"]])
		if !ok || !marks {
			continue
		}
		for _, name := range splitNames(names) {
			for q := first; q <= min(last, ecn.MaxQueue) && w.index[name] > 0; q++ {
				out = append(out, ecn.QueueMarking{Port: ident.PortNum(w.index[name]), Queue: uint8(q), Marking: m}) // at most maxPorts and ecn.MaxQueue
			}
		}
	}
	slices.SortFunc(out, func(a, b ecn.QueueMarking) int {
		return (int(a.Port)-int(b.Port))<<8 + int(a.Queue) - int(b.Queue)
	})
	return slices.CompactFunc(out, func(a, b ecn.QueueMarking) bool { return a.Port == b.Port && a.Queue == b.Queue })
}

// markingOf is the rule by which a profile marks packets of RoCE, which are green; false where it marks none.
func markingOf(f fields) (ecn.Marking, bool) {
	if !f.marks("green") {
		return ecn.Marking{}, false
	}
	first := func(names ...string) (int64, bool) {
		for _, n := range names {
			if v, ok := f.count(n); ok {
				return v, true
			}
		}
		return 0, false
	}
	low, ok := first("ecn_green_min_threshold", "green_min_threshold")
	high, ok2 := first("ecn_green_max_threshold", "green_max_threshold")
	percent, given := first("ecn_green_mark_probability", "green_drop_probability")
	if !given {
		percent = ecn.MaxPercent
	}
	return ecn.Marking{Min: low, Max: high, PMaxPct: int(percent)}, ok && ok2
}

var (
	errReadOnlySwitch = gnmitree.Errorf(codes.Unimplemented, "GNMI_NATIVE_WRITE is not enabled on this switch")
	errReload         = errors.New("to load a whole configuration, delete the root and update it with one")
)

// set carries out the operations of a request on the configuration as one patch: all or none.
func (w *Switch) set(_ context.Context, ops []gnmitree.Operation, names func(gnmitree.Path) []string) error {
	if w.o.ReadOnly {
		return errReadOnlySwitch
	}
	patch := make([]change, len(ops))
	for i, op := range ops {
		var err error
		if patch[i], err = patchOf(op, names(op.Path)); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	after, err := w.patched(patch)
	if err != nil && w.trouble.Plain {
		return gnmitree.Errorf(codes.Unknown, "%v", err)
	}
	if err != nil {
		return err
	}
	w.commit(after, true)
	return nil
}

// patched is the configuration after a patch. The caller holds the lock.
func (w *Switch) patched(patch []change) (database, error) {
	after := w.running.clone()
	if len(patch) > 0 && patch[0].op == patchRemove && len(patch[0].path) == 0 {
		if len(patch) != 2 || len(patch[1].path) != 0 || patch[1].op == patchRemove {
			return nil, gnmitree.Errorf(codes.InvalidArgument, "%v", errReload)
		}
		after = patch[1].to.clone()
		return after, (&schema{rules: w.rules, d: after}).check()
	}
	if w.trouble.Partial && len(patch) > 0 {
		w.trouble.Partial = false
		patch = patch[:len(patch)/2]
	}
	for i := range patch {
		c := &patch[i]
		if len(c.path) == 0 && c.op == patchRemove {
			return nil, gnmitree.Errorf(codes.InvalidArgument, "%v", errReload)
		}
		if err := w.guard(c, after); err != nil {
			return nil, err
		}
		if err := after.apply(c); err != nil {
			return nil, err
		}
	}
	w.clamp(after)
	return after, (&schema{rules: w.rules, d: after, was: w.running}).check()
}

// clamp cuts thresholds, if the switch does that.
func (w *Switch) clamp(d database) {
	if w.trouble.MostThreshold <= 0 {
		return
	}
	for _, f := range d[wredTable] {
		for _, name := range []string{"green_min_threshold", "green_max_threshold", "ecn_green_min_threshold", "ecn_green_max_threshold"} {
			if v, ok := f.count(name); ok && v > w.trouble.MostThreshold {
				f[name] = strconv.FormatInt(w.trouble.MostThreshold, 10)
			}
		}
	}
}

// commit makes a configuration the running one, and tells who needs to know. The caller holds the lock.
func (w *Switch) commit(after database, save bool) {
	differs := difference(w.running, after)
	w.running = after
	if save {
		w.saved = after.clone()
	}
	if now := w.effective(); !slices.Equal(now, w.marking) {
		w.marking = now
		w.o.Plane.Configure(now)
	}
	if now := w.servicePorts(); !slices.Equal(now, w.service) {
		w.service = now
		w.o.Plane.ConfigurePorts(now)
	}
	if len(differs) > 0 {
		for _, tell := range w.changed {
			tell(differs)
		}
	}
}
