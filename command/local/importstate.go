package local

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// Kinds of texts that import reads.
const (
	kindMlxconfig = "mlxconfig" // mlxconfig or mstconfig, of a NIC
	kindDCB       = "dcb"       // dcb -j, of a port
	kindEthtool   = "ethtool"   // ethtool -S, of a port
	kindSONiC     = "sonic"     // config_db.json, of a switch
)

// importSource is one text of one device.
type importSource struct {
	device string
	port   int // 0: the device
	kind   string
	path   string
}

// parseImportSource reads DEVICE=KIND:FILE, where the device of a text about one port is DEVICE/P2.
func parseImportSource(text string) (importSource, error) {
	device, rest, ok := strings.Cut(text, "=")
	kind, path, has := strings.Cut(rest, ":")
	if !ok || !has || device == "" || path == "" {
		return importSource{}, usage.Of(phrase.Of("import.form", "source", strconv.Quote(text)))
	}
	s := importSource{device: device, kind: kind, path: path}
	if at := strings.LastIndex(device, "/P"); at > 0 {
		n, err := strconv.Atoi(device[at+2:])
		if err != nil || n < 1 || n > nicparam.MaxPorts {
			return s, usage.Of(phrase.Of("import.port", "source", strconv.Quote(text), "port", strconv.Quote(device[at+1:]), "max", nicparam.MaxPorts))
		}
		s.device, s.port = device[:at], n
	}
	ofPort, known := map[string]bool{kindMlxconfig: false, kindSONiC: false, kindDCB: true, kindEthtool: true}[kind]
	switch {
	case !known:
		return s, usage.Of(phrase.Of("import.kind", "source", strconv.Quote(text), "kind", strconv.Quote(kind), "want", phrase.Of("list.or", "list", []string{kindMlxconfig, kindDCB, kindEthtool}, "last", kindSONiC)))
	case ofPort && s.port == 0:
		return s, usage.Of(phrase.Of("import.of-port", "source", strconv.Quote(text), "kind", kind, "device", device))
	case !ofPort && s.port != 0:
		return s, usage.Of(phrase.Of("import.of-device", "source", strconv.Quote(text), "kind", kind, "device", s.device))
	}
	return s, nil
}

// importedDevice is the state of one device according to its texts.
type importedDevice struct {
	name     string
	state    adopt.State
	counters map[int]niccount.Counters // by port
}

// widest returns the table of devices with all capabilities: an imported device may hold values that others do not
// support.
func widest() *nicparam.Table {
	return nicparam.New(nicparam.Caps{Limits: dcqcn.Limits{Rate32: true, UndocumentedGD: true}, GeneralCC: true, NewNV: true, Switchdev: true, TCRates: true, VFRates: true})
}

