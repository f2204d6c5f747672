package gnmi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
)

// openConfig is the dialect of switches with openconfig-qos 2.2.0. Its queues have names; the number at the end of a name, as
// of "3" or "Ethernet0:3", is the queue number.
type openConfig struct{ s *session }

func newOpenConfig(s *session) *openConfig { return &openConfig{s} }

func qosPath(elems ...string) gnmitree.Path {
	return gnmitree.PathOf(append([]string{"qos"}, elems...)...)
}

func ocProfilePath(name string) gnmitree.Path {
	return qosPath("queue-management-profiles").Child("queue-management-profile", gnmitree.Key{Name: "name", Value: name})
}

func ocQueuePath(port, queue string) gnmitree.Path {
	return qosPath("interfaces").Child("interface", gnmitree.Key{Name: "interface-id", Value: port}).Child("output").Child("queues").
		Child("queue", gnmitree.Key{Name: "name", Value: queue})
}

// marking reads profiles and the queues of the interfaces.
func (c *openConfig) marking(ctx context.Context, dev driver.Device) (*ocMarking, error) {
	paths := []gnmitree.Path{qosPath("interfaces"), qosPath("queue-management-profiles")}
	var tree ocQoS
	for i, into := range []any{&tree.Interfaces, &tree.Profiles} {
		answers, err := c.s.get(ctx, query{gpb.GetRequest_CONFIG, gpb.Encoding_JSON_IETF, paths[i : i+1]})
		if status.Code(err) == codes.NotFound && i > 0 {
			continue // no profiles exist yet
		}
		if status.Code(err) == codes.NotFound {
			return nil, fmt.Errorf("%w: %s has no queues by openconfig-qos: %s", driver.ErrUnsupported, dev, status.Convert(err).Message())
		}
		if err != nil {
			return nil, c.s.classify(ctx, "queues", dev, err)
		}
		if len(answers[0].updates) == 0 {
			continue
		}
		if err := unqualified(answers[0], into); err != nil {
			return nil, fmt.Errorf("queues of %s: %w", dev, err)
		}
	}
	m, err := tree.marking(dev.Ports)
	if err != nil {
		return nil, fmt.Errorf("queues of %s: %w", dev, err)
	}
	return m, nil
}

func (c *openConfig) capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	most := 0
	for k := range m.queues {
		if k.port > 0 {
			most = max(most, int(k.queue)+1)
		}
	}
	w, err := c.weights(ctx, dev, m)
	if err != nil {
		return driver.Capabilities{}, err
	}
	return driver.Capabilities{Queues: &driver.QueueCapabilities{Ports: len(m.ports), Queues: most, Marked: markedQueues(m.observed()), Weighted: w.own()}}, nil
}

func (c *openConfig) read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return driver.Settings{}, err
	}
	w, err := c.weights(ctx, dev, m)
	if err != nil {
		return driver.Settings{}, err
	}
	return settingsOf(m.observed(), &w.weightState), nil
}

func (c *openConfig) apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	var r driver.Receipt
	m, err := c.marking(ctx, dev)
	if err != nil {
		return r, driver.Unsent(err)
	}
	var missing []string
	for _, w := range want.Queues.Marking {
		if k := (queueKey{w.Port, w.Queue}); m.queues[k] == "" {
			missing = append(missing, k.String())
		}
	}
	if len(missing) > 0 {
		return r, driver.Refusef(driver.ErrUnsupported, "%s has no queues %s (port/queue) by openconfig-qos", dev, queueKeyNames(missing))
	}
	plan, err := m.planFor(want.Queues.Marking)
	if err != nil {
		return r, driver.Refusef(driver.ErrUnsupported, "%s: %w", dev, err)
	}
	change, ops := queueChange{markingPlan: plan}, m.operations(plan)
	if len(want.Queues.Weights) > 0 {
		w, err := c.weights(ctx, dev, m)
		if err != nil {
			return r, driver.Unsent(err)
		}
		weights, err := w.planFor(want.Queues.Weights, m.queueLabel)
		if err != nil {
			return r, driver.Refusef(driver.ErrUnsupported, "%s: %w", dev, err)
		}
		change.weights, ops = w.changedQueues(weights), append(ops, w.operations(weights)...)
	}
	return c.s.execute(ctx, dev, want.Queues, change, ops, func(_, err error) error { return err })
}

// operations returns the operations of the Set for a plan.
func (m *ocMarking) operations(plan markingPlan) []gnmitree.Operation {
	var out []gnmitree.Operation
	for _, name := range slices.Sorted(maps.Keys(plan.create)) {
		out = append(out, update(ocProfilePath(name), map[string]any{
			"name": name, "config": map[string]any{"name": name}, "wred": map[string]any{"uniform": map[string]any{"config": ocRule(plan.create[name])}},
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(plan.change)) {
		out = append(out, update(ocProfilePath(name).Join(gnmitree.PathOf("wred", "uniform", "config")), ocThresholds(plan.change[name])))
	}
	for _, k := range slices.SortedFunc(maps.Keys(plan.refer), func(a, b queueKey) int { return strings.Compare(a.String(), b.String()) }) {
		at := ocQueuePath(m.ports[k.port-1], m.queues[k]).Child("config").Child("queue-management-profile")
		out = append(out, gnmitree.Operation{Op: gnmitree.OpUpdate, Path: at, Value: gnmitree.String(plan.refer[k])})
	}
	return out
}

// ocRule returns a rule that marks and does not drop.
func ocRule(m ecn.Marking) map[string]any {
	out := ocThresholds(m)
	out["enable-ecn"], out["drop"] = true, false
	return out
}

// ocThresholds encodes thresholds: they have 64 bits and are strings (RFC 7951, 6.1); the percentage has 8 bits.
func ocThresholds(m ecn.Marking) map[string]any {
	return map[string]any{"min-threshold": strconv.FormatInt(m.Min, 10), "max-threshold": strconv.FormatInt(m.Max, 10), "max-drop-probability-percent": m.PMaxPct}
}

func update(at gnmitree.Path, value map[string]any) gnmitree.Operation {
	text, err := json.Marshal(value)
	if err != nil {
		return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: at}
	}
	return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: at, Value: gnmitree.JSON(text)}
}
