package scenario

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/ccconfig/qos"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/cc"
	"fairlane/sim/dci"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// Limits of an Ethernet scenario.
const (
	maxControls = 64
	maxBuffers  = 256
	maxBytes    = 1 << 50 // payload of a flow
	// maxFixed is the largest number of flows that a scenario lists, including identical ones: all may be active at once, and
	// each needs a few hundred bytes.
	maxFixed   = 16 << 20
	maxSampled = 10_000_000 // largest number of queue samples
	maxEntries = 1 << 20    // entries of flows; identical flows count once
	maxRoutes  = 1 << 28    // as in sim/ether
	// maxCompared is the largest number of hosts that patterns are compared with, and of hosts that they match.
	maxCompared = 8 << 20
)

// ethernet reads an Ethernet scenario.
func (d *document) ethernet(root *yaml.Node, open Opener) (*Scenario, error) {
	f := d.mapping(root, "file", "plane", "name", "description", "seed", "duration", "until", "warmup", "interval", "sample", "size_bins",
		"fabric", "classes", "model", "congestion_control", "wrcc", "bicc", "groups", "tenants", "flows", "workload", "series")
	f.need("name", "fabric")
	s := &Scenario{
		Name: f.text("name"), Description: f.text("description"),
		Duration: f.span("duration", 100*quantity.Millisecond), Warmup: f.span("warmup", 0),
	}
	s.Interval, s.freeInterval = f.span("interval", defaultInterval(s.Duration)), !f.has("interval")
	s.checkTimes(f)
	e := &Ethernet{
		ToDuration: f.word("until", "completion", "duration") == "duration",
		Sample:     f.span("sample", defaultSample(s.Duration, s.Interval)), freeSample: !f.has("sample"), open: open,
	}
	if d.err == nil && (e.Sample <= 0 || s.Duration/e.Sample > maxSampled) {
		d.fail(f.at("sample"), "sample", topofile.Quoted(e.Sample.String()), phrase.Of("scenario.want-sampled", "parts", maxSampled))
	}
	s.Ethernet = e
	s.Config.Seed = f.number("seed", 1, 0, 1<<64-1)
	e.SizeBins = d.sizeBins(f)
	d.etherModel(f.m["model"], e)
	s.Fabric = d.fabric(f.m["fabric"], open, false)
	if d.err != nil {
		return nil, d.err
	}
	if d.child(f.m["fabric"], "links") != f.m["fabric"] {
		e.numbers = hostNumbers(s.Fabric)
	}
	if text := f.text("classes"); text != "" {
		var err error
		if e.Classes, err = qos.ParseClasses(text); err != nil {
			d.fail(f.at("classes"), "classes", topofile.Quoted(text), phrase.Of("scenario.want-classes"))
		}
	}
	d.groups(f.m["groups"], s.Fabric)
	d.checkLinks(f.m["fabric"], s.Fabric)
	d.checkPatterns(f, s)
	d.controls(f, e)
	if e.Model.ECN == (ether.ECN{}) {
		e.Model.ECN = markingOf(e.Controls)
	}
	e.WRCC = d.wrcc(f.m["wrcc"])
	d.checkFairRates(f, e)
	e.BiCC = d.bicc(f.m["bicc"], s.Fabric)
	e.Series = d.series(f, s)
	s.readEtherTenants(f)
	s.readEtherFlows(f)
	s.readWorkload(f)
	if d.err != nil {
		return nil, d.err
	}
	if len(e.Flows) == 0 && len(e.Workload) == 0 {
		d.fail(f.node, "flows, workload", topofile.Quoted(""), phrase.Of("scenario.want-one-given"))
		return nil, d.err
	}
	if err := s.SetThreads(e.threads()); err != nil {
		d.failWith(d.child(f.at("model"), "threads"), fmt.Errorf("model: %w", err))
		return nil, d.err
	}
	return s, nil
}

