package gnmi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/qos"
)

// A switch gives queues weights by objects: schedulers of SONiC, and inputs of scheduler policies of OpenConfig. Several queues may use
// one object, and then have one weight. The driver changes the weight of objects that exist; it never makes a queue refer to another
// one, for which SONiC takes the port down.

// weigher is an object with a weight.
type weigher struct {
	label  string // for display
	weight uint8  // in the configuration, 1 to 100; 0 with a fault
	acting uint8  // in force; 0 means that the configuration has no effect yet, or never
	fault  string // why the driver cannot write the weight; empty if it can
}

// weightUser is a queue, or something else, that uses an object. All but the queues of managed ports have port 0.
type weightUser struct {
	queueKey

	name   string // for display, such as "Ethernet0|3"
	object string
}

// weightState is the current weights of a switch.
type weightState struct {
	objects map[string]weigher
	users   []weightUser
	remedy  string // what the operator provisions for queues whose weights cannot be written
}

// observed returns the weights in force, by port, then queue.
func (s *weightState) observed() []qos.QueueWeight {
	var out []qos.QueueWeight
	for _, u := range s.users {
		if o := s.objects[u.object]; u.port > 0 && o.fault == "" && o.acting > 0 {
			out = append(out, qos.QueueWeight{Port: u.port, Queue: u.queue, Weight: o.acting})
		}
	}
	slices.SortFunc(out, func(a, b qos.QueueWeight) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Queue, b.Queue))
	})
	return slices.CompactFunc(out, func(a, b qos.QueueWeight) bool { return a.Port == b.Port && a.Queue == b.Queue })
}

// own returns the queues that can have any weight: those whose object nothing else uses.
func (s *weightState) own() []driver.PortQueues {
	uses := map[string]int{}
	for _, u := range s.users {
		uses[u.object]++
	}
	var keys []queueKey
	for _, u := range s.users {
		if o, ok := s.objects[u.object]; ok && o.fault == "" && u.port > 0 && uses[u.object] == 1 {
			keys = append(keys, u.queueKey)
		}
	}
	slices.SortFunc(keys, func(a, b queueKey) int { return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.queue, b.queue)) })
	var out []driver.PortQueues
	for _, k := range keys {
		if n := len(out); n == 0 || out[n-1].Port != k.port {
			out = append(out, driver.PortQueues{Port: k.port})
		}
		last := &out[len(out)-1]
		last.Queues = append(last.Queues, k.queue)
	}
	return out
}

// wantedWeights is the desired weights of the queues of one object.
type wantedWeights struct {
	names   queueKeyNames
	weights []uint8 // the different ones, in the order of their first occurrence
}

// planFor returns the new weight of each object that changes. It returns an error that names every queue whose weight cannot be written,
// with the reason: its object is missing, is no weighted scheduler, has queues with other desired weights, or serves something outside
// want. An object that already has the desired weight may be shared.
func (s *weightState) planFor(want []qos.QueueWeight, label func(queueKey) string) (map[string]uint8, error) {
	of := make(map[queueKey]string, len(want))
	twice := map[queueKey]bool{}
	for _, u := range s.users {
		if u.port > 0 {
			twice[u.queueKey] = of[u.queueKey] != ""
			of[u.queueKey] = u.object
		}
	}
	var bare, double queueKeyNames
	wanted, ours := map[string]*wantedWeights{}, make(map[queueKey]bool, len(want))
	for _, w := range want {
		k := queueKey{w.Port, w.Queue}
		ours[k] = true
		name := of[k]
		if name == "" {
			bare = append(bare, label(k))
			continue
		}
		if twice[k] {
			double = append(double, label(k))
			continue
		}
		at := wanted[name]
		if at == nil {
			at = &wantedWeights{}
			wanted[name] = at
		}
		at.names = append(at.names, label(k))
		if !slices.Contains(at.weights, w.Weight) {
			at.weights = append(at.weights, w.Weight)
		}
	}
	others := map[string]queueKeyNames{}
	for _, u := range s.users {
		if u.port == 0 || !ours[u.queueKey] {
			others[u.object] = append(others[u.object], u.name)
		}
	}
	var problems []string
	if len(bare) > 0 {
		problems = append(problems, fmt.Sprintf("%s: no scheduler", bare))
	}
	if len(double) > 0 {
		problems = append(problems, fmt.Sprintf("%s: two schedulers", double))
	}
	change := map[string]uint8{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		at := wanted[name]
		o, exists := s.objects[name]
		if exists && o.fault == "" && len(at.weights) == 1 && at.weights[0] == o.weight {
			continue
		}
		if problem := at.problem(o, name, exists, others[name]); problem != "" {
			problems = append(problems, problem)
			continue
		}
		change[name] = at.weights[0]
	}
	if len(problems) == 0 {
		return change, nil
	}
	if n := len(problems) - maxSentences; n > 0 {
		problems = append(problems[:maxSentences], fmt.Sprintf("and %d more", n))
	}
	return nil, errors.New("weights of queues cannot be set: " + strings.Join(problems, "; ") + ": " + s.remedy)
}

// problem returns the reason why an object cannot get the desired weight; empty if it can.
func (w *wantedWeights) problem(o weigher, name string, exists bool, others queueKeyNames) string {
	switch {
	case !exists:
		return fmt.Sprintf("%s: scheduler %s does not exist", w.names, name)
	case o.fault != "":
		return fmt.Sprintf("%s: %s %s", w.names, o.label, o.fault)
	case len(w.weights) > 1:
		return fmt.Sprintf("%s: they share %s and want the weights %s", w.names, o.label, weightList(w.weights))
	case len(others) > 0:
		return fmt.Sprintf("%s: %s also serves %s, which the plan does not set", w.names, o.label, others)
	}
	return ""
}

func weightList(weights []uint8) string {
	out := make([]string, len(weights))
	for i, w := range weights {
		out[i] = fmt.Sprint(w)
	}
	return strings.Join(out, ", ")
}

// changedQueues returns the queues whose object changes.
func (s *weightState) changedQueues(change map[string]uint8) map[queueKey]bool {
	out := map[queueKey]bool{}
	for _, u := range s.users {
		if _, ok := change[u.object]; ok && u.port > 0 {
			out[u.queueKey] = true
		}
	}
	return out
}

// idle returns the objects whose weight is not in force, by name.
func (s *weightState) idle() []weigher {
	var out []weigher
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if o := s.objects[name]; o.fault == "" && o.acting != o.weight {
			out = append(out, o)
		}
	}
	return out
}

// idle adds weights that are not in force.
func (f *findings) idle(list []weigher) {
	for _, o := range list {
		f.add(FindingIdle, "", fmt.Sprintf("%s has weight %d in the configuration, and the switch does not apply it: see its log for the reason", o.label, o.weight))
	}
}
