package gnmi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// ocServing is the part of /qos with the scheduling and classification of queues.
type ocServing struct {
	Policies struct {
		Policy []ocPolicy `json:"scheduler-policy"`
	}
	Classifiers struct {
		Classifier []ocClassifier `json:"classifier"`
	}
	Groups struct {
		Group []ocGroup `json:"forwarding-group"`
	}
}

type ocPolicy struct {
	Name       string `json:"name"`
	Schedulers struct {
		Scheduler []ocScheduler `json:"scheduler"`
	} `json:"schedulers"`
}

type ocScheduler struct {
	Sequence ocNumber `json:"sequence"`
	Config   struct {
		Priority string `json:"priority"`
	} `json:"config"`
	Inputs struct {
		Input []ocInput `json:"input"`
	} `json:"inputs"`
	One struct {
		Config ocRates `json:"config"`
	} `json:"one-rate-two-color"`
	Two struct {
		Config ocRates `json:"config"`
	} `json:"two-rate-three-color"`
}

type ocInput struct {
	ID     string `json:"id"`
	Config struct {
		Queue  string    `json:"queue"`
		Weight *ocNumber `json:"weight"`
	} `json:"config"`
	State struct {
		Weight *ocNumber `json:"weight"`
	} `json:"state"`
}

// ocRates are in bit/s, or in percent of the interface's rate.
type ocRates struct {
	CIR        ocNumber `json:"cir"`
	PIR        ocNumber `json:"pir"`
	CIRPercent ocNumber `json:"cir-pct"`
	PIRPercent ocNumber `json:"pir-pct"`
}

type ocClassifier struct {
	Name  string `json:"name"`
	Terms struct {
		Term []struct {
			Conditions struct {
				IPv4 ocFields `json:"ipv4"`
				IPv6 ocFields `json:"ipv6"`
			} `json:"conditions"`
			Actions struct {
				Config struct {
					Group string `json:"target-group"`
				} `json:"config"`
			} `json:"actions"`
		} `json:"term"`
	} `json:"terms"`
}

type ocFields struct {
	Config struct {
		DSCP    *ocNumber  `json:"dscp"`
		DSCPSet []ocNumber `json:"dscp-set"`
	} `json:"config"`
}

type ocGroup struct {
	Name   string `json:"name"`
	Config struct {
		Queue string `json:"output-queue"`
	} `json:"config"`
}

func (c *openConfig) scheduling(ctx context.Context, dev driver.Device) ([]PortSchedule, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return nil, err
	}
	_, served, err := c.serving(ctx, dev, m)
	return served, err
}

// serving reads the scheduling of the ports' queues, and the link rates if peak rates need them.
func (c *openConfig) serving(ctx context.Context, dev driver.Device, m *ocMarking) (*ocServing, []PortSchedule, error) {
	q, err := c.schedulers(ctx, dev)
	if err != nil {
		return nil, nil, err
	}
	served, err := c.withLinks(ctx, dev, q.scheduling(m, dev.Ports))
	return q, served, err
}

// schedulers reads policies, classifiers and forwarding groups. Missing ones are empty.
func (c *openConfig) schedulers(ctx context.Context, dev driver.Device) (*ocServing, error) {
	q, err := c.policies(ctx, dev)
	if err != nil {
		return nil, err
	}
	if err := c.part(ctx, dev, "classifiers", gpb.GetRequest_CONFIG, &q.Classifiers); err != nil {
		return nil, err
	}
	return q, c.part(ctx, dev, "forwarding-groups", gpb.GetRequest_CONFIG, &q.Groups)
}

// policies reads the scheduler policies, with their state: it has the weights in force.
func (c *openConfig) policies(ctx context.Context, dev driver.Device) (*ocServing, error) {
	var q ocServing
	return &q, c.part(ctx, dev, "scheduler-policies", gpb.GetRequest_ALL, &q.Policies)
}

// part reads a container of /qos. A missing one changes nothing.
func (c *openConfig) part(ctx context.Context, dev driver.Device, name string, kind gpb.GetRequest_DataType, into any) error {
	answers, err := c.s.get(ctx, query{kind, gpb.Encoding_JSON_IETF, []gnmitree.Path{qosPath(name)}})
	if code := status.Code(err); code == codes.NotFound || code == codes.Unimplemented || err == nil && len(answers[0].updates) == 0 {
		return nil
	}
	if err != nil {
		return c.s.classify(ctx, name, dev, err)
	}
	if err := unqualified(answers[0], into); err != nil {
		return fmt.Errorf("%s of %s: %w", name, dev, err)
	}
	return nil
}