// sizeBins reads the upper limits of the bins by flow size.
func (d *document) sizeBins(f fields) []int64 {
	var out []int64
	for _, n := range f.list("size_bins", stats.MaxSizeBins) {
		v, err := strconv.ParseInt(n.Value, 0, 64)
		if err != nil || v < 1 || len(out) > 0 && v <= out[len(out)-1] {
			d.fail(n, "size_bins", describe(n), phrase.Of("scenario.want-rising-bytes"))
			return nil
		}
		out = append(out, v)
	}
	return out
}

// decimal reads a number that may have a fraction.
func (f fields) decimal(key string, def, low, high float64) float64 {
	if !f.has(key) {
		return def
	}
	s := f.text(key)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v < low || v > high {
		f.d.fail(f.m[key], f.path(key), topofile.Quoted(s), phrase.Of("topofile.want-number", "min", low, "max", high))
		return def
	}
	return v
}

// bytes reads a size of at least one byte; the default is def.
func (f fields) bytes(key string, def int64, high uint64) int64 {
	return int64(f.number(key, uint64(def), 1, high))
}

// etherModel reads the settings of switches and NICs on top of a preset; absent settings keep the model's defaults.
func (d *document) etherModel(n *yaml.Node, e *Ethernet) {
	f := d.mapping(n, "model", "preset", "payload", "headers", "ack_every", "ack_overtakes_pause", "truncate_ns", "global_rtt",
		"classes", "cnp", "ecn", "buffer", "buffers", "recovery", "threads")
	e.Threads = int(f.number("threads", 1, 1, MaxThreads))
	c := &e.Model
	e.preset = f.word("preset", noPreset, PresetNS3)
	*c = preset(e.preset)
	h := d.mapping(f.m["headers"], "headers", "data", "ack", "cnp", "pause")
	size := func(v *int, g fields, key string, low, high uint64) { *v = int(g.number(key, uint64(*v), low, high)) }
	size(&c.Payload, f, "payload", 64, 9216)
	size(&c.AckEvery, f, "ack_every", 1, 255)
	size(&c.Headers.Data, h, "data", 1, 512)
	size(&c.Headers.Ack, h, "ack", 1, 1024)
	size(&c.Headers.CNP, h, "cnp", 1, 1024)
	size(&c.Headers.Pause, h, "pause", 1, 1024)
	c.AckOvertakesPause = f.flagOr("ack_overtakes_pause", c.AckOvertakesPause)
	c.TruncateNs = f.flagOr("truncate_ns", c.TruncateNs)
	c.GlobalRTT = f.flagOr("global_rtt", c.GlobalRTT)
	d.classes(f, c)
	p := d.mapping(f.m["cnp"], "cnp", "packets", "gap", "class")
	c.CNPs = p.flag("packets")
	c.CNPGap = p.span("gap", 0)
	c.CNPClass = uint8(p.number("class", 0, 0, uint64(max(1, len(c.Classes))-1)))
	d.ecn(f.m["ecn"], c)
	b := d.mapping(f.m["buffer"], "buffer", "bytes", "reserve", "headroom", "alpha", "alpha_rate", "resume", "static", "egress_alpha")
	c.Buffer = b.buffer(c.Buffer)
	for _, n := range f.list("buffers", maxBuffers) {
		b := d.mapping(n, "buffers", "switches", "bytes", "reserve", "headroom", "alpha", "alpha_rate", "resume", "static", "egress_alpha")
		b.need("switches")
		e.Buffers = append(e.Buffers, SwitchBuffer{Pattern: b.text("switches"), Buffer: b.buffer(c.Buffer)})
	}
	r := d.mapping(f.m["recovery"], "recovery", "mode", "nack_gap", "timeout")
	if r.word("mode", "go-back-n", "selective-repeat") == "selective-repeat" {
		c.Recovery.Mode = ether.SelectiveRepeat
	}
	c.Recovery.NackGap = r.span("nack_gap", c.Recovery.NackGap)
	c.Recovery.Timeout = r.span("timeout", 0)
}

func (d *document) classes(f fields, c *ether.Config) {
	for _, n := range f.list("classes", ether.MaxClasses) {
		k := d.mapping(n, "classes", "strict", "weight", "lossy")
		c.Classes = append(c.Classes, ether.Class{
			Strict: k.flag("strict"), Weight: int(k.number("weight", 1, 1, 255)), Lossy: k.flag("lossy"),
		})
	}
	if n := f.m["classes"]; n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.fail(n, f.path("classes"), describe(n), phrase.Of("scenario.want-a-class"))
	}
}

