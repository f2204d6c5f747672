package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/fieldwise"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Planes of Ethernet fabrics. Their devices have no LID; the driver determines how to reach a device.
const (
	PlaneRoCE = subnet.PlaneRoCE // NIC ports and switches with marking
	PlaneWRCC = subnet.PlaneWRCC // NIC ports and switches with fair rates
)

// NICState is the desired state of a NIC port: only the parameters that a plan manages. As an observed state it contains every
// readable parameter; Diff ignores those that are not in the desired state.
type NICState struct {
	Params []NICParam      `json:"params"`         // by name, then index; no duplicates
	WRCC   *wrcc.NICConfig `json:"wrcc,omitempty"` // on PlaneWRCC
	// AllShares means that Params contains every desired share of a virtual function (ShareParam). A function without an entry
	// must have the share 0, for example after its tenant left.
	AllShares bool `json:"all_shares,omitempty"`
	// Shares are the parts of the port's traffic classes, by class: see ShareParams. Set, they are complete, because the parts of a
	// port sum to 100 percent. Nil means that Fairlane does not divide the port by class. They occur only in desired states:
	// observed ones have the parameters.
	Shares []qos.ClassShare `json:"shares,omitempty"`
	// Acting holds the current values of parameters whose values in Params take effect at the next firmware reset. It occurs
	// only in observed states; Diff ignores it.
	Acting []NICParam `json:"acting,omitempty"`
	// Algorithm is the congestion-control algorithm of the port; nil if the host does not report one. It occurs only in observed
	// states; Diff ignores it.
	Algorithm *ccalgo.State `json:"algorithm,omitempty"`
}

// ShareParam is the guaranteed rate of a virtual function, in Mbit/s, by its index; 0 means none.
const ShareParam = "vf_tx_share"

// NICParam is the value of one parameter of a NIC port.
type NICParam struct {
	Name  string `json:"name"`            // as in nicparam's table
	Index int    `json:"index,omitempty"` // within the parameter's scope, such as a priority
	Value uint64 `json:"value"`           // in the parameter's unit
}

// QueueState is the marking of an Ethernet switch's queues, and their weights. Queues without an entry are not changed.
type QueueState struct {
	Marking []ecn.QueueMarking `json:"marking"` // by port, then queue; no duplicates
	// Weights are those of queues with a weighted scheduler, by port, then queue; no duplicates. An observed state has those in
	// force.
	Weights []qos.QueueWeight `json:"weights,omitempty"`
}

// NICCapabilities are the supported settings of a NIC port.
type NICCapabilities struct {
	Params []string `json:"params"`          // names of the parameters that are writable now, sorted
	Wide   bool     `json:"wide"`            // rate registers have 32 bits
	VFs    int      `json:"vfs"`             // number of virtual functions that can have shares
	WRCC   bool     `json:"wrcc"`            // supports senders with weights
	Most   int      `json:"most_senders"`    // largest number of such senders
	Reset  []string `json:"reset,omitempty"` // parameters that take effect only after a firmware reset
	Shares bool     `json:"shares"`          // the port can be divided by traffic class: tsa and tc_bw are writable
}

// QueueCapabilities are the supported settings of an Ethernet switch.
type QueueCapabilities struct {
	Ports    int `json:"ports"`
	Queues   int `json:"queues"`   // queues per port
	Profiles int `json:"profiles"` // different markings at the same time; 0 means unlimited
	// Marked are the queues, ascending, that currently mark on some port.
	Marked []uint8 `json:"marked,omitempty"`
	// Weighted are the queues, by port, whose weights can be written: each has a weighted scheduler that no other queue uses.
	Weighted []PortQueues `json:"weighted,omitempty"`
}

// PortQueues are queues of a switch port.
type PortQueues struct {
	Port   ident.PortNum `json:"port"`
	Queues []uint8       `json:"queues"` // ascending
}

