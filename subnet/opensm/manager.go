package opensm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
)

// OpenSM's default paths.
const (
	DefaultOptions    = "/etc/opensm/opensm.conf"
	DefaultPartitions = "/etc/opensm/partitions.conf"
	DefaultPolicy     = "/etc/opensm/qos-policy.conf"
)

// Defaults of Config.
const (
	DefaultProofTimeout = 30 * time.Second
	DefaultPairs        = 3
	maxPairs            = 100
)

// Config selects the OpenSM of a Manager. The zero value is Debian's.
type Config struct {
	Options    string // path of opensm.conf; empty is DefaultOptions
	Partitions string // empty means the path in the options, else DefaultPartitions
	Policy     string // empty means the path in the options, else DefaultPolicy
	Settings   osmfile.Settings
	// PortGUID is the port that OpenSM runs on; 0 means the one that the process or its options name, else the only port
	// of this machine with a subnet manager.
	PortGUID ident.GUID
	// SMPorts lists the ports of this machine with a subnet manager, from the kernel; nil means none. The transport's
	// port need not be among them.
	SMPorts func() ([]ident.GUID, error)
	// ProofTimeout bounds a proof, including a sweep, and separately the proof of a roll-back: 100 ms to 10 min; 0 means
	// DefaultProofTimeout.
	ProofTimeout time.Duration
	// Pairs is the number of port pairs queried for each tenant: 1 to 100; 0 means DefaultPairs.
	Pairs int
}

func (c Config) withDefaults() (Config, error) {
	if c.Options == "" {
		c.Options = DefaultOptions
	}
	for _, p := range []string{c.Options, c.Partitions, c.Policy} {
		if p != "" && !filepath.IsAbs(p) {
			return c, fmt.Errorf("OpenSM file %q: want an absolute path", p)
		}
	}
	if c.ProofTimeout == 0 {
		c.ProofTimeout = DefaultProofTimeout
	}
	if c.ProofTimeout < 100*time.Millisecond || c.ProofTimeout > 10*time.Minute {
		return c, fmt.Errorf("proof timeout %s: want 100ms to 10m", c.ProofTimeout)
	}
	if c.Pairs == 0 {
		c.Pairs = DefaultPairs
	}
	if c.Pairs < 1 || c.Pairs > maxPairs {
		return c, fmt.Errorf("%d pairs of ports for each tenant: want 1 to %d", c.Pairs, maxPairs)
	}
	return c, nil
}

// Manager is the only writer of an OpenSM's files. It is safe for concurrent use; one Apply runs at a time.
type Manager struct {
	cfg       Config
	files     Files
	reload    Reloader
	transport mad.Transport
	mu        sync.Mutex
}

// New returns the Manager of an OpenSM. It needs files, reload and transport; the transport is attached to the fabric
// that OpenSM manages.
func New(cfg Config, files Files, reload Reloader, transport mad.Transport) (*Manager, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if files == nil || reload == nil || transport == nil {
		return nil, errors.New("want files, a reloader and a transport")
	}
	return &Manager{cfg: cfg, files: files, reload: reload, transport: transport}, nil
}

// Phase is a step towards the desired state.
type Phase string

// Phases.
const (
	// PhasePrepare adds new entries and removes none, before traffic uses them.
	PhasePrepare Phase = "prepare"
	// PhaseFinish makes the files hold exactly the desired state, after traffic has moved. It is the meaning of the zero
	// Phase too.
	PhaseFinish Phase = "finish"
)

// State is the state of an OpenSM.
type State struct {
	Observation osmfile.Observation `json:"observation"`
	Partitions  []osmfile.Partition `json:"partitions"` // in Fairlane's part of the file, by P_Key
	// Problems are the problems of the current files, independent of a desired state.
	Problems []osmfile.Problem `json:"problems,omitempty"`
}

// Read returns the content of the files and the master. When the observation of the fabric fails, it returns an error and
// a State that is valid otherwise.
func (m *Manager) Read(ctx context.Context) (State, error) {
	texts, err := m.texts()
	if err != nil {
		return State{}, err
	}
	ours := osmfile.Ours(texts)
	set := m.cfg.Settings
	set.LeaveOptions, set.LeavePolicy = true, true
	s := State{Partitions: ours, Problems: osmfile.Compose(texts, osmfile.Desired{Partitions: ours}, set).Problems}
	s.Observation, err = m.observe(ctx, texts)
	return s, err
}

// Observe returns the part of Read that CauseOf compares.
func (m *Manager) Observe(ctx context.Context) (osmfile.Observation, error) {
	texts, err := m.texts()
	if err != nil {
		return osmfile.Observation{}, err
	}
	return m.observe(ctx, texts)
}

