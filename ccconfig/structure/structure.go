// Package structure plans the structure of classes on a SONiC switch: maps of DSCPs, queues with schedulers and marking, pause and the
// priority groups of lossless classes. Such changes take ports down, so a plan of weights never makes them. The package compares a
// config_db.json with the classes of a site, and returns the exact patch by steps with its inverse. It does not access devices.
package structure

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/ccconfig/headroom"
	"fairlane/ccconfig/qos"
	"fairlane/internal/phrase"
)

// Guard is the generation of the list of changes that the generic config updater of an image permits.
type Guard string

// Guards.
const (
	Guard2025 Guard = "2025" // images before 2026-01-27: no new WRED profiles
	Guard2026 Guard = "2026" // images since 2026-01-27: no changes of maps, in practice
	NoGuard   Guard = "none" // the operator has extended the list
)

// PerPort is the estimated time of a patch of one port, from one public report about a chassis. Patches of several ports take longer per port:
// 40 min for 6, so a plan has one step for each port.
const PerPort = 3 * time.Minute

// Largest number of rows of a table, and of ports of one ASIC with those to other ASICs.
const (
	maxRows  = 65536
	maxPorts = 1024
)

// maxRatio is the largest oversubscription of headroom.
const maxRatio = 100

// fault returns an error with a sentence for every language.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// Tables are the rows of CONFIG_DB by table and key; all values are strings.
type Tables map[string]map[string]map[string]string

// used returns the tables that a plan reads.
func used() []string {
	return []string{"PORT", "QUEUE", "SCHEDULER", "WRED_PROFILE", "PORT_QOS_MAP", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
		"MAP_PFC_PRIORITY_TO_QUEUE", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "CABLE_LENGTH", "PFC_WD"}
}

// Parse parses config_db.json, and ignores the tables that a plan does not read. Errors name the table.
func Parse(text []byte) (Tables, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fault(phrase.Of("structure.want-tables", "reason", err))
	}
	out := Tables{}
	for _, name := range used() {
		if all[name] == nil {
			continue
		}
		var rows map[string]map[string]json.RawMessage
		if err := json.Unmarshal(all[name], &rows); err != nil {
			return nil, fault(phrase.Of("structure.want-rows", "table", name, "reason", err))
		}
		most := maxRows
		if name == "PORT" {
			most = maxPorts
		}
		if len(rows) > most {
			return nil, fault(phrase.Of("structure.too-many-rows", "table", name, "n", len(rows), "max", most))
		}
		out[name] = make(map[string]map[string]string, len(rows))
		for key, fields := range rows {
			if name != "PORT_QOS_MAP" && slices.Contains(bindings(), name) && strings.Count(key, "|") > 1 {
				return nil, fault(phrase.Of("structure.voq-row", "table", name, "row", fmt.Sprintf("%.64q", key)))
			}
			row := make(map[string]string, len(fields))
			for field, v := range fields {
				var word string
				if json.Unmarshal(v, &word) != nil {
					word = string(v)
				}
				row[field] = word
			}
			out[name][key] = row
		}
	}
	if len(out["PORT"]) == 0 {
		return nil, fault(phrase.Of("structure.no-ports"))
	}
	return out, nil
}

// Want is the structure that a site gives its switches.
type Want struct {
	Classes []qos.TrafficClass // 1 to 7, with different DSCPs and queues
	Lossy   bool               // the fabric has no pause: packets are dropped and sent again
	CNP     qos.TrafficClass   // notifications of congestion, in a strict queue
	Weight  uint8              // of the schedulers that the plan makes, 1 to 100
	Guard   Guard
	// WritableMaps means that the build accepts changes of maps, in spite of Guard2026.
	WritableMaps     bool
	Oversubscription float64 // of headroom, 1 or more
}

// Validate returns an error that names the value out of range.
func (w *Want) Validate() error {
	if len(w.Classes) < 1 || len(w.Classes) > qos.MaxQueue {
		return fault(phrase.Of("structure.class-count", "n", len(w.Classes), "max", qos.MaxQueue))
	}
	dscps, queues := map[uint8]bool{}, map[uint8]bool{}
	for _, c := range append(slices.Clone(w.Classes), w.CNP) {
		if err := c.Validate(); err != nil {
			return fault(phrase.Of("structure.class-invalid", "class", c.String(), "reason", err))
		}
		if dscps[c.DSCP] || queues[c.Queue] {
			return fault(phrase.Of("structure.class-twice", "class", c.String()))
		}
		dscps[c.DSCP], queues[c.Queue] = true, true
	}
	switch {
	case w.Weight < 1 || w.Weight > qos.MaxWeight:
		return fault(phrase.Of("structure.weight", "found", int(w.Weight), "max", qos.MaxWeight))
	case w.Guard != Guard2025 && w.Guard != Guard2026 && w.Guard != NoGuard:
		return fault(phrase.Of("structure.guard", "found", fmt.Sprintf("%.64q", w.Guard), "first", string(Guard2025), "second", string(Guard2026), "third", string(NoGuard)))
	case !(w.Oversubscription >= 1 && w.Oversubscription <= maxRatio):
		return fault(phrase.Of("structure.ratio", "found", fmt.Sprint(w.Oversubscription), "max", maxRatio))
	}
	if w.spare() > qos.MaxQueue {
		return fault(phrase.Of("structure.no-spare"))
	}
	return nil
}

// class returns whether a queue is that of a class.
func (w *Want) class(queue int) bool {
	return slices.ContainsFunc(w.Classes, func(c qos.TrafficClass) bool { return int(c.Queue) == queue })
}

