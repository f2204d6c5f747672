package workload

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/quantity"
)

// CollectiveKind is an algorithm of collective communication.
type CollectiveKind uint8

// Kinds of collective.
const (
	// RingAllReduce sums a vector over all ranks in 2(N-1) steps around a ring, each with an N-th of
	// the vector: reduce-scatter, then all-gather (Patarasuk and Yuan, "Bandwidth optimal all-reduce
	// algorithms for clusters of workstations", JPDC 2009).
	RingAllReduce CollectiveKind = iota
	// RingReduceScatter is the first half of RingAllReduce.
	RingReduceScatter
	// RingAllGather is the second half of RingAllReduce.
	RingAllGather
	// TreeAllReduce reduces chunk by chunk up a binary tree and broadcasts the sums down.
	TreeAllReduce
	// DoubleTreeAllReduce uses two trees, with one half of the vector on each. With an even number of ranks, an inner rank of
	// one tree is a leaf of the other (Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
	// and scan", Parallel Computing 2009).
	DoubleTreeAllReduce
	// AllToAllExchange sends a different N-th of each rank's vector to every rank.
	AllToAllExchange
	collectiveKinds
)

func collectiveNames() []string {
	return []string{"ring-all-reduce", "ring-reduce-scatter", "ring-all-gather", "tree-all-reduce", "double-tree-all-reduce", "all-to-all"}
}

// String returns the name that ParseCollectiveKind accepts.
func (k CollectiveKind) String() string {
	if names := collectiveNames(); int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("collective(%d)", uint8(k))
}

// ParseCollectiveKind parses the name of a kind, such as "ring-all-reduce".
func ParseCollectiveKind(s string) (CollectiveKind, error) {
	if i := slices.Index(collectiveNames(), s); i >= 0 {
		return CollectiveKind(i), nil
	}
	return 0, fmt.Errorf("collective %q: want one of %s", s, strings.Join(collectiveNames(), ", "))
}

// Limits and defaults of collectives.
const (
	DefaultChunk  = 1 << 20 // bytes of a tree's messages
	DefaultWindow = 8       // messages in flight per rank of an all-to-all exchange
	maxWindow     = 64
	maxChunks     = 1 << 20 // chunks of one tree
	maxRounds     = 1_000_000
)

// CollectiveOptions describes a collective, or a series of rounds of it.
type CollectiveOptions struct {
	Kind  CollectiveKind
	Hosts []int32 // hosts of the ranks, in the order of ranks; 2 to MaxHosts, all different
	// Bytes is the vector size of each rank, at least one byte per rank and at most MaxBytes. If it is not divisible, the sizes
	// of its parts differ by at most one byte.
	Bytes int64
	At    quantity.Picoseconds // start of the first round
	// Rounds is the number of repetitions; each round starts Gap after the end of the previous one, like the computation
	// between two exchanges of a training job. 0 means one round.
	Rounds int
	Gap    quantity.Picoseconds
	Chunk  int64 // bytes of a tree message; 0 means DefaultChunk, or more for very long vectors
	Window int   // for AllToAllExchange, 1 to 64; 0 means DefaultWindow
	Label
}

func (o *CollectiveOptions) check() error {
	if o.Kind >= collectiveKinds {
		return fmt.Errorf("%s: want one of %s", o.Kind, strings.Join(collectiveNames(), ", "))
	}
	if err := checkHosts(o.Hosts); err != nil {
		return err
	}
	for _, err := range []error{
		checkRange("size", o.Bytes, int64(len(o.Hosts)), MaxBytes),
		checkInstant("start", o.At), checkInstant("gap", o.Gap),
		checkRange("rounds", o.Rounds, 0, maxRounds),
		checkRange("window", o.Window, 0, maxWindow),
		checkRange("chunk", o.Chunk, 0, MaxBytes),
	} {
		if err != nil {
			return err
		}
	}
	if o.Chunk > 0 && (o.Bytes-1)/o.Chunk >= maxChunks {
		return fmt.Errorf("chunk %d: want at least %d for %d bytes", o.Chunk, (o.Bytes-1)/maxChunks+1, o.Bytes)
	}
	return nil
}

// schedule defines the order of one round: which flow waits for which other flows.
type schedule interface {
	flows() int64   // number of flows of a round
	numbers() int64 // flow numbers are 0 to numbers-1; some may be unused
	reset()
	start(out *emitter)
	// done records a delivered flow. It returns false if that flow was not active.
	done(flow int64, out *emitter) bool
}

// emitter maps a schedule's ranks to hosts.
type emitter struct {
	o    *CollectiveOptions
	at   quantity.Picoseconds
	base int64 // number of the round's first flow
	out  []Arrival
}

func (e *emitter) emit(flow int64, from, to int, bytes int64) {
	e.out = append(e.out, Arrival{
		At: e.at, Flow: e.base + flow, Bytes: bytes, Src: e.o.Hosts[from], Dst: e.o.Hosts[to], Label: e.o.Label,
	})
}