// ethernet reports whether the device is on a plane without LIDs.
func (d Device) ethernet() bool { return d.Plane == PlaneRoCE || d.Plane == PlaneWRCC }

// validateRanges checks that every parameter exists and has a value that some device's register can hold, and checks the order.
func (s *NICState) validateRanges() error {
	for i, p := range s.Params {
		if i > 0 && compareParams(s.Params[i-1], p) >= 0 {
			return fieldwise.Bad(fmt.Sprintf("nic.params[%d]", i), p.key(), "parameters by name and index, each once")
		}
	}
	if err := s.validateShares(); err != nil {
		return err
	}
	if s.WRCC != nil {
		return s.WRCC.Validate()
	}
	return nil
}

// validate checks the values against the table of a device with every capability; a device's own agent rejects what the device
// lacks.
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

// richest is the table of a device with all capabilities. It must not be changed.
var richest = sync.OnceValue(func() *nicparam.Table {
	c := nicparam.Caps{GeneralCC: true, NewNV: true, VFRates: true, Switchdev: true, TCRates: true, Bnxt: true}
	c.Limits = dcqcn.Limits{Rate32: true, UndocumentedGD: true}
	return nicparam.New(c)
})

// diffNIC adds the desired parameters that are absent or different.
func diffNIC(ds *fieldwise.Differences, want, got *NICState) {
	for _, w := range slices.Concat(want.Params, want.Cleared(got), want.ShareParams()) {
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

// Cleared returns, with value 0, the shares of functions that the observed state has and s does not, if s has AllShares. A
// driver writes them with Params.
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

// Param returns the value of a parameter; false if the state has none.
func (s *NICState) Param(name string, index int) (uint64, bool) {
	i, ok := slices.BinarySearchFunc(s.Params, NICParam{Name: name, Index: index}, compareParams)
	if !ok {
		return 0, false
	}
	return s.Params[i].Value, true
}

// Now returns the current value of a parameter; false if the state has none.
func (s *NICState) Now(name string, index int) (uint64, bool) {
	for _, p := range s.Acting {
		if p.Name == name && p.Index == index {
			return p.Value, true
		}
	}
	return s.Param(name, index)
}

// Sort sorts the parameters.
func (s *NICState) Sort() { slices.SortFunc(s.Params, compareParams) }

func (s *NICState) clone() *NICState {
	out := &NICState{Params: slices.Clone(s.Params), AllShares: s.AllShares, Shares: slices.Clone(s.Shares), Acting: slices.Clone(s.Acting), Algorithm: s.Algorithm}
	if s.WRCC != nil {
		out.WRCC = s.WRCC.Clone()
	}
	return out
}

func compareParams(a, b NICParam) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
}

// key formats the parameter as "rpg_gd" or "tc_bw[3]".
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
	return s.validateWeights(ports)
}

// diffQueues adds the desired queues that are absent or have a different marking or weight.
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
	for _, w := range want.Weights {
		at := fmt.Sprintf("queues[%d/%d].weight", w.Port, w.Queue)
		if g, ok := got.Weight(w.Port, w.Queue); ok {
			ds.Number(at, uint64(w.Weight), uint64(g))
		} else {
			ds.Add(at, strconv.Itoa(int(w.Weight)), fieldwise.Absent)
		}
	}
}

// Queue returns the marking of a queue; false if the state has none.
func (s *QueueState) Queue(port ident.PortNum, queue uint8) (ecn.Marking, bool) {
	i, ok := slices.BinarySearchFunc(s.Marking, ecn.QueueMarking{Port: port, Queue: queue}, compareQueues)
	if !ok {
		return ecn.Marking{}, false
	}
	return s.Marking[i].Marking, true
}

// Sort sorts the queues.
func (s *QueueState) Sort() {
	slices.SortFunc(s.Marking, compareQueues)
	slices.SortFunc(s.Weights, compareWeights)
}

func compareQueues(a, b ecn.QueueMarking) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Queue, b.Queue))
}