// withLinks reads the link rates to compare with peak rates. If the switch does not report them, they stay 0.
func (c *openConfig) withLinks(ctx context.Context, dev driver.Device, ports []PortSchedule) ([]PortSchedule, error) {
	var paths []gnmitree.Path
	var of []int
	for i := range ports {
		if !ports[i].limited() {
			continue
		}
		paths = append(paths, gnmitree.PathOf("interfaces").Child("interface", gnmitree.Key{Name: "name", Value: ports[i].Label}).Child("ethernet").Child("state").Child("port-speed"))
		of = append(of, i)
	}
	if len(paths) == 0 {
		return ports, nil
	}
	answers, err := c.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_JSON_IETF, paths})
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound, codes.Unimplemented, codes.InvalidArgument:
		return ports, nil // the switch has a different model of interfaces
	default:
		return nil, c.s.classify(ctx, "rates of links", dev, err)
	}
	for i, a := range answers {
		var word string
		if text, err := a.json(); err == nil && json.Unmarshal(text, &word) == nil {
			ports[of[i]].Link = parseSpeed(word)
		}
	}
	return ports, nil
}

// limited reports whether the port or one of its queues has a peak rate, in bit/s or percent of the link.
func (p *PortSchedule) limited() bool {
	peak := func(n NamedScheduler) bool {
		return n.Scheduler != nil && (n.Scheduler.Peak > 0 || n.Scheduler.PeakPercent > 0)
	}
	return peak(p.NamedScheduler) || slices.ContainsFunc(p.Queues, func(q QueueSchedule) bool { return peak(q.NamedScheduler) })
}

// parseSpeed parses an identity of openconfig-if-ethernet such as SPEED_100GB, SPEED_2500MB or SPEED_10MB; 0 if it contains no
// rate.
func parseSpeed(word string) quantity.BitRate {
	_, number, _ := strings.Cut(word, "SPEED_")
	unit := quantity.Mbps
	number, giga := strings.CutSuffix(number, "GB")
	if giga {
		unit = quantity.Gbps
	} else if number, giga = strings.CutSuffix(number, "MB"); !giga {
		return 0
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return 0
	}
	return quantity.BitRate(n) * unit
}

// scheduling converts the policies of the first ports of a switch.
func (t *ocServing) scheduling(m *ocMarking, ports int) []PortSchedule {
	policies := make(map[string]*ocPolicy, len(t.Policies.Policy))
	for i := range t.Policies.Policy {
		policies[t.Policies.Policy[i].Name] = &t.Policies.Policy[i]
	}
	out := make([]PortSchedule, ports)
	for i := range out {
		p := &out[i]
		p.Port, p.Label = ident.PortNum(i+1), m.ports[i] // at most MaxSwitchPorts
		name := m.ifaces[i].Output.Policy.Config.Name
		if name == "" {
			continue
		}
		p.Name = name
		policy := policies[name]
		if policy == nil {
			p.Fault, p.Problem = FindingDangling, fmt.Sprintf("the output refers to scheduler-policy %s, which is not there: make it, or refer to another", name)
			continue
		}
		policy.serve(p)
	}
	return out
}

