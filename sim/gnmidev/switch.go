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
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
)

// Dialect is the data model that a switch uses over gNMI.
type Dialect uint8

// Dialects.
const (
	// SONiC is the community's server: databases by origin sonic-db; a change of the configuration is one patch that is
	// validated, guarded and applied as a whole. The older form, in which the target is a database, is also supported: targets
	// are named "<switch>/<database>", or only by the database if the switch is the only device.
	SONiC Dialect = iota
	// OpenConfig is the model openconfig-qos, as in SONiC editions of vendors. It changes the same configuration, without a
	// guard.
	OpenConfig
)

// SwitchOptions describe a switch.
type SwitchOptions struct {
	Dialect Dialect
	Ports   []SwitchPort // ports from port 1 on; 1 to 254 ports
	Plane   SwitchPlane  // nil means a switch without traffic
	// Marking is the marking in the initial configuration, with one profile for each different marking; the first is named
	// AZURE_LOSSLESS. Nil selects the result of the data plane's method Default if it has one, and otherwise SONiC's default
	// AZURE_LOSSLESS on queue 3 of all ports.
	Marking []ecn.QueueMarking
	// Classes provisions the initial configuration for classes of traffic: each has its DSCP in the maps, pause and marking on every port, and a
	// scheduler for each port and class, named fairlane_<port>_<queue>, of weight 10. At most 7; empty means one class, DSCP 26 in queue 3.
	Classes []qos.TrafficClass
	// Config is an initial configuration as config_db.json that replaces the default one.
	Config []byte
	// ASIC and Build are the inputs of the guard list: a family such as "spc4" or "th3", and the date of the image, such as
	// 20241100. Empty and 0 select Spectrum-4 and a new enough image.
	ASIC  string
	Build int
	// Guard is the generation of the guard list.
	Guard GuardList
	// Unguarded disables the guard, as if the operator had extended the guard list: all RDMA tables can be changed.
	Unguarded bool
	// ReadOnly means that native write is not enabled.
	ReadOnly bool
	// NoECNCounters means that the ASIC does not count marked packets by queue.
	NoECNCounters bool
	// QueuePolling is the initial polling interval of queue counters; 0 means 10 s.
	QueuePolling time.Duration
}

// SwitchPort is a port of a switch.
type SwitchPort struct {
	Name  string // empty selects Ethernet0, Ethernet4, …
	Speed quantity.BitRate
}

// SwitchFaults are the configuration faults of a switch.
type SwitchFaults struct {
	// Partial applies only the first half, rounded down, of the next Set, and acknowledges all of it.
	Partial bool
	// MostThreshold silently limits marking thresholds, in bytes; 0 means no limit.
	MostThreshold int64
	// Plain makes the updater's errors reach the client without a specific code, as in some server releases.
	Plain bool
	// Idle makes the ASIC keep its schedulers: changes of the configuration have no effect until Heal.
	Idle bool
	// Unreadable makes queue counters unreadable from the ASIC: they are missing in the database.
	Unreadable bool
}

// Switch is a simulated switch. Its methods are safe for concurrent use.
type Switch struct {
	gate
	name  string
	o     SwitchOptions
	ports []SwitchPort
	index map[string]int // port number, from 1, by name
	rules map[string]rule
	clock func() time.Time

	mu      sync.Mutex
	running database
	saved   database
	factory database
	marking []ecn.QueueMarking // last marking passed to the plane
	service []plane.SwitchPort // current settings of the ports
	acting  table              // schedulers of the ASIC
	flaps   int                // ports that patches took down
	faults  SwitchFaults
	polls   polls
	changed []func([][2]string) // callbacks for changed entries, as TABLE and KEY
}

// databaseMark separates a switch's name from a database's, in target names of the older form.
const databaseMark = "/"

// maxPorts is the largest number of ports of a switch.
const maxPorts = 254

