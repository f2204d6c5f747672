package whatif

import (
	"fmt"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/tenants"
)

// EditForms lists the texts that ParseEdit accepts, one for each kind, with capitals for values.
func EditForms() []string {
	return []string{
		"weight:TENANT=WEIGHT", "guarantee:TENANT=RATE", "cap:TENANT=RATE", "flows:TENANT*FACTOR",
		"flow:TENANT[/CLASS]=SOURCE>DESTINATION[*QPS][@RATE]", "add:TENANT=WEIGHT[@PORT,PORT...]", "remove:TENANT", "fail:PORT",
	}
}

func editKinds() []string {
	var out []string
	for _, f := range EditForms() {
		kind, _, _ := strings.Cut(f, ":")
		out = append(out, kind)
	}
	return out
}

// ParseEdit reads one edit in one of these forms:
//
//	weight:gold=8                  the tenant's weight
//	guarantee:gold=10Gbit/s        its guarantee; 0 removes it
//	cap:bronze=25Gbit/s            its cap; 0 removes it
//	flows:bronze*4                 four times as many queue pairs in each of its flows
//	flow:gold/bulk=h1>h2*8@5Gbit/s a flow of class bulk from h1 to h2: 8 queue pairs (1), demand 5 Gbit/s (greedy)
//	add:new=3@h1,h2,h3             a tenant of weight 3 with a queue pair from each of the ports to each other
//	remove:silver                  the tenant and its flows are removed
//	fail:leaf1/P5                  the link of a port is removed
//
// Ports have the forms of subnet.Fabric.ResolvePort. Apply checks whether they and the tenant exist. The error names the required form, or all
// forms when the kind is unknown.
func ParseEdit(text string) (Edit, error) {
	if len(text) > MaxEditLength {
		return Edit{}, input(phrase.Of("edit.too-long", "n", len(text), "max", MaxEditLength), nil)
	}
	kind, rest, _ := strings.Cut(strings.TrimSpace(text), ":")
	x := Edit{Kind: EditKind(strings.TrimSpace(kind))}
	for _, form := range EditForms() {
		if !strings.HasPrefix(form, string(x.Kind)+":") || x.Kind == "" {
			continue
		}
		if err := x.parse(strings.TrimSpace(rest)); err != nil {
			return Edit{}, input(phrase.Of("edit.form", "edit", Quoted(text), "form", form, "reason", err), err)
		}
		return x, nil
	}
	return Edit{}, input(phrase.Of("edit.forms", "edit", Quoted(text), "forms", EditForms()), nil)
}

// fault is an edit that cannot be made.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// input returns an error about the compiler's input; the sentence states the cause, and cause may be nil.
func input(said phrase.Text, cause error) error {
	return fmt.Errorf("%w: %w", model.ErrInput, phrase.Because(cause, said))
}

// Quoted quotes a text for a message, truncated to 80 bytes.
func Quoted(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return strconv.Quote(s)
}

// parse reads the text after the colon.
func (x *Edit) parse(s string) (err error) {
	if x.Kind == EditFail {
		x.Ports = []string{s}
		return portNames(x.Ports)
	}
	sep := "="
	if x.Kind == EditFlows {
		sep = "*"
	}
	name, value, ok := strings.Cut(s, sep)
	if x.Kind == EditRemove {
		name, ok = s, true
	}
	if x.Kind == EditFlow {
		var classed bool
		if name, x.Class, classed = strings.Cut(name, "/"); classed && !tenants.ValidName(strings.TrimSpace(x.Class)) {
			return fault(phrase.Of("edit.class", "class", Quoted(x.Class)))
		}
		x.Class = strings.TrimSpace(x.Class)
	}
	if x.Tenant = strings.TrimSpace(name); !tenants.ValidName(x.Tenant) {
		return fault(phrase.Of("edit.tenant", "tenant", Quoted(name)))
	}
	if value = strings.TrimSpace(value); !ok {
		return fault(phrase.Of("edit.separator", "separator", strconv.Quote(sep)))
	}
	switch x.Kind {
	case EditWeight:
		x.Weight, err = quantity.ParseWeight(value)
	case EditGuarantee, EditCap:
		x.Rate, err = quantity.ParseBitRate(value)
	case EditFlows:
		x.Factor, err = parseFactor(value)
	case EditAdd:
		err = x.parseAdd(value)
	case EditFlow:
		err = x.parseFlow(value)
	}
	return err
}

