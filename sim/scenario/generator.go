package scenario

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/workload"
)

// GeneratorKind is a way of making flows.
type GeneratorKind string

// Kinds of generators. Collectives have the names of package workload.
const (
	KindPoisson     GeneratorKind = "poisson"     // starts at random instants, between random hosts
	KindIncast      GeneratorKind = "incast"      // many to one, at random instants
	KindPermutation GeneratorKind = "permutation" // each host to another, all at once
	KindBatch       GeneratorKind = "batch"       // many between random hosts, all at once
	KindTrace       GeneratorKind = "trace"       // from a CSV file
)

// Generator makes flows by a rule. Which fields count depends on its kind.
type Generator struct {
	Kind    GeneratorKind
	Tenant  int // index into Scenario.Tenants; -1 of a trace whose flows name theirs
	Control uint16
	Class   uint8
	Hosts   []int32   // all there are when empty
	Groups  [][]int32 // of poisson and batch: hosts by group, for Cross
	Cross   float64   // part of the flows that leaves its group, 0 to 1
	Sizes   *workload.Sizes
	Bytes   int64
	Load    float64
	// Capacity is what Load is a part of; 0 is the sum of the rates of the hosts' links.
	Capacity    quantity.BitRate
	FanIn       int
	Count       int64 // most flows of poisson, bursts of incast, flows of batch, rounds of collectives; 0 is no bound, or one round
	Periodic    bool  // incast: even intervals
	Gap         quantity.Picoseconds
	Chunk       int64
	Window      int
	From, Until quantity.Picoseconds
	File        string

	traced *traced // of a trace: what ReadTraces found
	number int     // of the generator in its scenario, for its own random numbers
}

// build makes the source of a generator, or its reactive job. Traces are opened by the caller.
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

// source keeps an error from hiding in an interface that is not nil.
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

// capacity is what the load is a part of.
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

// members returns the hosts that flows of the generator start at.
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

// collectiveKinds are the names of the collectives.
func collectiveKinds() []string {
	var out []string
	for k := workload.CollectiveKind(0); ; k++ {
		if _, err := workload.ParseCollectiveKind(k.String()); err != nil {
			return out
		}
		out = append(out, k.String())
	}
}