func (d *document) ecn(n *yaml.Node, c *ether.Config) {
	k := d.mapping(n, "ecn", "off", "min", "max", "rate_per", "p_max", "at")
	e := &c.ECN
	e.Off = k.flag("off")
	e.Min, e.Max = int64(k.number("min", uint64(e.Min), 0, 1<<40)), k.bytes("max", e.Max, 1<<40)
	if k.has("rate_per") {
		e.RatePer, e.Absolute = k.rateOrNone("rate_per")
	}
	e.PMax, e.AtEnqueue = k.decimal("p_max", e.PMax, 0, 1), k.word("at", "dequeue", "enqueue") == "enqueue"
	switch {
	case k.has("min") != k.has("max"):
		d.fail(k.node, "ecn", phrase.Of("scenario.found-min-or-max"), phrase.Of("scenario.want-both"))
	case c.ECN.Min > c.ECN.Max:
		d.fail(k.at("min"), "ecn.min", topofile.Quoted(strconv.FormatInt(c.ECN.Min, 10)), phrase.Of("scenario.want-ecn-max", "max", c.ECN.Max))
	case k.has("p_max") && c.ECN.PMax == 0:
		d.fail(k.at("p_max"), "ecn.p_max", topofile.Quoted("0"), phrase.Of("scenario.want-part"))
	}
}

// buffer reads a buffer on top of the values of base.
func (f fields) buffer(base ether.Buffer) ether.Buffer {
	base.Bytes = f.bytes("bytes", base.Bytes, 1<<40)
	base.Reserve = f.bytes("reserve", base.Reserve, 1<<40)
	base.Resume = f.bytes("resume", base.Resume, 1<<40)
	base.Static = f.bytes("static", base.Static, 1<<40)
	base.Headroom = f.decimal("headroom", base.Headroom, 0.001, 1000)
	base.Alpha = f.decimal("alpha", base.Alpha, 0.001, 64)
	base.EgressAlpha = f.decimal("egress_alpha", base.EgressAlpha, 0.001, 64)
	if f.has("alpha_rate") {
		base.AlphaRate, base.AlphaFixed = f.rateOrNone("alpha_rate")
	}
	return base
}

// checkLinks rejects links without a rate, on which no packet would ever leave.
func (d *document) checkLinks(n *yaml.Node, f *subnet.Fabric) {
	d.failWith(n, checkSize(len(f.Links), false))
	for i := range f.Links {
		if l := &f.Links[i]; l.Rate <= 0 {
			d.fail(n, "fabric: link from "+f.PortName(l.A)+" to "+f.PortName(l.B), topofile.Quoted(l.Rate.String()), phrase.Of("scenario.want-rate-above"))
		}
	}
	hosts, switches := len(Hosts(f)), len(f.Switches())
	if hosts < 2 {
		d.fail(n, "fabric", phrase.Of("scenario.found-linked", "n", hosts), phrase.Of("want.least", "min", 2))
	}
	if hosts*switches > maxRoutes {
		d.fail(n, "fabric", phrase.Of("scenario.found-hosts-switches", "hosts", hosts, "switches", switches), phrase.Of("scenario.want-routes", "max", maxRoutes))
	}
}

// checkPatterns rejects buffers whose pattern matches no switch.
func (d *document) checkPatterns(f fields, s *Scenario) {
	for _, b := range s.Ethernet.Buffers {
		hit := slices.ContainsFunc(s.Fabric.Switches(), func(sw int32) bool {
			ok, _ := path.Match(b.Pattern, s.Fabric.Nodes[sw].Name)
			return ok
		})
		if !hit {
			d.fail(f.at("model"), "buffers.switches", topofile.Quoted(b.Pattern), phrase.Of("scenario.want-switch-pattern"))
		}
	}
}