func parseFactor(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= MinFactor && v <= MaxFactor) {
		return 0, fault(phrase.Of("edit.factor", "factor", Quoted(s), "min", MinFactor, "max", MaxFactor))
	}
	return v, nil
}

func (x *Edit) parseAdd(s string) (err error) {
	weight, ports, listed := strings.Cut(s, "@")
	if x.Weight, err = quantity.ParseWeight(weight); err != nil || !listed {
		return err
	}
	if n := strings.Count(ports, ",") + 1; n < 2 || n > MaxEditPorts {
		return fault(phrase.Of("edit.ports", "ports", phrase.Ports.Of(n), "max", MaxEditPorts))
	}
	x.Ports = strings.Split(ports, ",")
	return portNames(x.Ports)
}

// parseFlow reads SOURCE>DESTINATION[*QPS][@RATE] from its end, because names of hosts may contain any character.
func (x *Edit) parseFlow(s string) (err error) {
	x.QPs = 1
	if head, tail, ok := cutLast(s, "@"); ok {
		if x.Rate, err = quantity.ParseBitRate(tail); err != nil {
			return err
		}
		s = head
	}
	if head, tail, ok := cutLast(s, "*"); ok {
		if x.QPs, err = strconv.Atoi(strings.TrimSpace(tail)); err != nil || x.QPs < 1 || x.QPs > tenants.MaxQPs {
			return fault(phrase.Of("edit.queue-pairs", "n", Quoted(tail), "max", tenants.MaxQPs))
		}
		s = head
	}
	src, dst, ok := strings.Cut(s, ">")
	if !ok {
		return fault(phrase.Of("edit.arrow", "separator", strconv.Quote(">")))
	}
	x.Ports = []string{src, dst}
	return portNames(x.Ports)
}

func cutLast(s, sep string) (head, tail string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// portNames trims names and rejects empty ones.
func portNames(names []string) error {
	for i := range names {
		if names[i] = strings.TrimSpace(names[i]); names[i] == "" {
			return fault(phrase.Of("edit.port-empty"))
		}
	}
	return nil
}

// String prints the edit as ParseEdit reads it; rates in whole bit/s.
func (x Edit) String() string {
	head := string(x.Kind) + ":"
	switch x.Kind {
	case EditWeight:
		return head + x.Tenant + "=" + x.Weight.String()
	case EditGuarantee, EditCap:
		return head + x.Tenant + "=" + rateText(x.Rate)
	case EditFlows:
		return head + x.Tenant + "*" + strconv.FormatFloat(x.Factor, 'g', -1, 64)
	case EditFail:
		return head + strings.Join(x.Ports, ",")
	case EditAdd:
		head += x.Tenant + "=" + x.Weight.String()
		if len(x.Ports) > 0 {
			head += "@" + strings.Join(x.Ports, ",")
		}
		return head
	case EditFlow:
		return head + x.flowText()
	}
	return head + x.Tenant
}

func (x Edit) flowText() string {
	s := x.Tenant
	if x.Class != "" {
		s += "/" + x.Class
	}
	s += "=" + strings.Join(x.Ports, ">") + "*" + strconv.Itoa(x.QPs)
	if x.Rate != 0 || len(x.Ports) == 2 && strings.Contains(x.Ports[0]+x.Ports[1], "@") {
		s += "@" + rateText(x.Rate)
	}
	return s
}

// rateText prints a rate with a unit if that loses no digits.
func rateText(r quantity.BitRate) string {
	if s := strings.ReplaceAll(r.String(), " ", ""); r != 0 {
		if back, err := quantity.ParseBitRate(s); err == nil && back == r {
			return s
		}
	}
	return strconv.FormatInt(int64(r), 10)
}