// observe combines the state of the fabric, of the files and of the process.
func (m *Manager) observe(ctx context.Context, t osmfile.Texts) (osmfile.Observation, error) {
	o, err := observeSM(ctx, m.transport)
	if err == nil {
		o.Own, o.UnknownMaster = m.ownPort(ctx, t, o.GUID)
		if o.Foreign = o.Own != 0 && o.Own != o.GUID; o.Foreign {
			return o, nil
		}
	}
	o.Options, o.Partitions, o.Policy = osmfile.Digest(t.Options.Data), osmfile.Digest(t.Partitions.Data), osmfile.Digest(t.Policy.Data)
	o.WritesCC = osmfile.ReadOptions(t.Options.Data).Bool("congestion_control")
	process, unknown := m.reload.Process(ctx)
	if o.Process = process; unknown != nil {
		o.NoProcess = unknown.Error()
	}
	return o, err
}

// Preview describes what an Apply would do.
type Preview struct {
	Problems    []osmfile.Problem `json:"problems,omitempty"`
	Differences []string          `json:"differences,omitempty"` // one for each file that would change
}

// Diff returns what Apply would write, without writing.
func (m *Manager) Diff(ctx context.Context, d osmfile.Desired, phase Phase) (Preview, error) {
	w, err := m.compose(ctx, d, phase)
	if err != nil {
		return Preview{}, err
	}
	return Preview{Problems: w.change.Problems, Differences: w.differences()}, nil
}

// work is a desired state being composed into the files.
type work struct {
	texts  osmfile.Texts
	change osmfile.Change
	want   osmfile.Desired // of the phase
	before osmfile.Observation
}

func (w *work) differences() []string {
	var out []string
	cur, next := w.texts, w.change.Next
	for i, t := range cur.Each() {
		if d := osmfile.Difference(t.Path, t.Data, next.Each()[i].Data); d != "" {
			out = append(out, d)
		}
	}
	return out
}

// compose reads the files and composes the desired state into them.
func (m *Manager) compose(ctx context.Context, d osmfile.Desired, phase Phase) (*work, error) {
	switch phase {
	case PhasePrepare, PhaseFinish, "":
	default:
		return nil, fmt.Errorf("phase %q: want %s or %s", phase, PhasePrepare, PhaseFinish)
	}
	texts, err := m.texts()
	if err != nil {
		return nil, err
	}
	w := &work{texts: texts, want: d}
	if phase == PhasePrepare {
		w.want = osmfile.Prepare(texts, d)
	}
	w.change = osmfile.Compose(texts, w.want, m.cfg.Settings)
	if w.before, err = m.observe(ctx, texts); err != nil {
		return nil, err
	}
	if p := masterProblem(w.before, texts.Options.Path); p != nil {
		w.change.Problems = append([]osmfile.Problem{*p}, w.change.Problems...)
	}
	return w, nil
}

// masterProblem reports that the master is another subnet manager, or that the master's files are unknown; nil when the
// master reads these files.
func masterProblem(o osmfile.Observation, options string) *osmfile.Problem {
	switch {
	case o.Foreign:
		return &osmfile.Problem{
			Code: osmfile.CodeNotMaster, File: options,
			Text:   fmt.Sprintf("these are the files of the subnet manager on %s, and the master is the one on %s, which does not read them", o.Own, o.GUID),
			Remedy: "write the master's files, and these as a standby's",
		}
	case o.UnknownMaster != "":
		return &osmfile.Problem{
			Code: osmfile.CodeMasterUnknown, File: options, Warning: true,
			Text:   fmt.Sprintf("the master is the subnet manager on %s, and it is unknown whether these are its files: %s", o.GUID, o.UnknownMaster),
			Remedy: "set guid in OpenSM's options to the port it runs on",
		}
	}
	return nil
}

// texts reads the three files.
func (m *Manager) texts() (osmfile.Texts, error) {
	var t osmfile.Texts
	var err error
	if t.Options, err = m.files.Read(m.cfg.Options); err != nil {
		return t, fmt.Errorf("read OpenSM's options: %w", err)
	}
	o := osmfile.ReadOptions(t.Options.Data)
	if t.Partitions, err = m.file(m.cfg.Partitions, o, "partition_config_file", DefaultPartitions); err != nil {
		return t, fmt.Errorf("read OpenSM's partitions: %w", err)
	}
	if t.Policy, err = m.file(m.cfg.Policy, o, "qos_policy_file", DefaultPolicy); err != nil {
		return t, fmt.Errorf("read OpenSM's QoS policy: %w", err)
	}
	return t, nil
}

// file reads the configured file, else the one in the option, else OpenSM's default.
func (m *Manager) file(path string, o osmfile.Options, key, otherwise string) (osmfile.Text, error) {
	if path == "" {
		path = otherwise
		if v, ok := o.Text(key); ok && v != "" {
			path = v
		}
	}
	if !filepath.IsAbs(path) {
		return osmfile.Text{}, fmt.Errorf("%s %q: want an absolute path", key, path)
	}
	t, err := m.files.Read(path)
	t.Path = path
	return t, err
}
