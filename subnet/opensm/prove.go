package opensm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/saquery"
)

// Proof holds the answers of subnet administration about partitions.
type Proof struct {
	Partitions []PartitionProof `json:"partitions"`
	Lanes      []LaneProof      `json:"lanes,omitempty"` // of sampled adapter ports, when tables are desired
	Rounds     int              `json:"rounds"`          // rounds of queries until the last answers
}

// PartitionProof holds the answers about one partition.
type PartitionProof struct {
	Tenant  string     `json:"tenant"`
	PKey    ident.PKey `json:"pkey"`
	Want    ident.SL   `json:"want"`
	Absent  bool       `json:"absent,omitempty"` // it must not exist
	Asked   int        `json:"asked"`            // pairs of ports
	Silent  int        `json:"silent,omitempty"` // pairs without a path even outside of partitions: a port is down
	Holds   bool       `json:"holds"`
	Problem string     `json:"problem,omitempty"` // why it does not hold, or why nothing could be queried
	answer  string     // the answer that differs from the desired one
}

// Holds reports whether every partition has its service level, as far as its ports are up, and whether every queried
// port has its tables.
func (p Proof) Holds() bool {
	return !slices.ContainsFunc(p.Partitions, func(x PartitionProof) bool { return !x.Holds }) &&
		!slices.ContainsFunc(p.Lanes, func(x LaneProof) bool { return !x.Holds })
}

// Unproven lists the partitions without a sampled port that is up.
func (p Proof) Unproven() []PartitionProof {
	return slices.DeleteFunc(slices.Clone(p.Partitions), func(x PartitionProof) bool { return !x.Holds || x.Asked > x.Silent })
}

// Problems joins the failures.
func (p Proof) Problems() string {
	var out []string
	for _, x := range p.Partitions {
		if !x.Holds {
			out = append(out, x.Problem)
		}
	}
	for _, x := range p.Lanes {
		if !x.Holds {
			out = append(out, x.Problem)
		}
	}
	return strings.Join(out, "; ")
}

// expectation is the expected answer about one partition.
type expectation struct {
	osmfile.Partition
	absent bool
	pairs  [][2]ident.GUID  // pairs to query; nil means a sample of the members
	fresh  []osmfile.Member // new in the partition: only they show that OpenSM has read the file
	moved  []ident.GUID     // ports whose service level in the partition changed: likewise
}

// questions returns the pairs to query, first changed and new members.
func (e expectation) questions(n int) [][2]ident.GUID {
	if e.pairs != nil {
		return e.pairs
	}
	out := samplePairs(e.Members, n)
	at := slices.IndexFunc(e.Members, func(m osmfile.Member) bool { return m.Full })
	if at < 0 {
		return out
	}
	full := e.Members[at].PortGUID
	var first [][2]ident.GUID
	for k := range n * spare { // alternating, since either kind could use up the number of queries
		if k < len(e.moved) {
			first = append(first, [2]ident.GUID{e.moved[k], full}) // the service level is that of the source port
		}
		if k < len(e.fresh) {
			first = append(first, [2]ident.GUID{full, e.fresh[k].PortGUID})
		}
	}
	return append(first, out...)
}

// prover queries subnet administration.
type prover struct {
	transport mad.Transport
	prefix    uint64 // of GIDs
	pairs     int    // queried for each partition
	lanes     *osmfile.Lanes
}

// inFlight bounds the concurrent queries.
const inFlight = 16

// The wait between rounds doubles from the first value to the last.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 2 * time.Second
)

// prove queries until everything is in force or ctx ends. The error is a failed query; the proof lists the entries that are not in force.
func (p *prover) prove(ctx context.Context, want []expectation) (Proof, error) {
	var proof Proof
	var err error
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		next, e := p.round(ctx, want)
		if e == nil || !errors.Is(e, context.DeadlineExceeded) && !errors.Is(e, context.Canceled) || proof.Rounds == 0 {
			rounds := proof.Rounds + 1
			proof, err = next, e
			proof.Rounds = rounds
		}
		if e == nil && proof.Holds() || !pause(ctx, wait) {
			return proof, err
		}
	}
}

// pause waits; it returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// round queries everything once.
func (p *prover) round(ctx context.Context, want []expectation) (Proof, error) {
	sm, err := saquery.MasterLID(ctx, p.transport)
	if err != nil {
		return Proof{}, err
	}
	proof := Proof{Partitions: make([]PartitionProof, len(want))}
	parent := ctx
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(inFlight)
	ports := make([]ident.LID, len(want)) // one of each partition
	for i := range want {
		g.Go(func() error {
			var err error
			proof.Partitions[i], ports[i], err = p.partition(ctx, sm, want[i])
			return err
		})
	}
	if err := g.Wait(); err != nil || p.lanes == nil {
		return proof, err
	}
	slices.Sort(ports)
	for _, lid := range slices.Compact(ports) {
		if lid == 0 {
			continue
		}
		x, err := p.port(parent, lid)
		if err != nil {
			return proof, err
		}
		proof.Lanes = append(proof.Lanes, x)
	}
	return proof, nil
}

