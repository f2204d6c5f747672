package scenario

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/sim/workload"
	"fairlane/subnet/topofile"
)

// maxGenerators is the largest number of entries of workload.
const maxGenerators = 256

// maxMembers is the largest number of hosts of all generators together, which limits the time of checks before the run.
const maxMembers = 2 << 20

// maxExpected is the largest expected number of flows of a run.
const maxExpected = 1 << 31

// generatorKeys returns the keys of a kind of generator, including the common ones.
func generatorKeys(kind string) []string {
	common := []string{"kind", "tenant", "cc", "class", "start"}
	switch GeneratorKind(kind) {
	case KindPoisson:
		return append(common, "sizes", "load", "capacity", "hosts", "groups", "cross_ratio", "stop", "count")
	case KindIncast:
		return append(common, "fan_in", "bytes", "load", "capacity", "hosts", "periodic", "stop", "count")
	case KindPermutation:
		return append(common, "bytes", "hosts")
	case KindBatch:
		return append(common, "sizes", "hosts", "groups", "cross_ratio", "count")
	case KindTrace:
		return []string{"kind", "tenant", "cc", "class", "file"}
	default:
		return append(common, "bytes", "hosts", "rounds", "gap", "chunk", "window")
	}
}

func generatorKinds() []string {
	fixed := []string{string(KindPoisson), string(KindIncast), string(KindPermutation), string(KindBatch), string(KindTrace)}
	return append(fixed, collectiveKinds()...)
}

// readWorkload reads the generators and builds each to check it.
func (s *Scenario) readWorkload(f fields) {
	r := newHostReader(f.d, s.Fabric)
	total, members := 0.0, 0
	for i, n := range f.list("workload", maxGenerators) {
		g := s.readGenerator(f.d, n, r)
		g.number = i
		if f.d.err != nil {
			return
		}
		if members += g.size(len(r.hosts)); members > maxMembers {
			f.d.fail(n, "workload", phrase.Of("scenario.found-hosts", "n", members), phrase.Of("scenario.want-members", "max", maxMembers))
			return
		}
		if g.Kind == KindTrace {
			s.tryTrace(f.d, &g, f.d.child(n, "file"))
		} else {
			if _, _, err := g.build(s); err != nil {
				f.d.failWith(n, err)
				return
			}
		}
		s.Ethernet.Workload = append(s.Ethernet.Workload, g)
		if total += s.expect(&g).flows; total > maxExpected {
			f.d.fail(n, "workload", phrase.Of("scenario.found-about", "n", fmt.Sprintf("%.3g", total)), phrase.Of("want.most", "max", maxExpected))
			return
		}
	}
}

// size returns the number of hosts of a generator on a fabric with the given number.
func (g *Generator) size(hosts int) int {
	if len(g.Hosts) == 0 && len(g.Groups) == 0 {
		return hosts
	}
	return len(g.members(g.Hosts))
}

func (s *Scenario) readGenerator(d *document, n *yaml.Node, r *hostReader) Generator {
	f := d.mapping(n, "workload", "kind", "tenant", "cc", "class", "start", "stop", "hosts", "groups", "cross_ratio", "sizes",
		"bytes", "load", "capacity", "fan_in", "count", "periodic", "rounds", "gap", "chunk", "window", "file")
	f.need("kind")
	kind := f.word("kind", generatorKinds()...)
	if d.err != nil {
		return Generator{}
	}
	d.mapping(n, "workload of kind "+kind, generatorKeys(kind)...)
	tenant := -1
	if GeneratorKind(kind) != KindTrace || f.has("tenant") || len(s.Tenants) == 1 {
		tenant = s.tenant(f)
	}
	g := Generator{
		Kind: GeneratorKind(kind), Tenant: tenant, Control: s.chosen(f), Class: s.class(f),
		From: f.span("start", 0), Until: f.span("stop", 0), Hosts: r.many(f, "hosts"), Groups: r.groups(f),
		Bytes: f.bytes("bytes", 0, maxBytes), Load: f.decimal("load", 0, 0, 10), Capacity: f.someRate("capacity"),
		FanIn: int(f.number("fan_in", 0, 1, workload.MaxHosts)), Periodic: f.flag("periodic"),
		Count: int64(f.number("count", 0, 1, maxExpected)), Gap: f.span("gap", 0),
		Chunk: f.bytes("chunk", 0, maxBytes), Window: int(f.number("window", 0, 1, 64)), File: f.text("file"),
	}
	if f.has("rounds") {
		g.Count = int64(f.number("rounds", 1, 1, 1_000_000))
	}
	g.requireKeys(f)
	if f.has("sizes") {
		g.Sizes = d.sizes(f)
	}
	if f.has("cross_ratio") {
		ratio := f.decimal("cross_ratio", 0, 0, 1e6)
		g.Cross = ratio / (1 + ratio)
		if !f.has("groups") {
			d.fail(f.at("cross_ratio"), f.path("cross_ratio"), topofile.Quoted(f.text("cross_ratio")), phrase.Of("scenario.want-groups"))
		}
	}
	if f.has("groups") && f.has("hosts") {
		d.fail(f.at("groups"), "workload", phrase.Of("scenario.found-hosts-and-groups"), phrase.Of("scenario.want-one-of-them"))
	}
	if d.err == nil && f.has("stop") && g.Until <= g.From {
		d.fail(f.at("stop"), f.path("stop"), topofile.Quoted(g.Until.String()), phrase.Of("scenario.want-after-start", "start", g.From))
	}
	if d.err == nil && g.From >= s.Duration {
		d.fail(f.at("start"), f.path("start"), topofile.Quoted(g.From.String()), phrase.Of("scenario.want-before-end", "duration", s.Duration))
	}
	return g
}

