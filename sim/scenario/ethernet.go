package scenario

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/dci"
	"fairlane/sim/ether"
	"fairlane/sim/workload"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Ethernet is the part of a scenario that exists only on Ethernet.
type Ethernet struct {
	// Classes are the traffic classes that the devices of a live fabric are provisioned for. Flows of a run use none of them.
	Classes []qos.TrafficClass
	// Model is the configuration of the network, without the values that Build adds: the seed, the algorithms, the buffers of
	// single switches and the WRCC settings of ports.
	Model    ether.Config
	Threads  int            // threads of a run, 1 to MaxThreads (SetThreads); 0 means 1
	Buffers  []SwitchBuffer // the first entry that matches a switch is its buffer
	Controls []Control      // congestion controls that flows can select; the first is the default
	WRCC     *WRCC          // switches that compute fair rates; nil means none
	BiCC     *BiCC          // switches between data centres that run BiCC; nil means none
	// ToDuration runs to the duration of the scenario even if all flows have completed earlier.
	ToDuration bool
	Sample     quantity.Picoseconds // interval of queue samples
	freeSample bool                 // the file does not set Sample, so it grows with the duration
	Flows      []EtherFlow
	Workload   []Generator
	Series     *Series // time series of a run with a SeriesRecorder; nil means none
	// SizeBins are the upper limits, in bytes, of the bins by flow size; empty means decades.
	SizeBins []int64

	preset  string  // preset of the model
	open    Opener  // opens trace files; nil rejects them
	numbers []int32 // hosts by their numbers in traces, -1 means no host; nil means equal numbers
}

// SwitchBuffer is the buffer of the switches whose name matches a pattern of path.Match.
type SwitchBuffer struct {
	Pattern string
	Buffer  ether.Buffer
}

// Control is a congestion control with its parameters, and the name by which flows select it.
type Control struct {
	Name      string // by default the algorithm's name
	Algorithm string // as in cc.Specs
	Values    cc.Values
}

// WRCC holds the settings of switches that compute fair rates. Zero fields have S0's defaults for the rate of each port
// (wrcc.DefaultParams); for flows with weights, Fmin and Fmax are derived from the weights (wrcc.Derive).
type WRCC struct {
	Period       quantity.Picoseconds // WRCCT, the sampling period
	Fmin, Fmax   quantity.BitRate     // fair rate limits for a flow of weight 1
	TargetPct    int                  // Btar, percent of the port's rate
	RateRatioPct int
	QRatioPct    int
	Lambda       float64
}

// params returns the settings of a port for flows without weights.
func (w *WRCC) params(_ subnet.PortRef, rate quantity.BitRate) wrcc.Params {
	p := wrcc.DefaultParams(rate, w.Period)
	set(&p.Fmin, w.Fmin)
	set(&p.Fmax, w.Fmax)
	set(&p.RateRatioPct, w.RateRatioPct)
	set(&p.QRatioPct, w.QRatioPct)
	set(&p.Lambda, w.Lambda)
	if w.TargetPct > 0 {
		p.Target = rate / 100 * quantity.BitRate(w.TargetPct)
	}
	return p
}

// BiCC holds the settings of switches between data centres. Zero fields have defaults derived from rates and round trip times
// (dci.DefaultConfig).
type BiCC struct {
	Switches       string // pattern of switch names; empty selects every switch with a link to another data centre
	VOQs           int
	CNPInterval    quantity.Picoseconds
	NoticeBytes    int64
	NoticeInterval quantity.Picoseconds
}

// build selects the switches.
func (b *BiCC) build(f *subnet.Fabric) *ether.DCI {
	d := &ether.DCI{Params: func(_ int32, def dci.Config) dci.Config {
		set(&def.VOQs, b.VOQs)
		set(&def.CNPInterval, b.CNPInterval)
		set(&def.NoticeBytes, b.NoticeBytes)
		set(&def.NoticeInterval, b.NoticeInterval)
		return def
	}}
	for _, sw := range f.Switches() {
		if ok, _ := path.Match(b.Switches, f.Nodes[sw].Name); ok {
			d.Nodes = append(d.Nodes, sw)
		}
	}
	return d
}

func set[T comparable](v *T, given T) {
	var zero T
	if given != zero {
		*v = given
	}
}

// EtherFlow represents flows between given hosts: one entry of the list flows in a file, for one source.
type EtherFlow struct {
	Tenant      int // index in Scenario.Tenants
	Control     uint16
	Class       uint8
	Src, Dst    int32 // hosts, by number
	Bytes       int64 // payload of each flow; 0 means unlimited
	Start, Stop quantity.Picoseconds
	Demand      quantity.BitRate
	Count       int // number of identical flows
}

// Hosts returns the host ports on Ethernet, in the order of their numbers: the linked ports of nodes that are not switches.
func Hosts(f *subnet.Fabric) []subnet.PortRef {
	var out []subnet.PortRef
	for i := range f.Nodes {
		if f.Nodes[i].Kind == subnet.KindSwitch {
			continue
		}
		for p := range f.Nodes[i].Ports {
			if f.Nodes[i].Ports[p].Link >= 0 {
				out = append(out, subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)})
			}
		}
	}
	return out
}

// Hooks are callbacks of a built network. Each may be nil.
type Hooks struct {
	Done func(ether.Done)
	// RTT returns the callback for round trip times in one part of the fabric. Parts run concurrently. Without threads there is
	// only part 0.
	RTT func(part int) func(ether.FlowRef, quantity.Picoseconds)
	// Pause returns the callback for pauses of a part.
	Pause func(part int) func(ether.Pause)
}