// partition queries paths between sampled members, and returns the LID of one of them.
func (p *prover) partition(ctx context.Context, sm ident.LID, want expectation) (out PartitionProof, port ident.LID, err error) {
	out = PartitionProof{Tenant: want.Tenant, PKey: want.PKey, Want: want.SL, Absent: want.absent, Holds: true}
	for _, pair := range want.questions(p.pairs) {
		if out.Asked-out.Silent == p.pairs {
			break
		}
		out.Asked++
		got, found, err := p.path(ctx, sm, pair, want.PKey|0x8000)
		if err != nil {
			return out, port, err
		}
		if found && !want.absent {
			port = got.SLID
		}
		where := fmt.Sprintf("between ports %s and %s", pair[0], pair[1])
		out.answer = "no path " + where
		switch {
		case !found && want.absent:
		case found && want.absent:
			out.Holds, out.Problem = false, fmt.Sprintf("partition 0x%04x was removed, but subnet administration still returns a path %s", uint16(want.PKey), where)
		case found && got.SL != want.SL:
			out.Holds, out.answer = false, fmt.Sprintf("SL %d %s", got.SL, where)
			out.Problem = fmt.Sprintf("tenant %s: subnet administration returns SL %d in partition 0x%04x %s, not SL %d", want.Tenant, got.SL, uint16(want.PKey), where, want.SL)
		case !found:
			if _, up, err := p.path(ctx, sm, pair, 0); err != nil {
				return out, port, err
			} else if !up {
				out.Silent++
				continue
			}
			out.Holds = false
			out.Problem = fmt.Sprintf("tenant %s: subnet administration found no path in partition 0x%04x %s", want.Tenant, uint16(want.PKey), where)
		}
		if !out.Holds {
			return out, port, nil
		}
	}
	if out.Asked == out.Silent && !want.absent {
		out.Problem = fmt.Sprintf("tenant %s: none of its sampled ports is up, so nothing is proven", want.Tenant)
	}
	return out, port, nil
}

// path queries one path; P_Key 0 means any partition.
func (p *prover) path(ctx context.Context, sm ident.LID, pair [2]ident.GUID, key ident.PKey) (rec mad.PathRecord, found bool, err error) {
	q := mad.PathRecord{SGID: mad.NewGID(p.prefix, pair[0]), DGID: mad.NewGID(p.prefix, pair[1]), PKey: key}
	mask := mad.PathCompSGID | mad.PathCompDGID
	if key != 0 {
		mask |= mad.PathCompPKey
	}
	rec, err = saquery.Path(ctx, p.transport, sm, q, mask)
	switch {
	case errors.As(err, new(saquery.NoPathError)):
		return rec, false, nil
	case err != nil:
		return rec, false, fmt.Errorf("ask subnet administration for a path: %w", err)
	}
	return rec, true, nil
}

// spare is how many times more pairs are tried than requested, when ports are down.
const spare = 4

// samplePairs returns pairs of members in which the first member is full. n pairs are spread over the list, the first
// full member with the last member. Further pairs follow, up to spare times n, and finally pairs of a port with
// itself.
func samplePairs(ms []osmfile.Member, n int) [][2]ident.GUID {
	var full, all []ident.GUID
	for _, m := range ms {
		all = append(all, m.PortGUID)
		if m.Full {
			full = append(full, m.PortGUID)
		}
	}
	if len(full) == 0 {
		return nil
	}
	var out [][2]ident.GUID
	for r := range spare {
		for q := range n {
			k := q*spare + r
			pair := [2]ident.GUID{full[k*len(full)/(n*spare)], all[len(all)-1-k*len(all)/(n*spare)]}
			if !slices.Contains(out, pair) {
				out = append(out, pair)
			}
		}
	}
	for q := range n { // a port with itself, when all others are down
		if g := full[q*len(full)/n]; !slices.Contains(out, [2]ident.GUID{g, g}) {
			out = append(out, [2]ident.GUID{g, g})
		}
	}
	return out
}

// observeSM queries the master's SMInfo.
func observeSM(ctx context.Context, t mad.Transport) (osmfile.Observation, error) {
	lid, err := saquery.MasterLID(ctx, t)
	if err != nil {
		return osmfile.Observation{}, err
	}
	req := mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)
	var info mad.SMInfo
	if err := saquery.Read(ctx, t, mad.Target{LID: lid}, &req, &info); err != nil {
		return osmfile.Observation{}, fmt.Errorf("read SMInfo of the subnet manager: %w", err)
	}
	return osmfile.Observation{GUID: info.GUID, LID: lid, Activity: info.ActCount, Priority: info.Priority, State: info.State}, nil
}
