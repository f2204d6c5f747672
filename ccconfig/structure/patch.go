package structure

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// objects are the tables that ports refer to, in the order of writing: what a row refers to comes first.
func objects() []string {
	return []string{"DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "SCHEDULER", "WRED_PROFILE"}
}

// bindings are the tables of ports, in the order of writing. The updater takes a port down for each of them.
func bindings() []string { return []string{"BUFFER_PG", "BUFFER_QUEUE", "PORT_QOS_MAP", "QUEUE"} }

// result derives the steps from the differences.
func (p *planner) result() *Plan {
	made := map[string]bool{}
	if ops, undo := p.ops(objects(), ""); len(ops) > 0 {
		p.makeTables(made, ops, undo)
		p.plan.Steps = append(p.plan.Steps, Step{Ops: ops, Undo: undo})
	}
	for _, port := range p.ports {
		ops, undo := p.ops(bindings(), port)
		if len(ops) == 0 {
			continue
		}
		p.makeTables(made, ops, undo)
		p.plan.Steps = append(p.plan.Steps, Step{Port: port, Down: true, Ops: ops, Undo: undo})
		p.plan.Down++
		p.group(port, ops)
	}
	p.plan.Estimate = time.Duration(p.plan.Down) * PerPort
	p.plan.Seconds = p.plan.Estimate.Seconds()
	if !p.w.Lossy {
		p.plan.Lossless = len(p.w.Classes)
	}
	return &p.plan
}

// makeTables lets the first operation on a table that the switch lacks make the table, and its inverse remove it: a patch cannot add a row to a
// missing table, and the updater refuses tables without rows.
func (p *planner) makeTables(made map[string]bool, ops, undo []Op) {
	for i := range ops {
		o, back := &ops[i], &undo[len(undo)-1-i]
		if len(p.before[o.Table]) > 0 || made[o.Table] {
			continue
		}
		made[o.Table] = true
		o.Path, o.alone = "/"+o.Table, true
		back.Path, back.alone = o.Path, true
	}
}

// group adds a port to the group of its rate.
func (p *planner) group(port string, ops []Op) {
	speed := p.after["PORT"][port]["speed"]
	i := slices.IndexFunc(p.plan.Groups, func(g Group) bool { return g.Speed == speed })
	if i < 0 {
		p.plan.Groups, i = append(p.plan.Groups, Group{Speed: speed}), len(p.plan.Groups)
	}
	g := &p.plan.Groups[i]
	g.Ports = append(g.Ports, port)
	for _, o := range ops {
		if !slices.Contains(g.Rows, o.Table) {
			g.Rows = append(g.Rows, o.Table)
		}
	}
}

// ops returns the operations on tables, and those that undo them in reverse order; port selects the rows of one port.
func (p *planner) ops(tables []string, port string) (ops, undo []Op) {
	for _, table := range tables {
		keys := map[string]bool{}
		for _, rows := range []map[string]map[string]string{p.before[table], p.after[table]} {
			for key := range rows {
				if port == "" || key == port || strings.HasPrefix(key, port+"|") {
					keys[key] = true
				}
			}
		}
		var removed, rest []string
		for _, key := range slices.SortedFunc(maps.Keys(keys), byNumber) {
			if _, still := p.after[table][key]; still {
				rest = append(rest, key)
			} else {
				removed = append(removed, key) // first, since a range and its parts may not exist at once
			}
		}
		for _, key := range append(removed, rest...) {
			was, now := p.before[table][key], p.after[table][key]
			if was != nil && now != nil && maps.Equal(was, now) {
				continue
			}
			ops, undo = append(ops, operation(table, key, was, now)), append(undo, operation(table, key, now, was))
		}
	}
	slices.Reverse(undo)
	return ops, undo
}

// operation returns the operation from one content of a row to another; nil means no row.
func operation(table, key string, was, now map[string]string) Op {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	o := Op{Op: "replace", Path: "/" + table + "/" + escape.Replace(key), Value: now, Table: table, Key: key}
	switch {
	case now == nil:
		o.Op = "remove"
	case was == nil:
		o.Op = "add"
	}
	return o
}

// guard adds obstacles for operations that the build refuses.
func (p *planner) guard() {
	ops, _ := p.ops(objects(), "")
	for _, o := range ops {
		switch {
		case strings.HasSuffix(o.Table, "_MAP") || o.Table == "MAP_PFC_PRIORITY_TO_QUEUE":
			if p.w.Guard == Guard2026 && !p.w.WritableMaps {
				p.obstacle(MapsRefused, "", o.Table+"|"+o.Key)
			}
		case o.Table == "WRED_PROFILE" && p.w.Guard == Guard2025:
			p.obstacle(ProfileRefused, "", o.Table+"|"+o.Key)
		}
	}
}

// Minutes returns the estimate in minutes.
func (p *Plan) Minutes() string { return strconv.Itoa(int(p.Estimate / time.Minute)) }
