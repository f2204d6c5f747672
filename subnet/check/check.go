// Package check finds faults of a fabric: cables slower than both ends support, routes that loop or dead-end, credit
// loops, lanes that drop a tenant's packets or are never served, devices without congestion control, partitions that
// separate endpoints. It is pure: the same fabric gives the same findings in the same order, and it changes nothing.
//
// Data that was not read is not judged: the Tally of a group of checks without input gives the reason, and the group
// does not count as passed.
package check

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Severity ranks findings.
type Severity uint8

// Severities. An Error means lost traffic, a possible deadlock, or weights without effect. A Warning means lost
// throughput or a risk. An Info can be intended.
const (
	Info Severity = iota + 1
	Warning
	Error
)

// String returns "info", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Error:
		return "error"
	default:
		return fmt.Sprintf("severity %d", uint8(s))
	}
}

// MarshalText returns the severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one fault.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Count is the number of affected links, ports, pairs or nodes; at least 1.
	Count int `json:"count"`
	// Folded is the number of unlisted findings that this one represents; 0 for an ordinary finding.
	Folded int `json:"folded,omitempty"`
	// Nodes and Ports locate the fault: at most MaxPlaces of each, in the order of the fabric.
	Nodes  []ident.GUID   `json:"nodes,omitempty"`
	Ports  []ident.PortID `json:"ports,omitempty"`
	Text   string         `json:"text"`
	Remedy string         `json:"remedy"`
	// Said is Text in localisable form.
	Said phrase.Text `json:"-"`
}

// Bounds of a report.
const (
	// MaxPlaces bounds the nodes, and the ports, that a finding lists.
	MaxPlaces = 64
	// MaxOfACode bounds the findings of one code; one more finding counts the excess.
	MaxOfACode = 50
)

// Extra is optional information beyond the model.
type Extra struct {
	// Details belong to the same fabric; nil when it was read from a file.
	Details *subnet.Details
	// Notes are the anomalies that the sweep found.
	Notes []Note
	// Uses are the tenants' attachments in the fabric. When given, faults of SLs that no tenant uses are less severe.
	Uses []Use
}

// Note is an anomaly found by the sweep.
type Note struct {
	Code Code // one of the codes of the sweep
	Node ident.GUID
	Port ident.PortNum
	Said phrase.Text
}

// Use is a tenant's attachment to a port of a channel adapter.
type Use struct {
	Tenant string
	PKey   ident.PKey // 0: the default partition
	Port   subnet.PortRef
	SL     ident.SL
	HasSL  bool // false: its SL is not decided yet
}

// Report is the result of all checks.
type Report struct {
	Findings []Finding          `json:"findings"` // errors first, then by code and place
	Totals   map[Severity]Total `json:"totals"`   // of every severity
	Checked  []Tally            `json:"checked"`  // in the order of Groups
}

// Total counts the findings of one severity, including unlisted ones, and the affected places.
type Total struct {
	Findings int `json:"findings"`
	Places   int `json:"places"` // links, ports, pairs or nodes; a place counts once for each of its findings
}

// Worst returns the highest severity of the findings; 0 without findings.
func (r *Report) Worst() Severity {
	worst := Severity(0)
	for i := range r.Findings {
		worst = max(worst, r.Findings[i].Severity)
	}
	return worst
}

// Tally is the coverage of one group of checks.
type Tally struct {
	Group Group `json:"group"`
	// Of is the number of checked items, Bad the number of those with an error or a warning.
	Of  int `json:"of"`
	Bad int `json:"bad"`
	// Unread counts the items that could not be checked, because the device did not answer.
	Unread int `json:"unread,omitempty"`
	// Skipped is the reason why nothing was checked; empty when something was checked.
	Skipped Skip `json:"skipped,omitempty"`
}

// Skip is a stable code of the reason why a group was not checked.
type Skip string

// Reasons to skip a group.
const (
	SkipNoRoutes   Skip = "no-forwarding-tables" // the fabric has none
	SkipNoLIDs     Skip = "no-lids"              // a file without LIDs
	SkipNoLanes    Skip = "no-lane-tables"       // no SL to VL or arbitration table was read
	SkipOneLane    Skip = "one-lane"             // no port has more than one lane in operation
	SkipNoCC       Skip = "cc-not-asked"         // no device was queried for congestion control
	SkipNoKeyTable Skip = "no-partition-tables"  // no partition table was read
)

// Skips lists all reasons.
func Skips() []Skip {
	return []Skip{SkipNoRoutes, SkipNoLIDs, SkipNoLanes, SkipOneLane, SkipNoCC, SkipNoKeyTable}
}

// Group names a group of checks. The comment of each group gives the unit of its Tally.
type Group string

// Groups of checks.
const (
	GroupSweep     Group = "sweep"              // nodes
	GroupLinks     Group = "links"              // links
	GroupAddresses Group = "addresses"          // ports with a LID of their own
	GroupRoutes    Group = "routes"             // pairs of a host's port and another's LID
	GroupLoops     Group = "credit-loops"       // ports of switches that lead to switches
	GroupLanes     Group = "lanes"              // ports that send on several lanes
	GroupCC        Group = "congestion-control" // nodes
	GroupKeys      Group = "partitions"         // partition tables
	GroupDevices   Group = "devices"            // nodes
)