// spare returns the lowest queue for other traffic; more than MaxQueue if there is none.
func (w *Want) spare() int {
	for q := range qos.MaxQueue + 1 {
		if !w.class(q) && q != int(w.CNP.Queue) {
			return q
		}
	}
	return qos.MaxQueue + 1
}

// pause returns the list of priorities with pause.
func (w *Want) pause() string {
	if w.Lossy {
		return ""
	}
	var out []string
	for q := range qos.MaxQueue + 1 {
		if w.class(q) {
			out = append(out, strconv.Itoa(q))
		}
	}
	return strings.Join(out, ",")
}

// Op is one operation of a patch (RFC 6902) on CONFIG_DB. Its path names a row, or a table that the switch has only with this row.
type Op struct {
	Op    string // "add", "replace" or "remove"
	Path  string
	Value map[string]string // fields of the row; nil with "remove"
	Table string
	Key   string

	alone bool // the operation is on the table: it makes the table with the row, or removes both
}

// MarshalJSON returns the operation as RFC 6902 defines it.
func (o Op) MarshalJSON() ([]byte, error) {
	out := struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}{Op: o.Op, Path: o.Path}
	switch {
	case o.Value == nil:
	case o.alone:
		out.Value = map[string]map[string]string{o.Key: o.Value}
	default:
		out.Value = o.Value
	}
	return json.Marshal(out)
}

// Reason says why a plan, or an operation, cannot be applied.
type Reason string

// Reasons.
const (
	MapsRefused    Reason = "maps-refused"     // the updater of the build fails to change maps
	ProfileRefused Reason = "profile-refused"  // the guard list of the build refuses new WRED profiles
	NoProfile      Reason = "no-profile"       // no lossless buffer profile fits the port's rate
	SeveralPorts   Reason = "several-ports"    // a row is about several ports
	HeadroomShort  Reason = "headroom-short"   // the headroom of the wanted classes exceeds the memory
	BadKey         Reason = "queue-row-broken" // the key of a row is not a port and a queue
)

// Obstacle is a reason with the place.
type Obstacle struct {
	Reason Reason   `json:"reason"`
	Ports  []string `json:"ports,omitempty"`
	Rows   []string `json:"rows,omitempty"` // such as "DSCP_TO_TC_MAP|FAIRLANE"
}

// Step is a part of the plan that is applied, read back and undone as a whole.
type Step struct {
	Port string `json:"port,omitempty"` // empty: objects that ports refer to, which must exist first
	Down bool   `json:"down"`           // the updater takes the port's link down
	Ops  []Op   `json:"patch"`
	Undo []Op   `json:"undo"`
}

// Group is the ports of one rate.
type Group struct {
	Speed string   `json:"speed"` // as PORT states it, Mbit/s
	Ports []string `json:"ports"` // that change
	Rows  []string `json:"rows"`  // tables that change
}

// Plan is the way from the tables of a switch to the structure of the site.
type Plan struct {
	Steps     []Step        `json:"steps"`
	Groups    []Group       `json:"groups"`
	Obstacles []Obstacle    `json:"obstacles"`
	Down      int           `json:"ports_down"`
	Estimate  time.Duration `json:"-"`
	Seconds   float64       `json:"estimate_s"`
	Lossless  int           `json:"lossless"` // classes with headroom
	Ratio     float64       `json:"headroom_ratio"`
}

// Done reports whether the switch has the structure.
func (p *Plan) Done() bool { return len(p.Steps) == 0 && len(p.Obstacles) == 0 }

// Compute plans the structure of a switch. The steps are in the order in which they must be applied: SONiC's orchestration agent waits in
// silence for a row that another refers to.
func Compute(t Tables, w Want) (*Plan, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	p := newPlanner(t, w)
	for _, port := range p.ports {
		p.port(port)
	}
	p.guard()
	p.room()
	return p.result(), nil
}

// room checks the headroom of the switch after the plan.
func (p *planner) room() {
	if p.w.Lossy {
		return
	}
	var groups []headroom.Group
	for _, port := range p.ports {
		for q := range qos.MaxQueue + 1 {
			profile := p.after["BUFFER_PROFILE"][p.field("BUFFER_PG", port, q, "profile")]
			x, err := strconv.ParseInt(profile["xoff"], 10, 64)
			if err == nil && x > 0 {
				groups = append(groups, headroom.Group{Port: port, Number: uint8(q), Link: p.link(port), XOff: x, Pool: plain(profile["pool"])})
			}
		}
	}
	for _, g := range headroom.Short(groups) {
		p.obstacle(HeadroomShort, g.Port, fmt.Sprintf("BUFFER_PG|%s|%d", g.Port, g.Number))
	}
	var pools []headroom.Pool
	for _, name := range slices.Sorted(maps.Keys(p.after["BUFFER_POOL"])) {
		size, err := strconv.ParseInt(p.after["BUFFER_POOL"][name]["xoff"], 10, 64)
		if err == nil && size > 0 {
			pools = append(pools, headroom.Pool{Name: name, Size: size})
		}
	}
	for _, v := range headroom.Judge(groups, pools) {
		p.plan.Ratio = max(p.plan.Ratio, v.Ratio)
		if v.Ratio > p.w.Oversubscription {
			for _, port := range v.Ports {
				p.obstacle(HeadroomShort, port, "BUFFER_POOL|"+v.Pool.Name)
			}
		}
	}
}
