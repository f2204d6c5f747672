package tenants

import (
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Limits of the model.
const (
	MaxTenants     = 4096
	MaxClasses     = 16        // per tenant
	MaxAttachments = 65_536    // per tenant
	MaxFlows       = 1_000_000 // per fabric
	MaxQPs         = 65_536    // per flow
	MaxNameLength  = 63        // of a tenant or a class
	// MinLimit is the smallest guarantee or cap other than 0: a lower rate probably lacks its unit.
	MinLimit = quantity.Mbps
)

// DefaultClass is the class of flows that do not name one.
const DefaultClass = "default"

// FieldError is one fault of a tenant or a flow: where it is, the value found, and the values allowed.
type FieldError struct {
	Tenant  string // "" if the fault concerns only a flow
	Flow    int    // index of the flow, or -1
	Field   string // such as "weight", "classes[1].name", "src"
	Found   string
	Allowed phrase.Text
}

var _ phrase.Sentence = (*FieldError)(nil)

// Error returns the fault as "tenant red: weight 0: want 0.001 to 1000000".
func (e *FieldError) Error() string { return e.Sentence().String() }

// Sentence returns the fault as a sentence in any language.
func (e *FieldError) Sentence() phrase.Text {
	where := phrase.Of("tenants.tenant", "tenant", e.Tenant)
	switch {
	case e.Flow >= 0 && e.Tenant == "":
		where = phrase.Of("tenants.flow", "flow", e.Flow)
	case e.Flow >= 0:
		where = phrase.Of("tenants.flow-of", "flow", e.Flow, "tenant", e.Tenant)
	}
	return phrase.Of("tenants.fault", "where", where, "field", e.Field, "found", e.Found, "want", e.Allowed)
}

// maxErrors is the maximum number of faults that Validate returns.
const maxErrors = 100

type faults struct{ errs []error }

func (f *faults) add(tenant string, flow int, field, found string, allowed phrase.Text) {
	if len(f.errs) < maxErrors {
		f.errs = append(f.errs, &FieldError{tenant, flow, field, found, allowed})
	}
}

// Validate checks tenants and flows together and joins all faults, each a *FieldError, up to a hundred. It checks
// names, weights, guarantees and caps, classes and attachments, that partitions are not shared, and that the tenant and
// class of each flow exist. A tenant with attachments of the operator must have one at both ends of each of its flows,
// because the source port holds its settings and the destination port counts its traffic. Attachments of feeds do not
// count, because a feed may release them at any time. A tenant without attachments of the operator is attached wherever
// its flows end (see Attach).
func Validate(ts []Tenant, flows []Flow) error {
	var f faults
	if len(ts) > MaxTenants {
		return &phrase.Error{Text: phrase.Of("problem.tenants-max", "n", len(ts), "max", MaxTenants)}
	}
	if len(flows) > MaxFlows {
		return &phrase.Error{Text: phrase.Of("tenants.flows-max", "n", len(flows), "max", MaxFlows)}
	}
	byName := make(map[string]int, len(ts))
	byKey := make(map[ident.PKey]string, len(ts))
	for i := range ts {
		t := &ts[i]
		f.tenant(t)
		if _, dup := byName[t.Name]; dup {
			f.add(t.Name, -1, "name", quote(t.Name), phrase.Of("tenants.want-own-name"))
		}
		byName[t.Name] = i
		if k := t.PKey.Base(); k != 0 && t.PKey != ident.DefaultPKey {
			if other, dup := byKey[k]; dup {
				f.add(t.Name, -1, "pkey", t.PKey.String(), phrase.Of("tenants.want-own-pkey", "tenant", other))
			}
			byKey[k] = t.Name
		}
	}
	sets := attachmentSets(ts)
	for i := range flows {
		f.flow(ts, byName, sets, &flows[i], i)
	}
	return errors.Join(f.errs...)
}

// tenant checks one tenant without the others.
func (f *faults) tenant(t *Tenant) {
	if !ValidName(t.Name) {
		f.add(t.Name, -1, "name", quote(t.Name), phrase.Of("want.name"))
	}
	f.weight(t.Name, "weight", t.Weight)
	f.limits(t)
	if t.PKey != 0 && t.PKey.Base() == 0 {
		f.add(t.Name, -1, "pkey", t.PKey.String(), phrase.Of("tenants.want-pkey"))
	}
	if len(t.Classes) > MaxClasses {
		f.add(t.Name, -1, "classes", fmt.Sprint(len(t.Classes)), phrase.Of("want.most", "max", MaxClasses))
	}
	for i, c := range t.Classes[:min(len(t.Classes), MaxClasses)] {
		field := fmt.Sprintf("classes[%d].", i)
		if !ValidName(c.Name) {
			f.add(t.Name, -1, field+"name", quote(c.Name), phrase.Of("want.name"))
		}
		f.weight(t.Name, field+"weight", c.Weight)
		if slices.ContainsFunc(t.Classes[:i], func(o Class) bool { return o.Name == c.Name }) {
			f.add(t.Name, -1, field+"name", quote(c.Name), phrase.Of("tenants.want-class-name"))
		}
	}
	f.attachments(t)
}

// limits checks the guarantee and the cap.
func (f *faults) limits(t *Tenant) {
	for _, x := range [...]struct {
		field string
		rate  quantity.BitRate
		want  func() phrase.Text
	}{{"guarantee", t.Guarantee, wantGuarantee}, {"cap", t.Cap, wantCap}} {
		switch {
		case x.rate < 0 || x.rate > quantity.MaxBitRate:
			f.add(t.Name, -1, x.field, x.rate.String(), x.want())
		case x.rate > 0 && x.rate < MinLimit:
			f.add(t.Name, -1, x.field, x.rate.String(), phrase.Of("tenants.want-unit", "min", MinLimit))
		}
	}
	if t.Cap > 0 && t.Cap < t.Guarantee {
		f.add(t.Name, -1, "cap", t.Cap.String(), phrase.Of("tenants.want-cap-above", "guarantee", t.Guarantee))
	}
}

func wantGuarantee() phrase.Text {
	return phrase.Of("tenants.want-guarantee", "min", MinLimit, "max", quantity.MaxBitRate)
}

func wantCap() phrase.Text {
	return phrase.Of("tenants.want-cap", "min", MinLimit, "max", quantity.MaxBitRate)
}

func (f *faults) attachments(t *Tenant) {
	if len(t.Attachments) > MaxAttachments {
		f.add(t.Name, -1, "attachments", fmt.Sprint(len(t.Attachments)), phrase.Of("want.most", "max", MaxAttachments))
		return
	}
	seen := make(map[ident.PortID]bool, len(t.Attachments))
	for i, a := range t.Attachments {
		field := fmt.Sprintf("attachments[%d].", i)
		if seen[a.Port] {
			f.add(t.Name, -1, field+"port", a.Port.String(), phrase.Of("tenants.want-port-once"))
		}
		seen[a.Port] = true
		if a.SL != nil && *a.SL >= ident.NumSLs {
			f.add(t.Name, -1, field+"sl", fmt.Sprint(*a.SL), phrase.Of("want.range", "min", 0, "max", ident.NumSLs-1))
		}
	}
}

func (f *faults) weight(tenant, field string, w quantity.Weight) {
	if w.Validate() != nil {
		f.add(tenant, -1, field, w.String(), phrase.Of("want.range", "min", quantity.MinWeight.String(), "max", quantity.MaxWeight.String()))
	}
}

type portSet map[ident.PortID]bool

func attachmentSets(ts []Tenant) []portSet {
	sets := make([]portSet, len(ts))
	for i := range ts {
		if own := ts[i].Own(); len(own) > 0 {
			sets[i] = make(portSet, len(own))
			for _, a := range own {
				sets[i][a.Port] = true
			}
		}
	}
	return sets
}

func (f *faults) flow(ts []Tenant, byName map[string]int, sets []portSet, fl *Flow, i int) {
	ti, ok := byName[fl.Tenant]
	if !ok {
		f.add("", i, "tenant", quote(fl.Tenant), phrase.Of("tenants.want-tenant"))
		return
	}
	t := &ts[ti]
	if _, ok := t.ClassNamed(fl.Class); !ok {
		f.add(t.Name, i, "class", quote(fl.Class), t.classList())
	}
	if fl.QPs < 1 || fl.QPs > MaxQPs {
		f.add(t.Name, i, "qps", fmt.Sprint(fl.QPs), phrase.Of("want.range", "min", 1, "max", MaxQPs))
	}
	if fl.Demand < 0 || fl.Demand > quantity.MaxBitRate {
		f.add(t.Name, i, "demand", fl.Demand.String(), phrase.Of("tenants.want-demand", "max", quantity.MaxBitRate))
	}
	if fl.Src == fl.Dst {
		f.add(t.Name, i, "dst", fl.Dst.String(), phrase.Of("tenants.want-other-port"))
	}
	if sets[ti] == nil {
		return
	}
	if !sets[ti][fl.Src] {
		f.add(t.Name, i, "src", fl.Src.String(), phrase.Of("tenants.want-attached"))
	}
	if !sets[ti][fl.Dst] {
		f.add(t.Name, i, "dst", fl.Dst.String(), phrase.Of("tenants.want-attached"))
	}
}

// Attach returns the tenants with complete attachments, sorted by port: a tenant without attachments of the operator is
// attached to every port at which one of its flows begins or ends, in addition to those of feeds. It does not change the
// input.
func Attach(ts []Tenant, flows []Flow) []Tenant {
	out := slices.Clone(ts)
	derived := make(map[string][]Attachment)
	for i := range out {
		out[i].Attachments = slices.Clone(out[i].Attachments)
		if !slices.ContainsFunc(out[i].Attachments, func(a Attachment) bool { return !a.FeedOnly }) {
			derived[out[i].Name] = out[i].Attachments
		} else {
			slices.SortStableFunc(out[i].Attachments, byPort)
		}
	}
	for _, f := range flows {
		if l, ok := derived[f.Tenant]; ok {
			derived[f.Tenant] = append(l, Attachment{Port: f.Src}, Attachment{Port: f.Dst})
		}
	}
	for i := range out {
		if l := derived[out[i].Name]; len(l) > 0 {
			slices.SortFunc(l, byPort)
			out[i].Attachments = slices.CompactFunc(l, func(a, b Attachment) bool { return a.Port == b.Port })
		}
	}
	return out
}

func byPort(a, b Attachment) int { return a.Port.Compare(b.Port) }

// ClassNamed returns the class with the name that a flow gives. The empty name and "default" return the one default
// class of weight one, if the tenant has no class of that name and no other classes.
func (t *Tenant) ClassNamed(name string) (Class, bool) {
	if name == "" {
		name = DefaultClass
	}
	for _, c := range t.Classes {
		if c.Name == name {
			return c, true
		}
	}
	if len(t.Classes) == 0 && name == DefaultClass {
		return Class{Name: DefaultClass, Weight: quantity.WeightOne}, true
	}
	return Class{}, false
}

// classList returns the allowed classes of a flow.
func (t *Tenant) classList() phrase.Text {
	if len(t.Classes) == 0 {
		return phrase.Of("tenants.want-no-class", "class", DefaultClass)
	}
	names := make([]string, len(t.Classes))
	for i, c := range t.Classes {
		names[i] = c.Name
	}
	return phrase.Of("tenants.want-class", "classes", names)
}

// ValidName reports whether s is a valid name of a tenant or a class: 1 to 63 of a-z, 0-9 and '-', beginning and ending
// with a letter or digit.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > MaxNameLength || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// quote limits how much of the input an error repeats.
func quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return fmt.Sprintf("%q", s)
}
