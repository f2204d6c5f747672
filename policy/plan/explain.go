package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/suggest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Explanation gives the reasons for the settings of one device, or of several with the same settings.
type Explanation struct {
	Kind    string   `json:"kind"` // "port", "switch", "switch port", "sender", "data centre"
	Name    string   `json:"name"`
	Devices []string `json:"devices"`        // GUIDs or port identifiers, as in configuration files
	Note    string   `json:"note,omitempty"` // values that are not settings with a reason: profile, traffic
	Reasons []Reason `json:"reasons"`

	ports   []ident.PortID // port number zero is a whole node
	names   []string
	tenants []string // served by the device; nil with a whole switch, which serves those on its contended links
	numbers []string // of a whole switch: its ports in the plan
}

// ExplainFilter narrows Explain; empty fields do not filter.
type ExplainFilter struct {
	// Port is a port or node as the plan names it ("host1/P1", "host1"), or by its GUID and number.
	Port string
	// Tenant selects the settings for a tenant, and the settings for all tenants on devices that it uses.
	Tenant string
}

// FilterError reports an ExplainFilter that nothing matches.
type FilterError struct {
	Field string // "port" or "tenant"
	text  string
}

// Error states the request and the alternatives, with near matches.
func (e *FilterError) Error() string { return e.text }

// Explain lists the reasons of a plan by device, in the order of the plan. It fails with a *FilterError when the plan lacks the filter's
// tenant, or sets nothing at its port, or nothing there for that tenant.
func (p *Plan) Explain(f ExplainFilter) ([]Explanation, error) {
	all := slices.Concat(p.explainIB(), p.explainRoCE(), p.explainWRCC())
	if f.Tenant != "" {
		if err := p.checkTenant(f.Tenant); err != nil {
			return nil, err
		}
	}
	var out []Explanation
	set := false // something is set at the port
	for i := range all {
		e := &all[i]
		if f.Port != "" && !e.narrow(f.Port) {
			continue
		}
		set = true
		if f.Tenant != "" && !p.narrowTenant(e, f.Tenant) {
			continue
		}
		out = append(out, *e)
	}
	switch {
	case len(out) > 0 || f.Port == "":
	case set:
		return nil, &FilterError{"port", fmt.Sprintf("nothing that the plan sets at %q concerns tenant %s", f.Port, f.Tenant)}
	default:
		return nil, notSet(f.Port, all)
	}
	return out, nil
}

func (p *Plan) checkTenant(name string) error {
	names := make([]string, len(p.Tenants))
	for i := range p.Tenants {
		if names[i] = p.Tenants[i].Tenant; names[i] == name {
			return nil
		}
	}
	if like := suggest.Names(name, names); len(like) > 0 {
		return &FilterError{"tenant", fmt.Sprintf("no tenant %q in the plan; did you mean %s?", name, strings.Join(like, ", "))}
	}
	return &FilterError{"tenant", fmt.Sprintf("no tenant %q in the plan: want one of %s", name, strings.Join(Bounded(names), ", "))}
}

