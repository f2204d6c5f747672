package scenario

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/workload"
)

// GeneratorKind selects the rule of a generator.
type GeneratorKind string

// Kinds of generators. Collectives have the names of package workload.
const (
	KindPoisson     GeneratorKind = "poisson"     // random start times and hosts
	KindIncast      GeneratorKind = "incast"      // many hosts to one, at random times
	KindPermutation GeneratorKind = "permutation" // each host to a different one, all at the same time
	KindBatch       GeneratorKind = "batch"       // many flows between random hosts, all at the same time
	KindTrace       GeneratorKind = "trace"       // from a CSV file
)

// Generator generates flows by a rule. Its kind determines which fields are used.
type Generator struct {
	Kind    GeneratorKind
	Tenant  int // index in Scenario.Tenants; -1 for a trace whose flows name their tenants
	Control uint16
	Class   uint8
	Hosts   []int32   // empty means all hosts
	Groups  [][]int32 // poisson and batch: hosts by group, for Cross
	Cross   float64   // fraction of the flows that leave their group, 0 to 1
	Sizes   *workload.Sizes
	Bytes   int64
	Load    float64
	// Capacity is the reference of Load; 0 means the sum of the rates of the hosts' links.
	Capacity    quantity.BitRate
	FanIn       int
	Count       int64 // maximum number of flows (poisson), bursts (incast), flows (batch) or rounds (collectives); 0 means no limit, or one round
	Periodic    bool  // incast: bursts at equal intervals
	Gap         quantity.Picoseconds
	Chunk       int64
	Window      int
	From, Until quantity.Picoseconds
	File        string

	traced *traced // result of ReadTraces for a trace
	number int     // number of the generator in its scenario, for its random streams
}

// build returns the source of a generator, or its reactive job. The caller opens traces.
func (g *Generator) build(s *Scenario) (workload.Source, workload.Reactive, error) {
	seed := sim.Hash(s.Config.Seed, uint64(g.number)+1)
	hosts := g.Hosts
	if len(hosts) == 0 {
		hosts = workload.HostRange(0, len(Hosts(s.Fabric)))
	}
	until := g.From + s.spanOf(g)
	switch g.Kind {
	case KindPoisson:
		pairs, err := g.pairs(hosts)
		if err != nil {
			return nil, nil, err
		}
		p, err := workload.NewPoisson(workload.PoissonOptions{
			Seed: seed, Pairs: pairs, Sizes: g.Sizes, Capacity: g.capacity(s, hosts), Load: g.Load,
			From: g.From, Until: until, Count: g.Count,
		})
		return source(p, err)
	case KindIncast:
		p, err := workload.NewIncast(workload.IncastOptions{
			Seed: seed, Hosts: hosts, FanIn: g.FanIn, Bytes: g.Bytes, Capacity: g.capacity(s, hosts), Load: g.Load,
			Periodic: g.Periodic, From: g.From, Until: until, Bursts: g.Count,
		})
		return source(p, err)
	case KindPermutation:
		p, err := workload.Permutation(workload.PatternOptions{Seed: seed, Hosts: hosts, Bytes: g.Bytes, At: g.From})
		return source(p, err)
	case KindBatch:
		pairs, err := g.pairs(hosts)
		if err != nil {
			return nil, nil, err
		}
		p, err := workload.NewBatch(workload.BatchOptions{Seed: seed, Pairs: pairs, Count: g.Count, Sizes: g.Sizes, At: g.From})
		return source(p, err)
	default:
		return g.collective(hosts)
	}
}

// source returns a nil Source after an error. A typed nil pointer in the interface would not equal nil.
func source[T workload.Source](s T, err error) (workload.Source, workload.Reactive, error) {
	if err != nil {
		return nil, nil, err
	}
	return s, nil, nil
}

func (g *Generator) collective(hosts []int32) (workload.Source, workload.Reactive, error) {
	kind, err := workload.ParseCollectiveKind(string(g.Kind))
	if err != nil {
		return nil, nil, err
	}
	c, err := workload.NewCollective(workload.CollectiveOptions{
		Kind: kind, Hosts: hosts, Bytes: g.Bytes, At: g.From, Rounds: int(g.Count), Gap: g.Gap, Chunk: g.Chunk, Window: g.Window,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("collective: %w", err)
	}
	return nil, c, nil
}

func (g *Generator) pairs(hosts []int32) (*workload.Pairs, error) {
	if len(g.Groups) > 0 {
		return workload.GroupPairs(g.Groups, g.Cross)
	}
	return workload.AnyPair(hosts)
}

// capacity returns the reference of the load.
func (g *Generator) capacity(s *Scenario, hosts []int32) quantity.BitRate {
	if g.Capacity > 0 {
		return g.Capacity
	}
	ports := Hosts(s.Fabric)
	sum := quantity.BitRate(0)
	for _, h := range g.members(hosts) {
		if l, _ := s.Fabric.Link(ports[h]); l != nil {
			sum += l.Rate
		}
	}
	return sum
}

// members returns the source hosts of the generator's flows.
func (g *Generator) members(hosts []int32) []int32 {
	if len(g.Groups) == 0 {
		return hosts
	}
	var out []int32
	for _, group := range g.Groups {
		out = append(out, group...)
	}
	return out
}

// collectiveKinds returns the names of the collectives.
func collectiveKinds() []string {
	var out []string
	for k := workload.CollectiveKind(0); ; k++ {
		if _, err := workload.ParseCollectiveKind(k.String()); err != nil {
			return out
		}
		out = append(out, k.String())
	}
}