// Simulation is a built Ethernet scenario: the network with its traffic.
type Simulation struct {
	Network
	feed  *feed
	files []io.Closer
}

// BuildEthernet builds the network with all its traffic, which is generated during the run. Call Close after use. It returns an
// error for an InfiniBand scenario.
func (s *Scenario) BuildEthernet(h Hooks) (*Simulation, error) {
	if err := s.ReadTraces(); err != nil {
		return nil, err
	}
	sim, err := s.buildEthernet(h)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return sim, nil
}

func (s *Scenario) buildEthernet(h Hooks) (*Simulation, error) {
	e := s.Ethernet
	if e == nil {
		return nil, errors.New("plane infiniband: want ethernet")
	}
	sim := &Simulation{feed: &feed{s: s, unit: s.weights().unit, jobFlows: make(map[int64]jobFlow), origins: make(map[int64]Origin), tags: s.TagColumns()}}
	n, err := s.network(func(part int) (ether.Config, error) {
		cfg, err := s.config(sim.feed.onDone(h.Done))
		if h.RTT != nil && err == nil {
			cfg.OnRTT = h.RTT(part)
		}
		if h.Pause != nil && err == nil {
			cfg.OnPause = h.Pause(part)
		}
		return cfg, err
	})
	if err != nil {
		return nil, withRemedy(err)
	}
	sim.Network = n
	if err := sim.addTraffic(s); err != nil {
		return nil, errors.Join(err, sim.Close())
	}
	return sim, nil
}

// withRemedy adds to the error for a buffer that is too small the key of a scenario that sets it. Long links need much
// headroom, so the default buffer of a switch between data centres is too small.
func withRemedy(err error) error {
	var small *ether.BufferError
	if !errors.As(err, &small) {
		return err
	}
	pattern := small.Switch
	if strings.HasSuffix(pattern, "-dci") {
		pattern = "*-dci" // the switch at the other end has the same link
	}
	return fmt.Errorf("%w; set `model.buffers: [{switches: %q, bytes: N}]`, where N is %d plus the bytes that its queues may hold", err, pattern, small.Least)
}

// config returns the configuration of a network, or of a part of one, with separate algorithm instances.
func (s *Scenario) config(done func(ether.Done)) (ether.Config, error) {
	e := s.Ethernet
	cfg := e.Model
	cfg.Seed = s.Config.Seed
	cfg.OnDone = done
	cfg.Algorithms = nil
	for _, c := range e.Controls {
		a, err := c.build()
		if err != nil {
			return cfg, err
		}
		cfg.Algorithms = append(cfg.Algorithms, a)
	}
	cfg.Buffers = e.SwitchBuffers(s.Fabric)
	if e.WRCC != nil {
		var err error
		if cfg.FairRate, err = e.WRCC.fairRate(s.Fabric, s.weights()); err != nil {
			return cfg, err
		}
	}
	if e.BiCC != nil {
		cfg.DCI = e.BiCC.build(s.Fabric)
	}
	return cfg, nil
}

func (c *Control) build() (cc.Algorithm, error) {
	spec, err := cc.ByName(c.Algorithm)
	if err != nil {
		return nil, err
	}
	return spec.Build(c.Values)
}

// SwitchBuffers returns the buffers of single switches, by node; nil means none.
func (e *Ethernet) SwitchBuffers(f *subnet.Fabric) map[int32]ether.Buffer {
	if len(e.Buffers) == 0 {
		return nil
	}
	out := make(map[int32]ether.Buffer)
	for _, sw := range f.Switches() {
		for _, b := range e.Buffers {
			if ok, _ := path.Match(b.Pattern, f.Nodes[sw].Name); ok {
				out[sw] = b.Buffer
				break
			}
		}
	}
	return out
}

// addTraffic opens the sources of flows and passes the first flows to the network.
func (sim *Simulation) addTraffic(s *Scenario) error {
	e := s.Ethernet
	sim.feed.n = sim.Network
	sim.feed.addFlows(e.Flows)
	for i := range e.Workload {
		g := &e.Workload[i]
		if g.Kind == KindTrace {
			f, err := e.openTrace(g.File)
			if err != nil {
				return err
			}
			sim.files = append(sim.files, f)
			src, err := s.newTrace(f, g)
			if err != nil {
				return err
			}
			sim.feed.addStream(g, src)
			continue
		}
		src, job, err := g.build(s)
		switch {
		case err != nil:
			return err
		case job != nil:
			sim.feed.addJob(g, job)
		default:
			sim.feed.addStream(g, src)
		}
	}
	return sim.feed.begin()
}

func (e *Ethernet) openTrace(name string) (io.ReadCloser, error) {
	if e.open == nil {
		return nil, fmt.Errorf("trace %q: files cannot be read here", name)
	}
	f, err := e.open(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return f, nil
}

// Err returns the error that ended the traffic early: an error in a trace, or a flow that the network rejected.
func (sim *Simulation) Err() error { return errors.Join(sim.feed.err(), sim.Network.Err()) }

// Collectives returns the collectives of the traffic, in the order of the scenario.
func (sim *Simulation) Collectives() []*workload.Collective {
	var out []*workload.Collective
	for _, j := range sim.feed.jobs {
		if c, ok := j.Reactive.(*workload.Collective); ok {
			out = append(out, c)
		}
	}
	return out
}

// Origin returns the trace's data of an active flow, and of a flow that completes during Hooks.Done. False means that the flow
// is not from a trace.
func (sim *Simulation) Origin(id int64) (Origin, bool) {
	o, ok := sim.feed.origins[id]
	return o, ok
}

// Close closes the files of traces.
func (sim *Simulation) Close() error {
	var errs []error
	for _, f := range sim.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
