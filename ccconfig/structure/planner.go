package structure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/headroom"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
)

// planner computes a plan. It edits a copy of the tables port by port, and derives the operations from the differences.
type planner struct {
	w      Want
	before Tables
	after  Tables
	ports  []string
	cables map[string]int
	index  map[string]map[string][]span // by table and port; see spans
	users  map[string]int               // queues and ports by scheduler
	plan   Plan
}

func newPlanner(t Tables, w Want) *planner {
	p := &planner{
		w: w, before: t, after: clone(t), cables: map[string]int{}, index: map[string]map[string][]span{}, users: map[string]int{},
		plan: Plan{Steps: []Step{}, Groups: []Group{}, Obstacles: []Obstacle{}},
	}
	p.countUsers()
	for name, r := range t["PORT"] {
		if role := r["role"]; role == "" || role == "Ext" {
			p.ports = append(p.ports, name)
		}
	}
	slices.SortFunc(p.ports, byNumber)
	for _, lengths := range t["CABLE_LENGTH"] {
		for port, word := range lengths {
			if v, ok := headroom.ParseCable(word); ok {
				p.cables[port] = v
			}
		}
	}
	return p
}

func clone(t Tables) Tables {
	out := make(Tables, len(t))
	for name, rows := range t {
		out[name] = make(map[string]map[string]string, len(rows))
		for key, row := range rows {
			out[name][key] = maps.Clone(row)
		}
	}
	return out
}

// byNumber orders port names by the number at their end.
func byNumber(a, b string) int {
	split := func(s string) (string, int) {
		head := strings.TrimRight(s, "0123456789")
		n, _ := strconv.Atoi(s[len(head):]) // 0 if there is none
		return head, n
	}
	x, n := split(a)
	y, m := split(b)
	return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
}

// plain returns the row name in a reference: "NAME", or "[TABLE|NAME]" in older releases.
func plain(word string) string {
	if inner, ok := strings.CutPrefix(word, "["); ok {
		_, word, _ = strings.Cut(strings.TrimSuffix(inner, "]"), "|")
	}
	return word
}

func (p *planner) link(port string) headroom.Link {
	r := p.after["PORT"][port]
	l := headroom.Link{Metres: p.cables[port], MTU: headroom.ParseMTU(r["mtu"])}
	if v, err := strconv.ParseUint(r["speed"], 10, 32); err == nil {
		l.Rate = quantity.BitRate(v) * quantity.Mbps
	}
	return l
}

func (p *planner) obstacle(r Reason, port, row string) {
	i := slices.IndexFunc(p.plan.Obstacles, func(o Obstacle) bool { return o.Reason == r })
	if i < 0 {
		p.plan.Obstacles, i = append(p.plan.Obstacles, Obstacle{Reason: r}), len(p.plan.Obstacles)
	}
	o := &p.plan.Obstacles[i]
	if port != "" && !slices.Contains(o.Ports, port) {
		o.Ports = append(o.Ports, port)
	}
	if row != "" && !slices.Contains(o.Rows, row) {
		o.Rows = append(o.Rows, row)
	}
}

// port edits the rows of one port.
func (p *planner) port(port string) {
	p.maps(port)
	for q := range qos.MaxQueue + 1 {
		switch {
		case p.w.class(q):
			p.queue(port, q)
			if !p.w.Lossy {
				p.buffers(port, q)
			}
		case q == int(p.w.CNP.Queue):
			p.strict(port, q)
		}
	}
}

// put sets a row, and makes its table.
func (p *planner) put(table, key string, row map[string]string) {
	if p.after[table] == nil {
		p.after[table] = map[string]map[string]string{}
	}
	p.after[table][key] = row
}

// mapName returns the map of a port, or that of all ports for DSCPs.
func (p *planner) mapName(port, field string) string {
	name := plain(p.after["PORT_QOS_MAP"][port][field])
	if name == "" && field == "dscp_to_tc_map" {
		name = plain(p.after["PORT_QOS_MAP"]["global"][field])
	}
	return name
}

// maps gives a port maps with the classes, and the pause of lossless ones. The row of PORT_QOS_MAP is written whole: SONiC unbinds a map that
// the row lacks, and turns pause off without pfc_enable.
func (p *planner) maps(port string) {
	for key := range p.after["PORT_QOS_MAP"] {
		if strings.Contains(key, ",") && slices.Contains(strings.Split(key, ","), port) {
			p.obstacle(SeveralPorts, port, "PORT_QOS_MAP|"+key)
			return
		}
	}
	row := maps.Clone(p.after["PORT_QOS_MAP"][port])
	if row == nil {
		row = map[string]string{}
	}
	if !p.mapped(port) {
		row["dscp_to_tc_map"] = p.named("DSCP_TO_TC_MAP", ownName, p.dscps(port))
		row["tc_to_queue_map"] = p.named("TC_TO_QUEUE_MAP", ownName, same())
	}
	if !p.grouped(port) {
		row["tc_to_pg_map"] = p.named("TC_TO_PRIORITY_GROUP_MAP", ownName, p.groups())
		row["pfc_to_queue_map"] = p.named("MAP_PFC_PRIORITY_TO_QUEUE", ownName, same())
	}
	if now, set := row["pfc_enable"]; !set || sorted(now) != p.w.pause() {
		row["pfc_enable"] = p.w.pause()
	}
	if _, guarded := p.after["PFC_WD"][port]; guarded && sorted(row["pfcwd_sw_enable"]) != p.w.pause() {
		row["pfcwd_sw_enable"] = p.w.pause()
	}
	p.put("PORT_QOS_MAP", port, row)
}