func notSet(name string, all []Explanation) error {
	var names []string
	for i := range all {
		names = append(names, all[i].names...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	want := ""
	switch like := suggest.Names(name, names); {
	case len(like) > 0:
		want = "; did you mean " + strings.Join(like, ", ") + "?"
	case len(names) > 0:
		want = ": want a device that it sets, such as " + strings.Join(names[:min(len(names), 3)], ", ")
	}
	return &FilterError{"port", fmt.Sprintf("the plan sets nothing at %q%s", name, want)}
}

// narrow reports whether a device matches the name. For a switch with the named port, it drops the reasons of other ports.
func (e *Explanation) narrow(want string) bool {
	node, port, numbered := subnet.SplitPort(want)
	num := strconv.Itoa(int(port))
	for i, id := range e.ports {
		name := e.names[i]
		if name == want || strings.HasPrefix(name, want+"/P") || id.Node.String() == want || id.Port != 0 && id.String() == want {
			return true
		}
		if numbered && id.Port != 0 && name == node+"/P"+num {
			return true
		}
		if numbered && id.Port == 0 && (name == node || id.Node.String() == node) && slices.Contains(e.numbers, num) {
			e.Reasons = slices.DeleteFunc(slices.Clone(e.Reasons), func(r Reason) bool {
				return strings.HasPrefix(r.Field, "ports[") && !strings.HasPrefix(r.Field, "ports["+num+"]")
			})
			return true
		}
	}
	return false
}

// narrowTenant keeps the reasons that concern a tenant: those with its name, and those without any name on devices that it uses.
func (p *Plan) narrowTenant(e *Explanation, tenant string) bool {
	uses := slices.Contains(e.tenants, tenant)
	if e.tenants == nil {
		uses = p.meets(e.ports, tenant)
	}
	named := false
	e.Reasons = slices.DeleteFunc(slices.Clone(e.Reasons), func(r Reason) bool {
		mine := slices.Contains(splitNames(r.Tenant), tenant)
		named = named || mine
		return !mine && (r.Tenant != "" || !uses)
	})
	return (named || uses) && len(e.Reasons) > 0
}

func splitNames(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// meets reports whether a tenant has a part of a contended link that one of the ports, or a port of one of the nodes, transmits on.
func (p *Plan) meets(ports []ident.PortID, tenant string) bool {
	return slices.ContainsFunc(p.Links, func(l LinkShare) bool {
		return slices.ContainsFunc(ports, func(id ident.PortID) bool { return id.Node == l.Port.Node && (id.Port == 0 || id.Port == l.Port.Port) }) &&
			slices.ContainsFunc(l.Tenants, func(t LinkTenant) bool { return t.Tenant == tenant })
	})
}

// explainPort returns the explanation of a host's port, with the tenants that it serves.
func explainPort(kind string, id ident.PortID, name string, reasons []Reason, served []string) Explanation {
	if served == nil {
		served = []string{}
	}
	return Explanation{Kind: kind, Name: name, Devices: []string{id.String()}, Reasons: reasons, ports: []ident.PortID{id}, names: []string{name}, tenants: served}
}

// oneSwitch returns the explanation of a switch, with the ports of these numbers and the ports with reasons.
func oneSwitch(node ident.GUID, name string, reasons []Reason, numbers []string) Explanation {
	for _, r := range reasons {
		if rest, ok := strings.CutPrefix(r.Field, "ports["); ok {
			num, _, _ := strings.Cut(rest, "]")
			numbers = append(numbers, num)
		}
	}
	return Explanation{Kind: KindSwitch, Name: name, Devices: []string{node.String()}, Reasons: reasons,
		ports: []ident.PortID{{Node: node}}, names: []string{name}, numbers: numbers}
}

func (p *Plan) explainIB() []Explanation {
	served := map[ident.PortID][]string{}
	note := map[ident.PortID][]string{}
	for _, pl := range p.Placements {
		served[pl.Port] = append(served[pl.Port], pl.Tenant)
		note[pl.Port] = append(note[pl.Port], fmt.Sprintf("%s on SL %d", pl.Tenant, pl.SL))
	}
	lanes := map[ident.PortID][]Reason{}
	for i := range p.Lanes {
		lanes[p.Lanes[i].Port] = p.Lanes[i].Reasons
	}
	var out []Explanation
	for i := range p.CAs {
		c := &p.CAs[i]
		e := explainPort(KindPort, c.Port, c.Name, slices.Concat(c.Reasons, lanes[c.Port]), served[c.Port])
		e.Note = strings.Join(note[c.Port], ", ")
		out = append(out, e)
	}
	for i := range p.Switches {
		s := &p.Switches[i]
		var numbers []string
		for k := range s.Ports {
			numbers = append(numbers, strconv.Itoa(k))
		}
		out = append(out, oneSwitch(s.Node, s.Name, s.Reasons, numbers))
	}
	return out
}

func (p *Plan) explainRoCE() []Explanation {
	r := p.RoCE
	if r == nil {
		return nil
	}
	served := map[ident.PortID][]string{}
	note := map[ident.PortID][]string{}
	for _, t := range r.Traffic {
		served[t.Port] = append(served[t.Port], t.Tenant)
		text := fmt.Sprintf("%s with DSCP %d, priority %d, queue %d", t.Tenant, t.DSCP, t.Priority, t.Queue)
		switch {
		case t.VFShare > 0 && t.Function == NodeFunction:
			text += fmt.Sprintf(", VF share %d of 1000 for the functions that the host gives it", t.VFShare)
		case t.VFShare > 0:
			text += fmt.Sprintf(", VF share %d of 1000 for function %d", t.VFShare, t.Function)
		}
		note[t.Port] = append(note[t.Port], text)
	}
	var out []Explanation
	for i := range r.NICs {
		n := &r.NICs[i]
		e := explainPort(KindPort, n.Port, n.Name, n.Reasons, served[n.Port])
		e.Note = strings.Join(append([]string{"profile " + n.Profile}, note[n.Port]...), "; ")
		out = append(out, e)
	}
	for i := range r.Switches {
		s := &r.Switches[i]
		var numbers []string
		for k, q := range s.Queues {
			if k == 0 || q.Port != s.Queues[k-1].Port {
				numbers = append(numbers, fmt.Sprint(q.Port))
			}
		}
		out = append(out, oneSwitch(s.Node, s.Name, s.Reasons, numbers))
	}
	return out
}

func (p *Plan) explainWRCC() []Explanation {
	w := p.WRCC
	if w == nil {
		return nil
	}
	var out []Explanation
	for i := range w.Domains {
		d := &w.Domains[i]
		out = append(out, Explanation{Kind: KindDomain, Name: DomainName(d.Domain), Reasons: d.Reasons, Devices: []string{}, tenants: shareNames(p)})
	}
	for i := range w.Ports {
		g := &w.Ports[i]
		e := Explanation{Kind: KindSwitchPort, Reasons: g.Reasons}
		for _, n := range g.Ports {
			e.ports, e.names, e.Devices = append(e.ports, n.Port), append(e.names, n.Name), append(e.Devices, n.Port.String())
		}
		e.Name = (&NameList{Count: len(e.names), Names: e.names}).List().String()
		out = append(out, e)
	}
	for i := range w.Senders {
		s := &w.Senders[i]
		e := explainPort("sender", s.Port, s.Name, s.Reasons, []string{s.Tenant})
		e.Note = fmt.Sprintf("tenant %s, class %s: weight %s of a queue pair", s.Tenant, s.Class, Decimals(s.Weight))
		if n := len(s.Peers); n > 0 {
			e.Note += fmt.Sprintf(", others towards %s", Counted(n, KindPort))
		}
		out = append(out, e)
	}
	return out
}

func shareNames(p *Plan) []string {
	out := make([]string, len(p.Tenants))
	for i := range p.Tenants {
		out[i] = p.Tenants[i].Tenant
	}
	return out
}

// DomainName returns the displayed name of a data centre; empty for a fabric without data centres.
func DomainName(d string) string {
	if d == "" {
		return "default"
	}
	return d
}

// Decimals prints a number with at most three decimals.
func Decimals(v float64) string {
	s := strconv.FormatFloat(v, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
