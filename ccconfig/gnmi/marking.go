package gnmi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/ccconfig/ecn"
	"fairlane/subnet/ident"
)

// A switch marks by profiles: named rules to which queues refer. The following code selects the profile of each queue of a
// plan, for SONiC and OpenConfig alike.

// ownPrefix is the prefix of the names of profiles that this driver creates.
const ownPrefix = "FAIRLANE_"

// maxProfiles is the largest number of different markings of one switch.
const maxProfiles = 512

// profile is a named rule.
type profile struct {
	marking ecn.Marking
	marks   bool // it has thresholds in bytes for marking
	broken  bool // it has thresholds for marking, but they are invalid
}

// queueKey identifies a queue of a switch.
type queueKey struct {
	port  ident.PortNum
	queue uint8
}

func (k queueKey) String() string { return fmt.Sprintf("%d/%d", k.port, k.queue) }

// slot is a queue with its profile. Queues of unmanaged ports have port 0.
type slot struct {
	queueKey

	name    string // for display, such as "Ethernet0|3"
	profile string
}

// markingState is the current marking of a switch.
type markingState struct {
	profiles map[string]profile
	slots    []slot
	stock    string // the switch's initial profile, which may always be changed; empty if there is none
}

// markingPlan holds the changes from the current to the desired state.
type markingPlan struct {
	refer  map[queueKey]string    // new profile of each queue that changes it
	change map[string]ecn.Marking // new thresholds of existing profiles
	create map[string]ecn.Marking // new profiles
}

// empty reports whether there is nothing to change.
func (p markingPlan) empty() bool { return len(p.refer)+len(p.change)+len(p.create) == 0 }

// guardRejects reports whether the plan needs changes that a guarded switch rejects: all changes of profiles other than the stock
// profile's thresholds.
func (p markingPlan) guardRejects(stock string) bool {
	for name := range p.change {
		if name != stock {
			return true
		}
	}
	return len(p.create) > 0
}

// observed returns the marking of each queue whose profile marks.
func (s *markingState) observed() []ecn.QueueMarking {
	var out []ecn.QueueMarking
	for _, q := range s.slots {
		if p := s.profiles[q.profile]; p.marks && q.port > 0 {
			out = append(out, ecn.QueueMarking{Port: q.port, Queue: q.queue, Marking: p.marking})
		}
	}
	slices.SortFunc(out, func(a, b ecn.QueueMarking) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Queue, b.Queue))
	})
	return out
}

// planner computes a plan.
type planner struct {
	*markingState

	want    []ecn.QueueMarking
	now     map[queueKey]string      // current profile of each queue
	keep    map[string]bool          // profiles whose rule must not change, because a desired queue needs it
	as      map[ecn.Marking]string   // profile of each desired marking
	foreign map[string]queueKeyNames // queues outside want, by the profile that they use
	plan    markingPlan
}

// queueKeyNames are display names of queues.
type queueKeyNames []string

func (n queueKeyNames) String() string {
	if len(n) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(n[:3], ", "), len(n)-3)
	}
	return strings.Join(n, ", ")
}

// planFor plans the marking of the given queues; other queues do not change. For each marking it uses an existing profile with this
// marking; otherwise it changes the stock profile, or one that this driver created, if no queue outside of want uses it;
// otherwise it creates a profile.
func (s *markingState) planFor(want []ecn.QueueMarking) (markingPlan, error) {
	p := &planner{
		markingState: s, want: want, now: map[queueKey]string{}, keep: map[string]bool{}, as: map[ecn.Marking]string{}, foreign: map[string]queueKeyNames{},
		plan: markingPlan{refer: map[queueKey]string{}, change: map[string]ecn.Marking{}, create: map[string]ecn.Marking{}},
	}
	p.survey()
	var missing []ecn.Marking
	for _, m := range p.markings() {
		if name, ok := p.existing(m); ok {
			p.as[m] = name
			p.keep[name] = true
			continue
		}
		missing = append(missing, m)
	}
	if len(missing) > maxProfiles {
		return markingPlan{}, fmt.Errorf("%d different markings that the switch does not have yet, want at most %d", len(missing), maxProfiles)
	}
	p.fill(missing)
	for _, w := range want {
		k := queueKey{w.Port, w.Queue}
		current := p.now[k]
		if c := s.profiles[current]; c.marks && c.marking == w.Marking && p.keep[current] {
			continue
		}
		if name := p.as[w.Marking]; name != current {
			p.plan.refer[k] = name
		}
	}
	return p.plan, nil
}