// Collective is a Reactive job: a collective among ranks, in one or more rounds. A flow starts after the flows whose data it
// forwards, and the previous flow on the same connection, have been delivered: a connection carries one message at a time. Its
// memory is proportional to the number of ranks.
type Collective struct {
	o         CollectiveOptions
	plan      schedule
	emitter   emitter
	remaining int64 // flows of the round still to complete
	result    CollectiveResult
	from      quantity.Picoseconds // start of the round
}

// NewCollective validates the options and prepares the rounds.
func NewCollective(o CollectiveOptions) (*Collective, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	o.Hosts = slices.Clone(o.Hosts)
	o.Rounds = max(o.Rounds, 1)
	c := &Collective{o: o}
	c.emitter.o = &c.o
	n := len(o.Hosts)
	switch o.Kind {
	case TreeAllReduce, DoubleTreeAllReduce:
		if o.Chunk == 0 {
			c.o.Chunk = max(DefaultChunk, (o.Bytes-1)/maxChunks+1)
		}
		c.plan = newTrees(n, o.Bytes, c.o.Chunk, o.Kind == DoubleTreeAllReduce)
	case AllToAllExchange:
		if o.Window == 0 {
			c.o.Window = DefaultWindow
		}
		c.plan = newExchange(n, o.Bytes, min(c.o.Window, n-1))
	default:
		c.plan = newRing(o.Kind, n, o.Bytes)
	}
	c.result = CollectiveResult{Kind: o.Kind, Ranks: n, Bytes: o.Bytes, Start: o.At}
	return c, nil
}

// Start returns the flows of the first round that can start immediately.
func (c *Collective) Start() []Arrival {
	c.emitter.out = c.emitter.out[:0]
	c.round(c.o.At)
	return c.emitter.out
}

// round starts a round.
func (c *Collective) round(at quantity.Picoseconds) {
	c.from, c.emitter.at = at, at
	c.remaining = c.plan.flows()
	c.plan.reset()
	c.plan.start(&c.emitter)
}

// Done records a delivered flow and returns the flows that may start now.
func (c *Collective) Done(flow int64, at quantity.Picoseconds) []Arrival {
	c.emitter.out = c.emitter.out[:0]
	c.emitter.at = at
	flow -= c.emitter.base
	if flow < 0 || flow >= c.plan.numbers() || !c.plan.done(flow, &c.emitter) {
		return nil
	}
	if c.remaining--; c.remaining > 0 {
		return c.emitter.out
	}
	c.result.Rounds++
	c.result.End = at
	c.result.Last = at - c.from
	c.result.Total += c.result.Last
	if c.result.Rounds < c.o.Rounds {
		c.emitter.base += c.plan.numbers()
		c.round(at + c.o.Gap)
	}
	return c.emitter.out
}

// Flows returns the number of flows of one round.
func (c *Collective) Flows() int64 { return c.plan.flows() }

// Result returns the result so far; finished reports whether all rounds are complete.
func (c *Collective) Result() (r CollectiveResult, finished bool) {
	return c.result, c.result.Rounds == c.o.Rounds
}

// CollectiveResult is the result of a collective.
type CollectiveResult struct {
	Kind   CollectiveKind
	Ranks  int
	Bytes  int64                // vector size of each rank
	Rounds int                  // completed rounds
	Start  quantity.Picoseconds // start of the first round
	End    quantity.Picoseconds // end of the last completed round
	Last   quantity.Picoseconds // duration of that round
	Total  quantity.Picoseconds // duration of all completed rounds, without the gaps between them
}

// AlgorithmBandwidth returns the vector's bits per second of a round, averaged over the completed rounds; 0 before the first.
func (r CollectiveResult) AlgorithmBandwidth() float64 {
	if r.Total <= 0 {
		return 0
	}
	return 8 * float64(r.Bytes) * float64(r.Rounds) / r.Total.Seconds()
}

// BusBandwidth returns AlgorithmBandwidth times the minimum number of bytes that a rank sends per byte of the vector: 2(N-1)/N
// for all-reduce and (N-1)/N for the others. It is comparable with the rate of a host's link for any number of ranks (the
// convention of NVIDIA's nccl-tests).
func (r CollectiveResult) BusBandwidth() float64 {
	if r.Ranks < 1 {
		return 0
	}
	factor := float64(r.Ranks-1) / float64(r.Ranks)
	switch r.Kind {
	case RingAllReduce, TreeAllReduce, DoubleTreeAllReduce:
		factor *= 2
	}
	return r.AlgorithmBandwidth() * factor
}

// part returns the size of the i-th of n parts of a vector; the first parts include the remainder.
func part(bytes int64, i, n int) int64 {
	p := bytes / int64(n)
	if int64(i) < bytes%int64(n) {
		p++
	}
	return p
}