// serve adds the schedulers of a policy. A scheduler without inputs applies to the whole port.
func (t *ocPolicy) serve(p *PortSchedule) {
	all := slices.Clone(t.Schedulers.Scheduler)
	slices.SortStableFunc(all, func(a, b ocScheduler) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for i := range all {
		s := &all[i]
		name := fmt.Sprintf("%s sequence %d", t.Name, s.Sequence)
		if len(s.Inputs.Input) == 0 {
			unlimited := s.named(name, nil)
			if unlimited.Fault != "" || unlimited.Scheduler.limits() {
				p.NamedScheduler = unlimited
			}
			continue
		}
		for j := range s.Inputs.Input {
			in := &s.Inputs.Input[j]
			_, n, ok := splitNumber(in.Config.Queue)
			if !ok || n > 255 {
				continue // its name does not identify the queue
			}
			// The lower sequence is served first, and within it the greater weight.
			rank := (math.MaxUint32 - min(uint64(s.Sequence), math.MaxUint32)) << 32
			if in.Config.Weight != nil {
				rank |= min(uint64(*in.Config.Weight), math.MaxUint32)
			}
			p.Queues = append(p.Queues, QueueSchedule{NamedScheduler: s.named(name, in.Config.Weight), Queue: uint8(n), Rank: rank})
		}
	}
	p.settle()
}

// settle sorts the queues, and reports queues named by two inputs.
func (p *PortSchedule) settle() {
	slices.SortStableFunc(p.Queues, func(a, b QueueSchedule) int { return cmp.Compare(a.Queue, b.Queue) })
	out := p.Queues[:0]
	for _, q := range p.Queues {
		if n := len(out); n > 0 && out[n-1].Queue == q.Queue {
			if out[n-1].Fault == "" {
				text := fmt.Sprintf("schedulers %s and %s both have queue %d as an input: take it out of one of them", out[n-1].Name, q.Name, q.Queue)
				out[n-1].NamedScheduler = NamedScheduler{Name: q.Name, Fault: FindingTwice, Problem: text}
			}
			continue
		}
		out = append(out, q)
	}
	p.Queues = out
}

// limits reports whether a scheduler has a rate.
func (s *Scheduler) limits() bool { return s.Peak > 0 || s.Assured > 0 || s.PeakPercent > 0 }

// named converts a scheduler to our units.
func (t *ocScheduler) named(name string, weight *ocNumber) NamedScheduler {
	n := NamedScheduler{Name: name}
	s := &Scheduler{Type: WRR, Priority: NoPriority}
	var err error
	switch {
	case t.Config.Priority == "STRICT":
		s.Type = Strict
	case t.Config.Priority != "":
		err = fmt.Errorf("priority %q, want STRICT or none", t.Config.Priority)
	case weight != nil && *weight == 0:
		err = fmt.Errorf("an input of weight 0, want 1 or more")
	case weight != nil:
		s.Weight = uint64(*weight)
	}
	if err == nil {
		err = s.ocRates(t)
	}
	if err != nil {
		n.Fault, n.Problem = FindingScheduler, fmt.Sprintf("scheduler %s has %v", name, err)
		return n
	}
	n.Scheduler = s
	return n
}

// ocRates converts the rates of a scheduler. A single-rate scheduler sends at most at this rate.
func (s *Scheduler) ocRates(t *ocScheduler) error {
	one, two := t.One.Config, t.Two.Config
	assured, peak, percent := two.CIR, two.PIR, two.PIRPercent
	if one.CIR > 0 || one.CIRPercent > 0 {
		assured, peak, percent = one.CIR, one.CIR, one.CIRPercent
	}
	switch {
	case assured > math.MaxInt64 || peak > math.MaxInt64:
		return fmt.Errorf("rates of %d and %d bit/s, want up to %d", assured, peak, uint64(math.MaxInt64))
	case peak > 0 && peak < assured:
		return fmt.Errorf("pir %d below cir %d, want it no less", peak, assured)
	case percent > 100:
		return fmt.Errorf("a peak of %d %%, want up to 100", percent)
	}
	s.Assured, s.Peak, s.PeakPercent = quantity.BitRate(assured), quantity.BitRate(peak), int(percent)
	return nil
}

// queueOf returns the queue of a DSCP by the classifiers of an interface; noQueue if they do not determine it.
func (t *ocServing) queueOf(m *ocMarking, port string, dscp ocNumber) int {
	i := slices.Index(m.ports, port)
	if i < 0 {
		return noQueue
	}
	for _, of := range m.ifaces[i].Input.Classifiers.Classifier {
		for j := range t.Classifiers.Classifier {
			c := &t.Classifiers.Classifier[j]
			if c.Name != of.Config.Name {
				continue
			}
			if n := t.outputOf(c.group(dscp)); n >= 0 {
				return n
			}
		}
	}
	return noQueue
}

// group returns the forwarding group of a DSCP; empty if no term contains it.
func (c *ocClassifier) group(dscp ocNumber) string {
	for i := range c.Terms.Term {
		term := &c.Terms.Term[i]
		for _, f := range []ocFields{term.Conditions.IPv4, term.Conditions.IPv6} {
			if f.Config.DSCP != nil && *f.Config.DSCP == dscp || slices.Contains(f.Config.DSCPSet, dscp) {
				return term.Actions.Config.Group
			}
		}
	}
	return ""
}

// outputOf returns the queue of a forwarding group; noQueue if it is not known.
func (t *ocServing) outputOf(group string) int {
	for i := range t.Groups.Group {
		g := &t.Groups.Group[i]
		if _, n, ok := splitNumber(g.Config.Queue); g.Name == group && ok {
			return n
		}
	}
	return noQueue
}