// survey collects the references of all queues.
func (p *planner) survey() {
	wanted := make(map[queueKey]ecn.Marking, len(p.want))
	for _, w := range p.want {
		wanted[queueKey{w.Port, w.Queue}] = w.Marking
	}
	for _, q := range p.slots {
		m, ok := wanted[q.queueKey]
		if !ok || q.port == 0 {
			p.foreign[q.profile] = append(p.foreign[q.profile], q.name)
			continue
		}
		p.now[q.queueKey] = q.profile
		if c := p.profiles[q.profile]; c.marks && c.marking == m {
			p.keep[q.profile] = true
		}
	}
}

// markings returns the different desired markings, in the order of their first occurrence.
func (p *planner) markings() []ecn.Marking {
	seen := map[ecn.Marking]bool{}
	var out []ecn.Marking
	for _, w := range p.want {
		if !seen[w.Marking] {
			seen[w.Marking] = true
			out = append(out, w.Marking)
		}
	}
	return out
}

// existing returns a profile with a marking, preferably one already used for it.
func (p *planner) existing(m ecn.Marking) (string, bool) {
	found, ok := "", false
	for _, name := range slices.Sorted(maps.Keys(p.profiles)) {
		c := p.profiles[name]
		if !c.marks || c.marking != m {
			continue
		}
		if p.keep[name] {
			return name, true
		}
		if !ok {
			found, ok = name, true
		}
	}
	return found, ok
}

// fill assigns profiles to the markings without one.
func (p *planner) fill(missing []ecn.Marking) {
	if p.free(p.stock) && len(missing) > 0 {
		// The stock profile gets the marking that most of its queues need.
		best := slices.MaxFunc(missing, func(a, b ecn.Marking) int { return cmp.Compare(p.users(a, p.stock), p.users(b, p.stock)) })
		p.assign(best, p.stock)
		missing = slices.DeleteFunc(missing, func(m ecn.Marking) bool { return m == best })
	}
	for _, name := range slices.Sorted(maps.Keys(p.profiles)) {
		if len(missing) > 0 && name != p.stock && strings.HasPrefix(name, ownPrefix) && p.free(name) {
			p.assign(missing[0], name)
			missing = missing[1:]
		}
	}
	for n := 1; len(missing) > 0; n++ {
		name := fmt.Sprintf("%s%d", ownPrefix, n)
		if _, taken := p.profiles[name]; taken {
			continue
		}
		p.as[missing[0]], p.plan.create[name] = name, missing[0]
		missing = missing[1:]
	}
}

// free reports whether the rule of a profile may be changed.
func (p *planner) free(name string) bool {
	c, ok := p.profiles[name]
	return ok && (c.marks || c.broken) && !p.keep[name] && len(p.foreign[name]) == 0
}

func (p *planner) assign(m ecn.Marking, name string) {
	p.as[m], p.plan.change[name] = name, m
	p.keep[name] = true
}

// users returns the number of queues with this desired marking that use the profile now.
func (p *planner) users(m ecn.Marking, name string) int {
	n := 0
	for _, w := range p.want {
		if w.Marking == m && p.now[queueKey{w.Port, w.Queue}] == name {
			n++
		}
	}
	return n
}

// explainGuard explains in a sentence why a plan needs more than a guarded switch allows, and what its operator can do.
func (s *markingState) explainGuard(plan markingPlan, want []ecn.QueueMarking) string {
	wanted := map[queueKey]bool{}
	for _, w := range want {
		wanted[queueKey{w.Port, w.Queue}] = true
	}
	var others queueKeyNames
	for _, q := range s.slots {
		if q.profile == s.stock && (q.port == 0 || !wanted[q.queueKey]) {
			others = append(others, q.name)
		}
	}
	var need []string
	for _, set := range []map[string]ecn.Marking{plan.create, plan.change} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if name != s.stock {
				m := set[name]
				need = append(need, fmt.Sprintf("%s with %d to %d bytes at %d %%", name, m.Min, m.Max, m.PMaxPct))
			}
		}
	}
	text := fmt.Sprintf("pre-provision on it, for markings that no profile has, %s", queueKeyNames(need))
	switch _, has := s.profiles[s.stock]; {
	case !has:
	case len(others) > 0:
		text += fmt.Sprintf(", or have the plan set %s as well, which share profile %s", others, s.stock)
	default:
		text += fmt.Sprintf(", or give all queues the same marking, for which profile %s can be changed", s.stock)
	}
	return text
}