func modelsOf(d Dialect) []gnmitree.Model {
	if d == SONiC {
		return []gnmitree.Model{{Name: "sonic-db", Organization: "SONiC", Version: "0.1.0"}}
	}
	return []gnmitree.Model{{Name: "openconfig-qos", Organization: "OpenConfig working group", Version: "2.2.0"}}
}

// AddSwitch adds a switch to the server. It returns an error for a name that is in use, for options out of range and for an
// invalid configuration.
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
	s.dialects[o.Dialect] = true
	return w, nil
}

// served is a device whose tree always exists.
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
		return nil, fmt.Errorf("queue polling interval %s, want 0 or more", o.QueuePolling)
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
	if o.Guard > Guard2026 {
		return nil, fmt.Errorf("guard list %d, want %d or %d", o.Guard, Guard2025, Guard2026)
	}
	if err := checkClasses(o.Classes); err != nil {
		return nil, err
	}
	if d, ok := o.Plane.(interface{ Default() []ecn.QueueMarking }); ok && o.Marking == nil {
		o.Marking = byClass(d.Default(), o.Classes)
	}
	w := &Switch{name: name, o: o, ports: slices.Clone(o.Ports), index: map[string]int{}, rules: rules, clock: clock}
	for i := range w.ports {
		p := &w.ports[i]
		if p.Name == "" {
			p.Name = "Ethernet" + strconv.Itoa(4*i)
		}
		if w.index[p.Name] != 0 {
			return nil, fmt.Errorf("two ports have the name %s", p.Name)
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
	w.acting = w.schedulers()
	w.service = w.servicePorts()
	o.Plane.Configure(w.marking)
	o.Plane.ConfigurePorts(w.service)
	return w, nil
}

// effective returns the marking of all queues that mark, by port and queue. The caller holds the lock.
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

// markingOf returns a profile's rule for RoCE packets, which are green; It returns false if the profile does not mark them.
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
	errReload         = errors.New("to load a whole configuration, delete the root and update it with the configuration")
)

// set applies the operations of a request to the configuration as one patch: all of them or none.
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
	if err != nil && w.faults.Plain {
		return gnmitree.Errorf(codes.Unknown, "%v", err)
	}
	if err != nil {
		return err
	}
	w.flaps += w.takesDown(difference(w.running, after))
	w.commit(after, true)
	return nil
}

// patched returns the configuration after a patch. The caller holds the lock.
func (w *Switch) patched(patch []change) (database, error) {
	after := w.running.clone()
	if len(patch) > 0 && patch[0].op == patchRemove && len(patch[0].path) == 0 {
		if len(patch) != 2 || len(patch[1].path) != 0 || patch[1].op == patchRemove {
			return nil, gnmitree.Errorf(codes.InvalidArgument, "%v", errReload)
		}
		after = patch[1].to.clone()
		return after, (&schema{rules: w.rules, d: after}).check()
	}
	if w.faults.Partial && len(patch) > 0 {
		w.faults.Partial = false
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

// clamp limits thresholds, if the switch has this fault.
func (w *Switch) clamp(d database) {
	if w.faults.MostThreshold <= 0 {
		return
	}
	for _, f := range d[wredTable] {
		for _, name := range []string{"green_min_threshold", "green_max_threshold", "ecn_green_min_threshold", "ecn_green_max_threshold"} {
			if v, ok := f.count(name); ok && v > w.faults.MostThreshold {
				f[name] = strconv.FormatInt(w.faults.MostThreshold, 10)
			}
		}
	}
}

// commit makes a configuration the running one, and notifies data plane and subscribers. The caller holds the lock.
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
	if !w.faults.Idle {
		w.acting = w.schedulers()
	}
	if now := w.servicePorts(); !slices.Equal(now, w.service) {
		w.service = now
		w.o.Plane.ConfigurePorts(now)
	}
	if len(differs) > 0 {
		for _, notify := range w.changed {
			notify(differs)
		}
	}
}
