package gnmi

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/qos"
	"fairlane/subnet/ident"
)

const ocRemedy = "provision a scheduler-policy for each interface, or one where all interfaces need the same weights, with an input that has a weight for each queue, in a scheduler without priority STRICT"

// ocWeights is the weights of a switch, by the inputs of its scheduler policies.
type ocWeights struct {
	weightState

	inputs map[string]gnmitree.Path // path of each object
}

// weights reads the scheduler policies.
func (c *openConfig) weights(ctx context.Context, dev driver.Device, m *ocMarking) (*ocWeights, error) {
	q, err := c.policies(ctx, dev)
	if err != nil {
		return nil, err
	}
	return q.weights(m, dev.Ports), nil
}

// weights converts the policies of the interfaces. An interface of a policy uses each of its inputs with its own queue; interfaces beyond
// the device's ports are foreign users.
func (t *ocServing) weights(m *ocMarking, ports int) *ocWeights {
	w := &ocWeights{weightState{objects: map[string]weigher{}, remedy: ocRemedy}, map[string]gnmitree.Path{}}
	for i := range t.Policies.Policy {
		policy := &t.Policies.Policy[i]
		users := m.interfacesOf(policy.Name)
		for j := range policy.Schedulers.Scheduler {
			s := &policy.Schedulers.Scheduler[j]
			for k := range s.Inputs.Input {
				in := &s.Inputs.Input[k]
				_, n, ok := splitNumber(in.Config.Queue)
				if !ok || n > 255 {
					continue // its name does not identify the queue
				}
				name := fmt.Sprintf("%s/%d/%s", policy.Name, s.Sequence, in.ID)
				w.objects[name] = s.weigher(policy.Name, in)
				w.inputs[name] = ocInputPath(policy.Name, s.Sequence, in.ID)
				for _, at := range users {
					number := ident.PortNum(0)
					if at < ports {
						number = ident.PortNum(at + 1) // at most MaxSwitchPorts
					}
					w.users = append(w.users, weightUser{queueKey{numberOf(number, n), uint8(n)}, fmt.Sprintf("%s queue %d", m.ports[at], n), name})
				}
			}
		}
	}
	return w
}

// interfacesOf returns the interfaces whose output has a policy, by position.
func (m *ocMarking) interfacesOf(policy string) []int {
	var out []int
	for i := range m.ifaces {
		if m.ifaces[i].Output.Policy.Config.Name == policy {
			out = append(out, i)
		}
	}
	return out
}

// weigher converts an input of a scheduler. The state has the weight in force; switches without that leaf report only the configuration.
func (t *ocScheduler) weigher(policy string, in *ocInput) weigher {
	w := weigher{label: fmt.Sprintf("input %s of scheduler %d of policy %s", in.ID, t.Sequence, policy)}
	switch weight := in.Config.Weight; {
	case t.Config.Priority != "":
		w.fault = fmt.Sprintf("has priority %s, want none", t.Config.Priority)
	case weight == nil:
		w.fault = "has no weight"
	case *weight < 1 || *weight > qos.MaxWeight:
		w.fault = fmt.Sprintf("has weight %d, want 1 to %d", *weight, qos.MaxWeight)
	default:
		w.weight = uint8(*weight)
		w.acting = w.weight
		if acting := in.State.Weight; acting != nil {
			w.acting = uint8(min(*acting, qos.MaxWeight))
		}
	}
	return w
}

func ocInputPath(policy string, sequence ocNumber, id string) gnmitree.Path {
	return qosPath("scheduler-policies").Child("scheduler-policy", gnmitree.Key{Name: "name", Value: policy}).Child("schedulers").
		Child("scheduler", gnmitree.Key{Name: "sequence", Value: fmt.Sprint(uint64(sequence))}).Child("inputs").Child("input", gnmitree.Key{Name: "id", Value: id})
}

// operations replaces the weights of inputs.
func (w *ocWeights) operations(change map[string]uint8) []gnmitree.Operation {
	var out []gnmitree.Operation
	for _, name := range slices.Sorted(maps.Keys(change)) {
		at := w.inputs[name].Child("config").Child("weight")
		out = append(out, gnmitree.Operation{Op: gnmitree.OpUpdate, Path: at, Value: gnmitree.Uint(uint64(change[name]))})
	}
	return out
}

// queueLabel returns the name of a queue on the switch.
func (m *ocMarking) queueLabel(k queueKey) string {
	if i := int(k.port) - 1; i >= 0 && i < len(m.ports) {
		return fmt.Sprintf("%s queue %d", m.ports[i], k.queue)
	}
	return k.String()
}
