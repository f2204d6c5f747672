package tenantfile

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// flowList reads the flows of a tenant; without an owner, each flow names its tenant.
func (p *parser) flowList(n *yaml.Node, owner string) {
	keys := []string{"tenant", "class", "from", "to", "qps", "demand"}
	if owner != "" {
		keys = keys[1:]
	}
	for _, item := range p.list(n, "flows") {
		m := p.mapping(item, theFlow, keys...)
		if m == nil {
			continue
		}
		f := tenants.Flow{Tenant: owner, QPs: 1}
		if owner == "" {
			f.Tenant, _ = p.text(m["tenant"], item.Line, theTenant, wantTenant)
		}
		if m["class"] != nil {
			f.Class, _ = p.text(m["class"], item.Line, theClass, wantClass)
		}
		if m["qps"] != nil {
			f.QPs = p.qps(m["qps"])
		}
		f.Demand = p.rate(m["demand"], "demand", wantDemand)
		p.expand(f, p.portList(m["from"], item.Line, "from"), p.portList(m["to"], item.Line, "to"), item.Line)
	}
}

func (p *parser) qps(n *yaml.Node) int {
	s, ok := p.text(n, n.Line, "qps", wantQPs)
	if !ok {
		return 1
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > tenants.MaxQPs {
		p.add(n.Line, "qps", quoted(s), wantQPs)
		return 1
	}
	return v
}

// rate reads a rate; 0 if it is absent.
func (p *parser) rate(n *yaml.Node, field subject, allowed phrase.Text) quantity.BitRate {
	if n == nil {
		return 0
	}
	s, ok := p.text(n, n.Line, field, allowed)
	if !ok {
		return 0
	}
	r, err := quantity.ParseBitRate(s)
	switch {
	case errors.Is(err, quantity.ErrNoUnit):
		p.add(n.Line, field, quoted(s), phrase.Of("tenantfile.unit-missing", "want", allowed))
	case err != nil:
		p.add(n.Line, field, quoted(s), allowed)
	}
	return r
}

// expand adds a flow from every source to every other destination.
func (p *parser) expand(f tenants.Flow, from, to []ident.PortID, line int) {
	if len(from)*len(to) > tenants.MaxFlows-len(p.flows) {
		p.add(line, theFlow, phrase.Of("tenantfile.pairs", "sources", len(from), "destinations", len(to)),
			phrase.Of("tenantfile.want-flows", "max", tenants.MaxFlows))
		return
	}
	before := len(p.flows)
	for _, src := range from {
		for _, dst := range to {
			if src == dst && len(from)*len(to) > 1 {
				continue // all-to-all lists skip a host's flow to itself
			}
			f.Src, f.Dst = src, dst
			p.flows = append(p.flows, f)
			p.lines = append(p.lines, line)
		}
	}
	if len(p.flows) == before && len(p.errs) == 0 {
		p.add(line, theFlow, phrase.Of("tenantfile.same-port"), phrase.Of("tenantfile.want-two-ports"))
	}
}

// validate runs the model's checks and adds lines to their faults.
func (p *parser) validate() {
	for _, err := range unjoin(tenants.Validate(p.tenants, p.flows)) {
		var fe *tenants.FieldError
		if !errors.As(err, &fe) {
			p.add(0, theFile, phrase.OfError(err), phrase.Text{})
			continue
		}
		line, field, found := p.lineOf(fe), fe.Field, fe.Found
		if as, ok := map[string]string{"src": "from", "dst": "to"}[field]; ok && fe.Flow >= 0 {
			field = as
		}
		if name, ok := p.written[found]; ok {
			found = quote(name)
		}
		where := phrase.Verbatim(field)
		if fe.Tenant != "" {
			where = phrase.Of("tenantfile.of-tenant", "tenant", fe.Tenant, "field", field)
		}
		p.addText(line, where, phrase.Verbatim(found), fe.Allowed)
	}
}

// lineOf returns the line of a field, or of the smallest enclosing element that has one.
func (p *parser) lineOf(fe *tenants.FieldError) int {
	if fe.Flow >= 0 && fe.Flow < len(p.lines) {
		return p.lines[fe.Flow]
	}
	lines := p.fields[fe.Tenant]
	field, _, _ := strings.Cut(fe.Field, ".")
	base, _, _ := strings.Cut(field, "[")
	for _, k := range []string{field, base, ""} {
		if l, ok := lines[k]; ok {
			return l
		}
	}
	return 0
}

func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}