// controls reads one congestion control or a list; absent means none.
func (d *document) controls(f fields, e *Ethernet) {
	n := f.m["congestion_control"]
	items := []*yaml.Node{n}
	if n == nil {
		e.Controls = []Control{{Name: "none", Algorithm: "none"}}
		return
	}
	if n.Kind == yaml.SequenceNode {
		items = f.list("congestion_control", maxControls)
	}
	for _, it := range items {
		c := d.control(it, e.preset)
		if slices.ContainsFunc(e.Controls, func(o Control) bool { return o.Name == c.Name }) {
			d.fail(it, "congestion_control.name", topofile.Quoted(c.Name), phrase.Of("scenario.want-own-name"))
		}
		e.Controls = append(e.Controls, c)
	}
	if len(e.Controls) == 0 {
		d.fail(n, "congestion_control", phrase.Of("scenario.found-list", "n", 0), phrase.Of("scenario.want-at-least-one"))
	}
}

// control reads a congestion control on top of the values of a preset.
func (d *document) control(n *yaml.Node, preset string) Control {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "congestion_control", describe(n), phrase.Of("scenario.want-algorithm"))
		return Control{}
	}
	f := fields{d: d, node: n, name: "congestion_control", m: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.m[n.Content[i].Value] = n.Content[i+1]
	}
	f.need("algorithm")
	c := Control{Algorithm: f.text("algorithm"), Values: cc.Values{}}
	maps.Copy(c.Values, presetValues(preset, c.Algorithm))
	spec, err := cc.ByName(c.Algorithm)
	if d.err == nil && err != nil {
		d.failWith(f.at("algorithm"), err)
	}
	keys := []string{"algorithm", "name"}
	for i := range spec.Params {
		keys = append(keys, spec.Params[i].Name)
	}
	f = d.mapping(n, "congestion_control", keys...)
	if d.err != nil {
		return c
	}
	c.Name = c.Algorithm
	if f.has("name") {
		c.Name = f.text("name")
	}
	for i := range spec.Params {
		p := &spec.Params[i]
		if f.has(p.Name) {
			c.Values[p.Name] = scalar(f, p.Name, p.Default, phrase.Verbatim(p.Allowed()), p.Parse)
		}
	}
	if _, err := c.build(); err != nil {
		d.failWith(n, err)
	}
	return c
}

// wrcc reads the settings of switches that compute fair rates.
func (d *document) wrcc(n *yaml.Node) *WRCC {
	if n == nil {
		return nil
	}
	f := d.mapping(n, "wrcc", "period", "fmin", "fmax", "target_percent", "rate_ratio_max", "q_ratio_max", "lambda")
	f.need("period")
	w := &WRCC{
		Period: f.span("period", 0), Fmin: f.rate("fmin"), Fmax: f.rate("fmax"),
		TargetPct:    int(f.number("target_percent", 0, wrcc.MinTargetPct, wrcc.MaxTargetPct)),
		RateRatioPct: int(f.number("rate_ratio_max", 0, wrcc.MinRateRatioPct, wrcc.MaxRateRatioPct)),
		QRatioPct:    int(f.number("q_ratio_max", 0, wrcc.MinQRatioPct, wrcc.MaxQRatioPct)),
		Lambda:       f.decimal("lambda", 0, 0.001, 1),
	}
	if d.err == nil {
		p := w.params(subnet.PortRef{}, 100*quantity.Gbps)
		if err := p.Validate(); err != nil {
			d.failWith(n, fmt.Errorf("wrcc: %w", err))
		}
	}
	return w
}

// checkFairRates rejects senders that wait for fair rates if no switch computes them.
func (d *document) checkFairRates(f fields, e *Ethernet) {
	if d.err != nil || e.WRCC != nil {
		return
	}
	for i, c := range e.Controls {
		if c.fairRateOf() == noFairRate {
			continue
		}
		n := f.at("congestion_control")
		if n.Kind == yaml.SequenceNode {
			n = n.Content[i]
		}
		d.fail(d.child(n, "algorithm"), "congestion_control.algorithm", topofile.Quoted(c.Algorithm), phrase.Of("scenario.want-wrcc"))
	}
}