// requireKeys records an error unless the required keys of the kind are present.
func (g *Generator) requireKeys(f fields) {
	switch g.Kind {
	case KindPoisson:
		f.need("sizes", "load")
	case KindIncast:
		f.need("fan_in", "bytes", "load")
	case KindBatch:
		f.need("sizes", "count")
	case KindTrace:
		f.need("file")
	default:
		f.need("bytes")
	}
}

// groups reads a list of groups, each a pattern of hosts or a list of hosts and patterns.
func (r *hostReader) groups(f fields) [][]int32 {
	var out [][]int32
	for _, n := range f.list("groups", 1024) {
		g := fields{d: r.d, node: n, name: f.name, m: map[string]*yaml.Node{"groups": n}}
		out = append(out, r.many(g, "groups"))
	}
	return out
}

// sizes reads a distribution of flow sizes: the name of a built-in distribution, a number of bytes for flows of one size, or
// knots as pairs of bytes and cumulative percentage.
func (d *document) sizes(f fields) *workload.Sizes {
	n := f.m["sizes"]
	if d.err != nil {
		return nil
	}
	var s *workload.Sizes
	var err error
	if n.Kind == yaml.ScalarNode {
		if v, bad := strconv.ParseInt(n.Value, 0, 64); bad == nil {
			s, err = workload.FixedSize(v)
		} else {
			s, err = workload.SizesByName(n.Value)
		}
	} else {
		var knots []workload.Knot
		for _, k := range f.list("sizes", workload.MaxKnots) {
			knots = append(knots, d.knot(k))
		}
		if d.err == nil {
			s, err = workload.NewSizes("own", "scenario "+d.file, knots)
		}
	}
	d.failWith(n, err)
	return s
}

func (d *document) knot(n *yaml.Node) workload.Knot {
	allowed := phrase.Of("scenario.want-knot")
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		d.fail(n, "sizes", describe(n), allowed)
		return workload.Knot{}
	}
	bytes, err := strconv.ParseInt(n.Content[0].Value, 0, 64)
	percent, err2 := strconv.ParseFloat(n.Content[1].Value, 64)
	if err != nil || err2 != nil {
		d.fail(n, "sizes", topofile.Quoted(n.Content[0].Value+", "+n.Content[1].Value), allowed)
	}
	return workload.Knot{Bytes: bytes, Percent: percent}
}

// expectation is the expected traffic of a generator.
type expectation struct {
	flows, bytes float64
	atOnce       float64 // flows that start together, or may be active together
}

// expect estimates the flows of a generator. It does not read traces; their expectation is zero.
func (s *Scenario) expect(g *Generator) expectation {
	hosts := g.Hosts
	if len(hosts) == 0 {
		hosts = workload.HostRange(0, len(Hosts(s.Fabric)))
	}
	n := float64(len(g.members(hosts)))
	ofMeanSize := func(flows, mean, atOnce float64) expectation { return expectation{flows, flows * mean, atOnce} }
	switch g.Kind {
	case KindPoisson, KindIncast:
		mean, burst := float64(g.Bytes), float64(g.FanIn)
		if g.Kind == KindPoisson {
			mean, burst = g.Sizes.Mean(), 1
		}
		starts := g.Load * float64(g.capacity(s, hosts)) / 8 / (mean * burst) * s.spanOf(g).Seconds()
		if g.Count > 0 {
			starts = min(starts, float64(g.Count))
		}
		// Little's law for flows whose rate is the capacity that the load leaves free on a host's link.
		return ofMeanSize(starts*burst, mean, burst+min(starts*burst, s.activeFlows(g, mean, starts*burst)))
	case KindPermutation:
		return ofMeanSize(n, float64(g.Bytes), n)
	case KindBatch:
		return ofMeanSize(float64(g.Count), g.Sizes.Mean(), float64(g.Count))
	case KindTrace:
		return g.traced.expectation(s.slowestHost())
	default:
		_, job, err := g.build(s)
		c, ok := job.(*workload.Collective)
		if err != nil || !ok {
			return expectation{}
		}
		rounds := float64(max(1, g.Count))
		return expectation{float64(c.Flows()) * rounds, 2 * n * float64(g.Bytes) * rounds, n * float64(max(8, g.Window))}
	}
}

// activeFlows estimates the number of active flows of a generator, by Little's law.
func (s *Scenario) activeFlows(g *Generator, mean, flows float64) float64 {
	span := s.spanOf(g).Seconds()
	if span <= 0 {
		return flows
	}
	rate := float64(s.slowestHost()) * max(0.05, 1-g.Load)
	return flows / span * (mean*8/rate + 1e-4)
}

func (s *Scenario) slowestHost() quantity.BitRate {
	slowest := quantity.MaxBitRate
	for _, ref := range Hosts(s.Fabric) {
		if l, _ := s.Fabric.Link(ref); l != nil {
			slowest = min(slowest, l.Rate)
		}
	}
	return slowest
}