// Groups lists all groups in the order of a report.
func Groups() []Group {
	return []Group{GroupSweep, GroupLinks, GroupAddresses, GroupRoutes, GroupLoops, GroupLanes, GroupCC, GroupKeys, GroupDevices}
}

// checker collects findings.
type checker struct {
	f     *subnet.Fabric
	x     Extra
	out   []Finding
	tally map[Group]*Tally
	tiers []int
	// routeGraph and channels are nil when there are no forwarding tables.
	routeGraph *routeGraph
	channels   *channels
}

// Check runs all checks. It takes under a second for 2,000 nodes.
func Check(f *subnet.Fabric, x Extra) *Report {
	if x.Details != nil && len(x.Details.Nodes) != len(f.Nodes) {
		x.Details = nil // they belong to another fabric
	}
	c := &checker{f: f, x: x, tiers: f.Tiers(), tally: make(map[Group]*Tally)}
	for _, g := range Groups() {
		c.tally[g] = &Tally{Group: g}
	}
	c.sweep()
	c.links()
	c.addresses()
	c.routes()
	c.creditLoops()
	c.lanes()
	c.congestionControl()
	c.partitions()
	c.devices()
	r := &Report{Findings: c.bounded(), Totals: map[Severity]Total{}}
	for s := Info; s <= Error; s++ {
		r.Totals[s] = Total{}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		t := r.Totals[f.Severity]
		r.Totals[f.Severity] = Total{t.Findings + max(f.Folded, 1), t.Places + f.Count}
	}
	for _, g := range Groups() {
		r.Checked = append(r.Checked, *c.tally[g])
	}
	return r
}

// add adds a finding, with the severity and the remedy of its code.
func (c *checker) add(code Code, places places, said phrase.Text) *Finding {
	c.out = append(c.out, finding(code, said))
	f := &c.out[len(c.out)-1]
	f.Severity, f.Count, f.Nodes, f.Ports = kinds[code].severity, max(places.n, 1), places.nodes, places.ports
	return f
}

// finding returns a finding without place and severity.
func finding(code Code, said phrase.Text) Finding {
	return Finding{Code: code, Text: said.String(), Remedy: kinds[code].remedy, Said: said}
}

// bounded sorts the findings and drops the excess of one code.
func (c *checker) bounded() []Finding {
	slices.SortStableFunc(c.out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Code, b.Code))
	})
	out := []Finding{}
	for i := 0; i < len(c.out); {
		end := i
		for end < len(c.out) && c.out[end].Code == c.out[i].Code && c.out[end].Severity == c.out[i].Severity {
			end++
		}
		same := c.out[i:end]
		i = end
		if len(same) <= MaxOfACode {
			out = append(out, same...)
			continue
		}
		out = append(out, same[:MaxOfACode]...)
		folded, at := len(same)-MaxOfACode, 0
		for _, f := range same[MaxOfACode:] {
			at += f.Count
		}
		rest := finding(same[0].Code, phrase.Of("check.and-more", "n", folded, "places", countPlace.Of(at)))
		rest.Severity, rest.Folded, rest.Count = same[0].Severity, folded, at
		out = append(out, rest)
	}
	return out
}

// places collects the places of a fault, and counts those that it does not keep.
type places struct {
	n     int
	nodes []ident.GUID
	ports []ident.PortID
	names []string       // the first maxSamples
	last  subnet.PortRef // the port that was added last
}

// of returns the places of a key, and adds an empty entry when there is none.
func of[K comparable](m map[K]*places, k K) *places {
	p := m[k]
	if p == nil {
		p = &places{}
		m[k] = p
	}
	return p
}

func (c *checker) atPorts(refs ...subnet.PortRef) places {
	var p places
	for _, r := range refs {
		p.port(c.f, r)
	}
	p.n = 1
	return p
}

func (p *places) port(f *subnet.Fabric, r subnet.PortRef) {
	if p.n < maxSamples {
		p.names = append(p.names, f.PortName(r))
	}
	if p.n++; len(p.ports) < MaxPlaces {
		p.ports = append(p.ports, f.PortID(r))
	}
	p.last = r
}

// once is like port, but ignores a port equal to the previous one. It reports whether it added the port.
func (p *places) once(f *subnet.Fabric, r subnet.PortRef) bool {
	if p.n > 0 && p.last == r {
		return false
	}
	p.port(f, r)
	return true
}

func (p *places) node(f *subnet.Fabric, n int32) {
	if p.n < maxSamples {
		p.names = append(p.names, f.Nodes[n].Label())
	}
	if p.n++; len(p.nodes) < MaxPlaces {
		p.nodes = append(p.nodes, f.Nodes[n].GUID)
	}
}

// some names the first places.
func (p *places) some() phrase.Text { return phrase.Names(p.names, p.n, maxSamples) }

// name returns a node's display name.
func (c *checker) name(n int32) string { return c.f.Nodes[n].Label() }

// maxSamples bounds the names in a text.
const maxSamples = 4

// some lists the first few of n things.
func some(things phrase.Commas, n int) phrase.Text { return phrase.First(things, n, maxSamples) }
