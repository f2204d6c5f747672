package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/fieldwise"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Planes of Ethernet fabrics. Their devices have no LID: how one is reached is up to its driver.
const (
	PlaneRoCE = subnet.PlaneRoCE // NIC ports and switches with marking
	PlaneWRCC = subnet.PlaneWRCC // NIC ports and switches with fair rates
)

// NICState is what a NIC port is told: the parameters that a plan manages and no others. As an observed state it is
// every parameter that could be read; those that nobody asked for do not count in Diff.
type NICState struct {
	Params []NICParam      `json:"params"`         // by name, then index, each once
	WRCC   *wrcc.NICConfig `json:"wrcc,omitempty"` // on PlaneWRCC
	// AllShares says that Params has every share of a virtual function (ShareParam) that there is to be: a function
	// without one is to have none, 0, as after its tenant left.
	AllShares bool `json:"all_shares,omitempty"`
	// Acting holds the values in force of parameters whose values in Params take effect at the next firmware reset. Only observed
	// states have it; Diff ignores it.
	Acting []NICParam `json:"acting,omitempty"`
}

// ShareParam is the rate that a virtual function has for sure, in Mbit/s, by its index; 0 is none.
const ShareParam = "vf_tx_share"

// NICParam is the value of one parameter of a NIC port.
type NICParam struct {
	Name  string `json:"name"`            // as in nicparam's table
	Index int    `json:"index,omitempty"` // within the parameter's scope, such as a priority
	Value uint64 `json:"value"`           // in the parameter's unit
}

// QueueState is the marking of an Ethernet switch's queues. Queues without an entry are left as they are.
type QueueState struct {
	Marking []ecn.QueueMarking `json:"marking"` // by port, then queue, each once
}

// NICCapabilities is what a NIC port can be told.
type NICCapabilities struct {
	Params []string `json:"params"`          // names of the parameters that can be written now, sorted
	Wide   bool     `json:"wide"`            // registers of rates have 32 bits
	VFs    int      `json:"vfs"`             // virtual functions that can have shares
	WRCC   bool     `json:"wrcc"`            // has senders with weights
	Most   int      `json:"most_senders"`    // of them
	Reset  []string `json:"reset,omitempty"` // parameters that act only after a firmware reset
}

// QueueCapabilities is what an Ethernet switch can be told.
type QueueCapabilities struct {
	Ports    int `json:"ports"`
	Queues   int `json:"queues"`   // of a port
	Profiles int `json:"profiles"` // different markings at the same time; 0 when not bounded
	// Marked are the queues, ascending, that mark on some port now.
	Marked []uint8 `json:"marked,omitempty"`
}

// ethernet reports whether the device is on a plane without LIDs.
func (d Device) ethernet() bool { return d.Plane == PlaneRoCE || d.Plane == PlaneWRCC }

// validateRanges checks that every parameter exists and holds what some device's register can, and the order.
func (s *NICState) validateRanges() error {
	for i, p := range s.Params {
		if i > 0 && compareParams(s.Params[i-1], p) >= 0 {
			return fieldwise.Bad(fmt.Sprintf("nic.params[%d]", i), p.key(), "parameters by name and index, each once")
		}
	}
	if s.WRCC != nil {
		return s.WRCC.Validate()
	}
	return nil
}

// validate checks the values against a table of devices with every capability: what one device lacks its own agent
// refuses.
func (s *NICState) validate(d Device) error {
	if err := s.validateRanges(); err != nil {
		return err
	}
	if d.Plane == PlaneWRCC && s.WRCC == nil {
		return fieldwise.Bad("nic.wrcc", fieldwise.Absent, "the senders of a NIC on plane wrcc")
	}
	table := richest()
	set := make([]nicparam.Setting, len(s.Params))
	for i, p := range s.Params {
		key := nicparam.Key{Port: int(d.ID.Port), Name: p.Name, Index: p.Index}
		if row, ok := table.Find(p.Name); ok && row.Scope == nicparam.ScopeDevice {
			key.Port = 0
		}
		set[i] = nicparam.Setting{Key: key, Value: p.Value}
	}
	return table.Check(set, nil)
}

// richest is the table of a device that has everything. Nobody changes it.
var richest = sync.OnceValue(func() *nicparam.Table {
	c := nicparam.Caps{GeneralCC: true, NewNV: true, VFRates: true, Switchdev: true, TCRates: true}
	c.Limits = dcqcn.Limits{Rate32: true, UndocumentedGD: true}
	return nicparam.New(c)
})

// diffNIC notes the wanted parameters that are absent or different.
func diffNIC(ds *fieldwise.Differences, want, got *NICState) {
	for _, w := range slices.Concat(want.Params, want.Cleared(got)) {
		g, ok := got.Param(w.Name, w.Index)
		if !ok {
			ds.Add("nic."+w.key(), strconv.FormatUint(w.Value, 10), fieldwise.Absent)
			continue
		}
		ds.Number("nic."+w.key(), w.Value, g)
	}
	if want.WRCC != nil && both(ds, "nic.wrcc", "settings", true, got.WRCC != nil) {
		diffSenders(ds, want.WRCC, got.WRCC)
	}
}

