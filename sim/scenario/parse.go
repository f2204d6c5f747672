package scenario

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
	"fairlane/tenants"
)

// Limits of a scenario file.
const (
	MaxSize    = 4 << 20 // bytes
	maxFlows   = 100_000
	maxChanges = 10_000
	maxSamples = 100_000 // intervals of a run

	maxDuration = 1000 * quantity.Second
)

// Opener opens the fabric file that a scenario names.
type Opener func(path string) (io.ReadCloser, error)

// Parse reads a scenario. name is the file name for messages; open may be nil to reject scenarios with fabric files. An error
// is a *topofile.ParseError with file and line.
func Parse(name string, data []byte, open Opener) (*Scenario, error) {
	return ParseWith(name, data, open)
}

// ParseWith is Parse with settings that replace values of the file. The new values are checked in the same way. The error
// names the invalid setting.
func ParseWith(name string, data []byte, open Opener, settings ...Setting) (*Scenario, error) {
	s, err := read(name, data, open, settings)
	return s, settingsErr(settings, err)
}

// read is ParseWith without the settings in its errors.
func read(name string, data []byte, open Opener, settings []Setting) (*Scenario, error) {
	if len(data) > MaxSize {
		return nil, &topofile.ParseError{File: name, Field: "file size", Found: topofile.Quoted(strconv.Itoa(len(data))), Allowed: phrase.Of("scenario.want-bytes", "max", MaxSize)}
	}
	d := &document{file: name}
	root := d.parse(data)
	if root != nil {
		d.put(root, settings)
	}
	if d.plane(root) == PlaneEthernet {
		return d.ethernet(root, open)
	}
	f := d.mapping(root, "file", "plane", "name", "description", "seed", "duration", "warmup", "interval",
		"fabric", "model", "congestion_control", "groups", "tenants", "flows", "changes")
	f.need("name", "fabric", "tenants", "flows")
	s := &Scenario{
		Name: f.text("name"), Description: f.text("description"),
		Duration: f.span("duration", 100*quantity.Millisecond), Warmup: f.span("warmup", 0),
	}
	s.Interval, s.freeInterval = f.span("interval", defaultInterval(s.Duration)), !f.has("interval")
	s.checkTimes(f)
	s.Config = d.model(f.m["model"])
	s.Config.Seed = f.number("seed", 1, 0, 1<<64-1)
	s.Fabric = d.fabric(f.m["fabric"], open, true)
	d.groups(f.m["groups"], s.Fabric)
	if d.err != nil {
		return nil, d.err
	}
	s.readTenants(f)
	s.readFlows(f)
	s.CC = d.congestionControl(f.m["congestion_control"])
	s.readChanges(f)
	if d.err != nil {
		return nil, d.err
	}
	if err := tenants.Validate(s.Tenants, s.TenantFlows()); err != nil {
		return nil, &topofile.ParseError{File: name, Line: lineOf(f, err), Err: err}
	}
	s.Tenants = tenants.Attach(s.Tenants, s.TenantFlows())
	n, _, err := s.Build()
	if err != nil {
		d.failBuild(err)
		return nil, d.err
	}
	s.Fabric = n.Topology() // the topology with LIDs and routes
	return s, nil
}

// failBuild records the error of building a network, at the line of the flow that causes it, if any.
func (d *document) failBuild(err error) {
	var fe *flowError
	if errors.As(err, &fe) && fe.flow < len(d.flows) {
		d.failWith(d.flows[fe.flow], err)
		return
	}
	if d.err == nil {
		d.err = &topofile.ParseError{File: d.file, Err: err}
	}
}

// plane reads the plane of the scenario, on which all other keys depend. For a file without plane but with keys of Ethernet,
// the error says this instead of naming missing InfiniBand keys.
func (d *document) plane(root *yaml.Node) string {
	if d.err != nil || root.Kind != yaml.MappingNode {
		return PlaneInfiniBand
	}
	f := fields{d: d, node: root, m: map[string]*yaml.Node{}}
	var ethernet *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		switch key.Value {
		case "plane":
			f.m["plane"] = value
		case "until", "sample", "size_bins", "wrcc", "bicc", "workload":
			ethernet = key
		case "congestion_control":
			if value.Kind == yaml.SequenceNode {
				ethernet = key
			}
		}
	}
	if ethernet != nil && !f.has("plane") {
		d.fail(ethernet, ethernet.Value, phrase.Of("scenario.found-ethernet"), phrase.Of("scenario.want-ethernet"))
	}
	return f.word("plane", PlaneInfiniBand, PlaneEthernet)
}

// lineOf returns the line of the list with an invalid tenant or flow.
func lineOf(f fields, err error) int {
	var fe *tenants.FieldError
	if errors.As(err, &fe) && fe.Flow >= 0 {
		return f.at("flows").Line
	}
	return f.at("tenants").Line
}