// bicc reads the settings of switches between data centres.
func (d *document) bicc(n *yaml.Node, fabric *subnet.Fabric) *BiCC {
	if n == nil || d.err != nil {
		return nil
	}
	f := d.mapping(n, "bicc", "switches", "voqs", "cnp_interval", "notice_bytes", "notice_interval")
	b := &BiCC{
		Switches: f.text("switches"), VOQs: int(f.number("voqs", 0, 1, dci.MaxVOQs)), CNPInterval: f.span("cnp_interval", 0),
		NoticeBytes: f.bytes("notice_bytes", 0, 1<<40), NoticeInterval: f.span("notice_interval", 0),
	}
	if f.has("switches") && len(b.build(fabric).Nodes) == 0 {
		d.fail(f.at("switches"), f.path("switches"), topofile.Quoted(b.Switches), phrase.Of("scenario.want-dci-pattern"))
	}
	return b
}

// readEtherTenants reads tenants; absent means one tenant with the name "all".
func (s *Scenario) readEtherTenants(f fields) {
	for _, n := range f.list("tenants", tenants.MaxTenants) {
		t := f.d.mapping(n, "tenant", "name", "weight")
		t.need("name", "weight")
		s.Tenants = append(s.Tenants, tenants.Tenant{
			Name: t.text("name"), Weight: scalar(t, "weight", 0, phrase.Of("scenario.want-weight"), quantity.ParseWeight),
		})
	}
	if len(s.Tenants) == 0 {
		s.Tenants = []tenants.Tenant{{Name: "all", Weight: quantity.WeightOne}}
	}
	f.d.tenants = make(map[string]int, len(s.Tenants))
	for i := range s.Tenants {
		f.d.tenants[s.Tenants[i].Name] = i
	}
	if err := tenants.Validate(s.Tenants, nil); err != nil && f.d.err == nil {
		f.d.err = &topofile.ParseError{File: f.d.file, Line: f.at("tenants").Line, Err: err}
	}
}

// readEtherFlows reads flows: one from each source to each other destination.
func (s *Scenario) readEtherFlows(f fields) {
	e, total := s.Ethernet, 0
	r := newHostReader(f.d, s.Fabric)
	for _, n := range f.list("flows", maxFlows) {
		g := f.d.mapping(n, "flow", "tenant", "cc", "class", "src", "dst", "bytes", "start", "stop", "demand", "qps")
		g.need("src", "dst")
		proto := EtherFlow{
			Tenant: s.tenant(g), Control: s.chosen(g), Class: s.class(g), Bytes: g.bytes("bytes", 0, maxBytes),
			Start: g.startBefore("start", s.Duration), Stop: g.span("stop", 0), Demand: g.someRate("demand"), Count: int(g.number("qps", 1, 1, tenants.MaxQPs)),
		}
		if g.has("stop") && proto.Stop <= proto.Start {
			f.d.fail(g.at("stop"), "flow.stop", topofile.Quoted(proto.Stop.String()), phrase.Of("scenario.want-after-start", "start", proto.Start))
		}
		from, to := r.many(g, "src"), r.many(g, "dst")
		g.some("src", len(from))
		g.some("dst", len(to))
		if n := len(e.Flows) + len(from)*len(to); n > maxEntries {
			f.d.fail(g.at("src"), "flows", topofile.Quoted(strconv.Itoa(n)), phrase.Of("scenario.want-entries", "max", maxEntries))
			return
		}
		for _, src := range from {
			for _, dst := range to {
				if src == dst && len(to) > 1 {
					continue // hosts in both lists do not send to themselves
				}
				if src == dst && f.d.err == nil {
					f.d.fail(g.at("dst"), "flow.dst", describe(g.at("dst")), phrase.Of("scenario.want-other-host"))
				}
				fl := proto
				fl.Src, fl.Dst = src, dst
				e.Flows = append(e.Flows, fl)
				total += fl.Count
			}
		}
		if total > maxFixed {
			f.d.fail(g.at("qps"), "flows", topofile.Quoted(strconv.Itoa(total)), phrase.Of("scenario.want-alike", "max", maxFixed))
			return
		}
	}
}