// readImports reads all texts and groups them by device, by name.
func readImports(texts []string) ([]*importedDevice, error) {
	byName := map[string]*importedDevice{}
	for _, text := range texts {
		s, err := parseImportSource(text)
		if err != nil {
			return nil, err
		}
		b, err := cmdline.ReadFile(phrase.Verbatim(s.kind), s.path, adopt.MaxBytes)
		if err != nil {
			return nil, err
		}
		d := byName[s.device]
		if d == nil {
			d = &importedDevice{name: s.device, counters: map[int]niccount.Counters{}}
			byName[s.device] = d
		}
		if err := d.read(s, string(b)); err != nil {
			return nil, usage.Wrap(fmt.Errorf("%s: %w", s.device, err))
		}
	}
	out := slices.Collect(maps.Values(byName))
	slices.SortFunc(out, func(a, b *importedDevice) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// read adds one text.
func (d *importedDevice) read(s importSource, text string) error {
	var state *adopt.State
	var err error
	switch s.kind {
	case kindMlxconfig:
		state, err = adopt.Mlxconfig(s.path, text, widest())
	case kindDCB:
		state, err = adopt.DCBState(s.path, text, s.port)
	case kindSONiC:
		state, err = adopt.SONiC(s.path, text)
	default:
		if state, err = adopt.Ethtool(s.path, text); err != nil {
			return err
		}
		d.counters[s.port] = state.Counters
		state.Counters = nil // those of one port would hide those of the next
	}
	if err != nil {
		return err
	}
	return d.state.Merge(state)
}

// imported is the result of import for JSON.
type imported struct {
	NICs     []importedNIC    `json:"nics"`
	Switches []importedSwitch `json:"switches"`
	Policy   importedPolicy   `json:"policy"`
	Drift    []importedDrift  `json:"drift,omitempty"`
	Plan     string           `json:"plan,omitempty"` // that the drift refers to
	Warnings []string         `json:"warnings,omitempty"`
}

// importedNIC is a NIC's parameters and counters.
type importedNIC struct {
	Device   string            `json:"device"`
	Params   []importedParam   `json:"params"`
	Counters []importedCounter `json:"counters,omitempty"`
	Unknown  []string          `json:"unknown,omitempty"` // unknown names; their values are not changed
}

// importedParam is one parameter in effect.
type importedParam struct {
	Port  int    `json:"port"` // 0: the card
	Name  string `json:"name"`
	Index int    `json:"index,omitempty"`
	Value uint64 `json:"value"`
	// Next is the value after a firmware reset, if it differs.
	Next    *uint64          `json:"next,omitempty"`
	Unit    string           `json:"unit,omitempty"`
	Default *uint64          `json:"default,omitempty"`
	By      nicparam.Backend `json:"by"`
	File    string           `json:"file"`
	Line    int              `json:"line,omitempty"`
}

// importedCounter is one counter, or the reason why it has no value.
type importedCounter struct {
	Port    int     `json:"port"`
	Name    string  `json:"name"`
	Value   *uint64 `json:"value,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// nic lists the parameters and counters of a NIC.
func (d *importedDevice) nic() importedNIC {
	out := importedNIC{Device: d.name, Params: []importedParam{}}
	table := widest()
	for _, s := range d.state.Start() {
		p, _ := table.Find(s.Name)
		row := importedParam{Port: s.Port, Name: s.Name, Index: s.Index, Value: s.Value, Unit: p.Unit}
		if p.Known {
			row.Default = &p.Default
		}
		for _, f := range d.state.Settings {
			if f.Key == s.Key && f.Stage == adopt.StageCurrent && f.Value == s.Value {
				row.By, row.File, row.Line = f.By, f.File, f.Line
			}
		}
		if next, ok := d.state.Value(s.Key, adopt.StageNext); ok && next != s.Value {
			row.Next = &next
		}
		out.Params = append(out.Params, row)
	}
	for _, u := range d.state.Unknown {
		out.Unknown = append(out.Unknown, u.Name)
	}
	for _, port := range slices.Sorted(maps.Keys(d.counters)) {
		for _, name := range slices.Sorted(maps.Keys(d.counters[port])) {
			read := d.counters[port][name]
			c := importedCounter{Port: port, Name: name, Value: &read.Value}
			if read.Err != nil {
				c.Value, c.Problem = nil, read.Err.Error()
			}
			out.Counters = append(out.Counters, c)
		}
	}
	return out
}

// importedSwitch is the quality-of-service configuration of a switch.
type importedSwitch struct {
	Device string               `json:"device"`
	File   string               `json:"file"`
	Queues []importedQueue      `json:"queues"`
	Ports  []importedSwitchPort `json:"ports"`
}

// importedQueue is one queue.
type importedQueue struct {
	Port      string  `json:"port"`
	Number    int     `json:"number,omitempty"` // of the port on the device
	Queue     int     `json:"queue"`
	Scheduler string  `json:"scheduler,omitempty"` // DWRR, WRR or STRICT
	Weight    int     `json:"weight,omitempty"`
	Share     float64 `json:"share_percent,omitempty"` // share of the rest after strict queues, if all weighted queues are full
	Profile   string  `json:"profile,omitempty"`
	MinBytes  *int64  `json:"min_bytes,omitempty"`
	MaxBytes  *int64  `json:"max_bytes,omitempty"`
	PMaxPct   *int    `json:"p_max_percent,omitempty"`
}

// importedSwitchPort is the pause and the maps of a port.
type importedSwitchPort struct {
	Port   string         `json:"port"`
	Number int            `json:"number,omitempty"`
	PFC    []int          `json:"pfc"` // priorities with pause; null if the file does not list them
	Queues map[string]int `json:"queue_of_dscp,omitempty"`
}

// sw lists the queues and ports of a switch.
func (d *importedDevice) sw() importedSwitch {
	s := d.state.Switch
	out := importedSwitch{Device: d.name, File: s.File, Queues: []importedQueue{}, Ports: []importedSwitchPort{}}
	sums := map[string]int{}
	for _, q := range s.Queues {
		if q.Scheduler != nil && q.Scheduler.Type != "STRICT" {
			sums[q.Port] += max(q.Scheduler.Weight, 1)
		}
	}
	for _, q := range s.Queues {
		row := importedQueue{Port: q.Port, Number: s.Number(q.Port), Queue: q.Number, Profile: q.Profile}
		if q.Scheduler != nil {
			row.Scheduler, row.Weight = q.Scheduler.Type, q.Scheduler.Weight
			if q.Scheduler.Type != "STRICT" {
				row.Share = 100 * float64(max(q.Scheduler.Weight, 1)) / float64(sums[q.Port])
			}
		}
		if m := q.Marking; m != nil {
			row.MinBytes, row.MaxBytes, row.PMaxPct = &m.Min, &m.Max, &m.PMaxPct
		}
		out.Queues = append(out.Queues, row)
	}
	for _, p := range s.Ports {
		row := importedSwitchPort{Port: p.Name, Number: s.Number(p.Name), Queues: map[string]int{}}
		for prio := range 8 {
			if p.PFC>>prio&1 != 0 {
				row.PFC = append(row.PFC, prio)
			}
		}
		if p.PFCKnown && row.PFC == nil {
			row.PFC = []int{}
		}
		for dscp, class := range p.Classes {
			if queue, ok := p.Outputs[class]; ok {
				row.Queues[strconv.Itoa(dscp)] = queue
			}
		}
		out.Ports = append(out.Ports, row)
	}
	slices.SortStableFunc(out.Queues, func(a, b importedQueue) int { return cmp.Compare(a.Number, b.Number) })
	return out
}