func (s *Scenario) checkTimes(f fields) {
	switch {
	case s.Duration <= 0:
		f.d.fail(f.at("duration"), "duration", topofile.Quoted(s.Duration.String()), phrase.Of("scenario.want-above-0"))
	case s.Warmup >= s.Duration:
		f.d.fail(f.at("warmup"), "warmup", topofile.Quoted(s.Warmup.String()), phrase.Of("scenario.want-before-end", "duration", s.Duration))
	case s.Interval <= 0 || s.Duration/s.Interval > maxSamples:
		f.d.fail(f.at("interval"), "interval", topofile.Quoted(s.Interval.String()), phrase.Of("scenario.want-samples", "parts", maxSamples))
	}
}

// model reads the settings of the simulated fabric; fabric.New checks their ranges.
func (d *document) model(n *yaml.Node) fabric.Config {
	f := d.mapping(n, "model", "mtu", "buffer_per_vl", "ack_every", "becn", "timer", "aggregate", "marking",
		"mark_at", "mark_by", "use_window", "threshold_reference", "switch_latency", "cct_blocks", "data_vls")
	const most = 1 << 30
	c := fabric.Config{
		MTU:                int(f.number("mtu", 0, 256, 4096)),
		BufferPerVL:        int(f.number("buffer_per_vl", 0, 1, most)),
		AckEvery:           int(f.number("ack_every", 0, 1, most)),
		TimerRestart:       f.word("timer", "free-running", "restart-on-becn") == "restart-on-becn",
		Aggregate:          int(f.number("aggregate", 0, 1, most)),
		UseWindow:          f.span("use_window", 0),
		ThresholdReference: int(f.number("threshold_reference", 0, 1, most)),
		SwitchLatency:      f.span("switch_latency", 0),
		CCTBlocks:          int(f.number("cct_blocks", 0, 1, most)),
		DataVLs:            int(f.number("data_vls", 0, 1, 15)),
	}
	if f.word("becn", "ack", "cnp") == "cnp" {
		c.Becn = fabric.BecnByCNP
	}
	if f.word("marking", "random", "every-nth") == "every-nth" {
		c.Marking = fabric.MarkEveryNth
	}
	if f.word("mark_at", "arrival", "departure") == "departure" {
		c.MarkAt = fabric.MarkOnDeparture
	}
	if f.word("mark_by", "queue", "use") == "use" {
		c.MarkBy = fabric.MarkByUse
	}
	return c
}