// tenant reads the tenant of a flow by name; it is optional if there is only one tenant.
func (s *Scenario) tenant(g fields) int {
	if !g.has("tenant") && len(s.Tenants) == 1 {
		return 0
	}
	name := g.text("tenant")
	i, ok := g.d.tenants[name]
	if !ok {
		g.d.fail(g.at("tenant"), g.path("tenant"), topofile.Quoted(name), phrase.Of("scenario.want-tenant"))
		return 0
	}
	return i
}

// chosen reads the congestion control of a flow.
func (s *Scenario) chosen(g fields) uint16 {
	var names []string
	for _, c := range s.Ethernet.Controls {
		names = append(names, c.Name)
	}
	if len(names) == 0 || !g.has("cc") {
		return 0
	}
	return uint16(max(0, slices.Index(names, g.word("cc", names...))))
}

func (s *Scenario) class(g fields) uint8 {
	return uint8(g.number("class", 0, 0, uint64(max(1, len(s.Ethernet.Model.Classes))-1)))
}

// hostReader resolves names and patterns of hosts.
type hostReader struct {
	d        *document
	fabric   *subnet.Fabric
	hosts    []subnet.PortRef
	number   map[subnet.PortRef]int32
	known    map[string][]int32 // by pattern
	compared int                // hosts compared, for all patterns
	turn     int32
	seen     []int32 // number of the last turn with each host
	// sources are the texts from which the hosts of the last turn came.
	sources []hostSource
}

func newHostReader(d *document, f *subnet.Fabric) *hostReader {
	r := &hostReader{d: d, fabric: f, hosts: Hosts(f), number: make(map[subnet.PortRef]int32), known: make(map[string][]int32)}
	r.seen, r.sources = make([]int32, len(r.hosts)), make([]hostSource, len(r.hosts))
	for i, ref := range r.hosts {
		r.number[ref] = int32(i)
	}
	return r
}

// many reads hosts: names, host sets, groups, and patterns such as dc1-*, single or as a list.
func (r *hostReader) many(g fields, key string) []int32 {
	var out []int32
	r.turn++
	for _, n := range g.values(key, subnet.MaxPorts*16) {
		hosts := r.match(g.path(key), n)
		from := hostSource{n.Value, !isPattern(n.Value) && (len(hosts) > 1 || r.d.names.Has(n.Value))}
		for _, h := range hosts {
			if r.seen[h] == r.turn {
				if other := r.sources[h]; (other.many || from.many) && !isPattern(other.text) && !isPattern(from.text) {
					r.d.twice(g.path(key), n, r.fabric.Nodes[r.hosts[h].Node].Name, other, from)
					return nil
				}
				continue
			}
			r.seen[h], r.sources[h] = r.turn, from
			out = append(out, h)
		}
	}
	return out
}

func (r *hostReader) match(field string, n *yaml.Node) []int32 {
	if r.d.err != nil {
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		r.d.fail(n, field, describe(n), phrase.Of("scenario.want-host"))
		return nil
	}
	if len(r.fabric.NodesByName(n.Value)) > 0 || !isPattern(n.Value) {
		return r.set(field, n)
	}
	out, ok := r.known[n.Value]
	if !ok {
		out = r.compare(n.Value)
		r.known[n.Value] = out
	}
	if r.compared += len(out); r.compared > maxCompared {
		r.d.fail(n, field, topofile.Quoted(n.Value), phrase.Of("scenario.want-fewer-hosts", "max", maxCompared))
		return nil
	}
	if len(out) == 0 {
		r.d.fail(n, field, topofile.Quoted(n.Value), phrase.Of("scenario.want-host-pattern", "hosts", someHosts(r.fabric)))
	}
	return out
}

// compare returns the hosts whose names match a pattern.
func (r *hostReader) compare(pattern string) []int32 {
	var out []int32
	if r.compared += len(r.hosts); r.compared > maxCompared {
		return nil
	}
	for i, ref := range r.hosts {
		if ok, _ := path.Match(pattern, r.fabric.Nodes[ref.Node].Name); ok {
			out = append(out, int32(i))
		}
	}
	return out
}