// sorted returns a list of priorities in ascending order.
func sorted(list string) string {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(words)
	return strings.Join(words, ",")
}

// queueOf returns the class and the queue of a DSCP on a port; -1 without a map.
func (p *planner) queueOf(port string, dscp int) (tc string, queue int) {
	tc, ok := p.after["DSCP_TO_TC_MAP"][p.mapName(port, "dscp_to_tc_map")][strconv.Itoa(dscp)]
	if !ok {
		return "", -1
	}
	word := tc
	if q, has := p.after["TC_TO_QUEUE_MAP"][p.mapName(port, "tc_to_queue_map")][tc]; has {
		word = q
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return tc, -1
	}
	return tc, n
}

// mapped reports whether the maps of a port put each class into its queue, and no other DSCP there. A lossless class also needs the number of
// its queue as that of its class, which selects its priority group.
func (p *planner) mapped(port string) bool {
	want := map[int]int{int(p.w.CNP.DSCP): int(p.w.CNP.Queue)}
	for _, c := range p.w.Classes {
		want[int(c.DSCP)] = int(c.Queue)
	}
	for dscp := range qos.MaxDSCP + 1 {
		tc, q := p.queueOf(port, dscp)
		own, ok := want[dscp]
		if ok && q != own || !ok && p.w.class(q) || ok && !p.w.Lossy && p.w.class(own) && tc != strconv.Itoa(own) {
			return false
		}
	}
	return true
}

// grouped reports whether each class is in the priority group of its pause, and no other class there.
func (p *planner) grouped(port string) bool {
	if p.w.Lossy {
		return true
	}
	by := p.after["TC_TO_PRIORITY_GROUP_MAP"][p.mapName(port, "tc_to_pg_map")]
	back := p.after["MAP_PFC_PRIORITY_TO_QUEUE"][p.mapName(port, "pfc_to_queue_map")]
	for _, c := range p.w.Classes {
		q := strconv.Itoa(int(c.Queue))
		if by[q] != q || back[q] != "" && back[q] != q {
			return false
		}
		for tc, group := range by {
			if group == q && tc != q {
				return false
			}
		}
	}
	return true
}

// same returns a map of each class or priority to the queue of its number.
func same() map[string]string {
	out := map[string]string{}
	for q := range qos.MaxQueue + 1 {
		out[strconv.Itoa(q)] = strconv.Itoa(q)
	}
	return out
}

// dscps returns the map of DSCPs: as the port has it, but for the classes and for DSCPs in their queues.
func (p *planner) dscps(port string) map[string]string {
	out := map[string]string{}
	for dscp := range qos.MaxDSCP + 1 {
		_, q := p.queueOf(port, dscp)
		if q < 0 || q > qos.MaxQueue || p.w.class(q) {
			q = p.w.spare()
		}
		out[strconv.Itoa(dscp)] = strconv.Itoa(q)
	}
	for _, c := range append(slices.Clone(p.w.Classes), p.w.CNP) {
		out[strconv.Itoa(int(c.DSCP))] = strconv.Itoa(int(c.Queue))
	}
	return out
}

// groups returns the map of classes to priority groups: lossless ones have their own.
func (p *planner) groups() map[string]string {
	other := strconv.Itoa(p.w.spare())
	out := map[string]string{}
	for q := range qos.MaxQueue + 1 {
		out[strconv.Itoa(q)] = other
		if p.w.class(q) && !p.w.Lossy {
			out[strconv.Itoa(q)] = strconv.Itoa(q)
		}
	}
	return out
}

// ownName is the name of maps and profiles that a plan makes.
const ownName = "FAIRLANE"

// named returns the name of a row with the content, and makes one. Rows that exist are never edited: a change would act at once on every port
// that refers to them.
func (p *planner) named(table, name string, row map[string]string) string {
	for _, other := range slices.Sorted(maps.Keys(p.after[table])) {
		if maps.Equal(p.after[table][other], row) {
			return other
		}
	}
	name = p.fresh(table, name)
	p.put(table, name, row)
	return name
}

// fresh returns a name that no row of a table has: the given one, if possible.
func (p *planner) fresh(table, name string) string {
	out := name
	for n := 2; p.after[table][out] != nil; n++ {
		out = fmt.Sprintf("%s_%d", name, n)
	}
	return out
}