// congestionControl reads the setting for the whole fabric; absent means off.
func (d *document) congestionControl(n *yaml.Node) *CongestionControl {
	if n == nil {
		return nil
	}
	f := d.mapping(n, "congestion_control", "threshold", "marking_rate", "packet_size", "mark_victims", "cct", "limit",
		"per_sl", "timer", "increase", "min", "trigger")
	c := &CongestionControl{Switch: ibcc.SwitchSettings{
		Threshold:   uint8(f.number("threshold", 0, 0, 15)),
		MarkingRate: uint16(f.number("marking_rate", 0, 0, 1<<16-1)),
		PacketSize:  uint8(f.number("packet_size", 0, 0, 255)),
	}}
	if f.flag("mark_victims") {
		c.Switch.VictimMask = ibcc.PortMask{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	}
	c.CA.PerSL = f.flag("per_sl")
	c.CA.Table = d.table(f.m["cct"])
	c.CA.Limit = uint16(f.number("limit", uint64(max(len(c.CA.Table), 1)-1), 0, uint64(max(len(c.CA.Table), 1)-1)))
	for sl := range c.CA.SLs {
		c.CA.SLs[sl] = slParams(f)
	}
	return c
}

func slParams(f fields) ibcc.SLParams {
	return ibcc.SLParams{
		Timer:    uint16(f.number("timer", 0, 0, 1<<16-1)),
		Increase: uint8(f.number("increase", 0, 0, 255)),
		Min:      uint8(f.number("min", 0, 0, 255)),
		Trigger:  uint8(f.number("trigger", 0, 0, 255)),
	}
}

// table reads a congestion control table as a law with parameters.
func (d *document) table(n *yaml.Node) []ibcc.Entry {
	if n == nil {
		return nil
	}
	f := d.mapping(n, "cct", "law", "entries", "ratio", "scale")
	entries := int(f.number("entries", 128, 2, 1024))
	var t []ibcc.Entry
	var err error
	if f.word("law", "geometric", "quadratic") == "quadratic" {
		t, err = ibcc.Quadratic(entries, int(f.number("scale", 1000, 1, 1_000_000)))
	} else {
		t, err = ibcc.Geometric(entries, int(f.number("ratio", 1050, ibcc.MinRatio, ibcc.MaxRatio)))
	}
	d.failWith(n, err)
	return t
}

func (s *Scenario) readTenants(f fields) {
	for _, n := range f.list("tenants", tenants.MaxTenants) {
		t := f.d.mapping(n, "tenant", "name", "weight", "pkey", "classes")
		t.need("name", "weight")
		v := tenants.Tenant{
			Name:   t.text("name"),
			Weight: scalar(t, "weight", 0, phrase.Of("scenario.want-weight"), quantity.ParseWeight),
			PKey:   scalar(t, "pkey", 0, phrase.Of("want.pkey"), ident.ParsePKey),
		}
		for _, cn := range t.list("classes", tenants.MaxClasses) {
			c := f.d.mapping(cn, "class", "name", "weight")
			c.need("name", "weight")
			v.Classes = append(v.Classes, tenants.Class{
				Name: c.text("name"), Weight: scalar(c, "weight", 0, phrase.Of("scenario.want-weight"), quantity.ParseWeight),
			})
		}
		s.Tenants = append(s.Tenants, v)
	}
}

// readFlows reads flows: one from each source to each other destination.
func (s *Scenario) readFlows(f fields) {
	for _, n := range f.list("flows", maxFlows) {
		g := f.d.mapping(n, "flow", "tenant", "class", "src", "dst", "qps", "sl", "demand", "start", "stop", "bytes")
		g.need("tenant", "src", "dst")
		proto := Flow{
			Flow: tenants.Flow{
				Tenant: g.text("tenant"), Class: g.text("class"),
				QPs: int(g.number("qps", 1, 1, tenants.MaxQPs)), Demand: g.someRate("demand"),
			},
			SL:    ident.SL(g.number("sl", 0, 0, 15)),
			Start: g.startBefore("start", s.Duration), Stop: g.span("stop", 0),
			Bytes: g.number("bytes", 0, 1, 1<<60),
		}
		from, to := s.ports(g, "src"), s.ports(g, "dst")
		g.some("src", len(from))
		g.some("dst", len(to))
		if len(s.Flows)+len(from)*len(to) > maxFlows {
			f.d.fail(f.at("flows"), "flows", topofile.Quoted(strconv.Itoa(len(s.Flows)+len(from)*len(to))), phrase.Of("want.most", "max", maxFlows))
			return
		}
		for _, src := range from {
			for _, dst := range to {
				if src == dst && len(to) > 1 {
					continue // hosts in both lists do not send to themselves
				}
				fl := proto
				fl.Src, fl.Dst = src, dst
				s.Flows, f.d.flows = append(s.Flows, fl), append(f.d.flows, n)
			}
		}
	}
}

// ports resolves hosts and ports in all supported forms, host sets and groups.
func (s *Scenario) ports(g fields, key string) []ident.PortID {
	d := g.d
	var out []ident.PortID
	seen := map[string]hostSource{}
	for _, n := range g.values(key, subnet.MaxPorts) {
		names := d.hostNames(g.path(key), n, s.Fabric)
		d.checkDistinct(seen, g.path(key), n, names)
		for _, name := range names {
			ref, err := s.Fabric.ResolvePort(name)
			if err != nil {
				d.failWith(n, noHost(g.path(key), err, s.Fabric))
				return nil
			}
			out = append(out, s.Fabric.PortID(ref))
		}
	}
	return out
}

// noHost returns the error for a name that is not a host, with examples of host names.
func noHost(field string, err error, f *subnet.Fabric) error {
	return phrase.Because(err, phrase.Of("scenario.no-host", "field", field, "reason", err, "hosts", someHosts(f)))
}

// someHosts lists a few names of hosts: the first ones and the last.
func someHosts(f *subnet.Fabric) string {
	const first = 3
	hosts := f.Hosts()
	var names []string
	for i, h := range hosts {
		if i < first || i == len(hosts)-1 {
			names = append(names, f.Nodes[h].Name)
		}
	}
	if len(hosts) > first+1 {
		names = slices.Insert(names, first, "...")
	}
	return strings.Join(names, ", ")
}

func (s *Scenario) readChanges(f fields) {
	for _, n := range f.list("changes", maxChanges) {
		c := f.d.mapping(n, "change", "at", "tenant", "timer", "increase", "min", "trigger")
		c.need("at", "tenant", "increase", "timer")
		ch := Change{At: c.span("at", 0), Tenant: c.text("tenant"), Params: slParams(c)}
		if i := len(s.Changes); i > 0 && s.Changes[i-1].At > ch.At {
			f.d.fail(c.at("at"), "change.at", topofile.Quoted(ch.At.String()), phrase.Of("scenario.want-time-order"))
		}
		if ch.At >= s.Duration {
			f.d.fail(c.at("at"), "change.at", topofile.Quoted(ch.At.String()), phrase.Of("scenario.want-before-end", "duration", s.Duration))
		}
		known := false
		for i := range s.Tenants {
			known = known || s.Tenants[i].Name == ch.Tenant
		}
		if !known {
			f.d.fail(c.at("tenant"), "change.tenant", topofile.Quoted(ch.Tenant), phrase.Of("scenario.want-tenant"))
		}
		s.Changes = append(s.Changes, ch)
	}
}