func diffSenders(ds *fieldwise.Differences, want, got *wrcc.NICConfig) {
	ds.Number("nic.wrcc.domain", uint64(want.Domain), uint64(got.Domain))
	ds.Number("nic.wrcc.t1_us", uint64(want.T1Us), uint64(got.T1Us))
	ds.Number("nic.wrcc.min_rate_mbps", uint64(want.MinRateMbps), uint64(got.MinRateMbps))
	ds.Add("nic.wrcc.increase", want.Increase, got.Increase)
	wrcc.MergeBy(want.Senders, got.Senders, wrcc.SenderWeight.Compare, func(w, g *wrcc.SenderWeight) {
		at := fmt.Sprintf("nic.wrcc.senders[%s]", cmp.Or(w, g).Name)
		if !both(ds, at, "an entry", w != nil, g != nil) {
			return
		}
		ds.Add(at+".weight", w.Weight.String(), g.Weight.String())
		wrcc.MergeBy(w.Peers, g.Peers, wrcc.PeerWeight.Compare, func(w, g *wrcc.PeerWeight) {
			peer := fmt.Sprintf("%s.peers[%s]", at, cmp.Or(w, g).Port)
			if both(ds, peer, "an entry", w != nil, g != nil) {
				ds.Add(peer+".weight", w.Weight.String(), g.Weight.String())
			}
		})
	})
}

// Cleared lists, each with value 0, the shares of functions that an observed state has and s, having all that there are
// to be, has not. A driver writes them with Params.
func (s *NICState) Cleared(got *NICState) []NICParam {
	if !s.AllShares {
		return nil
	}
	var out []NICParam
	for _, g := range got.Params {
		if g.Name != ShareParam || g.Value == 0 {
			continue
		}
		if _, wanted := s.Param(g.Name, g.Index); !wanted {
			out = append(out, NICParam{Name: g.Name, Index: g.Index})
		}
	}
	return out
}

// Param returns the value of a parameter; false when the state has none.
func (s *NICState) Param(name string, index int) (uint64, bool) {
	i, ok := slices.BinarySearchFunc(s.Params, NICParam{Name: name, Index: index}, compareParams)
	if !ok {
		return 0, false
	}
	return s.Params[i].Value, true
}

// Now returns the value of a parameter that is in force; false when the state has none.
func (s *NICState) Now(name string, index int) (uint64, bool) {
	for _, p := range s.Acting {
		if p.Name == name && p.Index == index {
			return p.Value, true
		}
	}
	return s.Param(name, index)
}

// Sort brings the parameters into their order.
func (s *NICState) Sort() { slices.SortFunc(s.Params, compareParams) }

func (s *NICState) clone() *NICState {
	out := &NICState{Params: slices.Clone(s.Params), AllShares: s.AllShares, Acting: slices.Clone(s.Acting)}
	if s.WRCC != nil {
		out.WRCC = s.WRCC.Clone()
	}
	return out
}

func compareParams(a, b NICParam) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
}

// key names the parameter as "rpg_gd" or "tc_bw[3]".
func (p NICParam) key() string {
	if p.Index == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s[%d]", p.Name, p.Index)
}

func (s *QueueState) validate(ports int) error {
	for i, q := range s.Marking {
		at := fmt.Sprintf("queues.marking[%d].", i)
		if q.Port < 1 || int(q.Port) > ports {
			return fieldwise.Bad(at+"port", q.Port, fmt.Sprintf("1 to %d", ports))
		}
		if i > 0 && compareQueues(s.Marking[i-1], q) >= 0 {
			return fieldwise.Bad(at+"queue", fmt.Sprintf("port %d queue %d", q.Port, q.Queue), "queues by port and number, each once")
		}
		if err := q.Validate(); err != nil {
			return fmt.Errorf("%s%w", at, err)
		}
	}
	return nil
}

// diffQueues notes the wanted queues that are absent or marked otherwise.
func diffQueues(ds *fieldwise.Differences, want, got *QueueState) {
	for _, w := range want.Marking {
		at := fmt.Sprintf("queues[%d/%d]", w.Port, w.Queue)
		g, ok := got.Queue(w.Port, w.Queue)
		if !both(ds, at, "an entry", true, ok) {
			continue
		}
		ds.Number(at+".min_bytes", uint64(w.Marking.Min), uint64(g.Min))
		ds.Number(at+".max_bytes", uint64(w.Marking.Max), uint64(g.Max))
		ds.Number(at+".p_max_percent", uint64(w.Marking.PMaxPct), uint64(g.PMaxPct))
	}
}

// Queue returns the marking of a queue; false when the state has none.
func (s *QueueState) Queue(port ident.PortNum, queue uint8) (ecn.Marking, bool) {
	i, ok := slices.BinarySearchFunc(s.Marking, ecn.QueueMarking{Port: port, Queue: queue}, compareQueues)
	if !ok {
		return ecn.Marking{}, false
	}
	return s.Marking[i].Marking, true
}

// Sort brings the queues into their order.
func (s *QueueState) Sort() { slices.SortFunc(s.Marking, compareQueues) }

func compareQueues(a, b ecn.QueueMarking) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Queue, b.Queue))
}
