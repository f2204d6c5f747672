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
	"fairlane/internal/gnmid"
	"fairlane/subnet/ident"
)

// openConfig speaks of queues with a switch by openconfig-qos 2.2.0. Its queues have names; the number at the end of a
// name, as of "3" or "Ethernet0:3", is the queue's.
type openConfig struct{ s *session }

func newOpenConfig(s *session) *openConfig { return &openConfig{s} }

func (c *openConfig) serves(dev driver.Device) error { return servesSwitch(dev) }

// ocMarking is what a switch's tree says of marking.
type ocMarking struct {
	markingState

	ports  []string            // interfaces by number, from port 1 on
	queues map[queueKey]string // names of queues
	ifaces []ocInterface       // in the order of ports
}

// ocQoS is what we read of /qos.
type ocQoS struct {
	Interfaces struct {
		Interface []ocInterface `json:"interface"`
	} `json:"interfaces"`
	Profiles struct {
		Profile []ocProfile `json:"queue-management-profile"`
	} `json:"queue-management-profiles"`
}

type ocInterface struct {
	ID     string `json:"interface-id"`
	Output struct {
		Queues struct {
			Queue []ocQueue `json:"queue"`
		} `json:"queues"`
		Policy struct {
			Config struct {
				Name string `json:"name"`
			} `json:"config"`
		} `json:"scheduler-policy"`
	} `json:"output"`
	Input struct {
		Classifiers struct {
			Classifier []struct {
				Config struct {
					Name string `json:"name"`
				} `json:"config"`
			} `json:"classifier"`
		} `json:"classifiers"`
	} `json:"input"`
}

type ocQueue struct {
	Name   string `json:"name"`
	Config struct {
		Profile string `json:"queue-management-profile"`
	} `json:"config"`
	State struct {
		TransmitOctets  *ocNumber `json:"transmit-octets"`
		TransmitPackets *ocNumber `json:"transmit-pkts"`
		DroppedPackets  *ocNumber `json:"dropped-pkts"`
		MarkedPackets   *ocNumber `json:"ecn-marked-pkts"`
	} `json:"state"`
}

type ocProfile struct {
	Name string `json:"name"`
	WRED struct {
		Uniform struct {
			Config ocUniform `json:"config"`
		} `json:"uniform"`
	} `json:"wred"`
}

// ocUniform is the rule of a profile. Thresholds are bytes; those in percent of a buffer say nothing that we could set.
type ocUniform struct {
	Min     *ocNumber `json:"min-threshold"`
	Max     *ocNumber `json:"max-threshold"`
	ECN     bool      `json:"enable-ecn"`
	Percent *ocNumber `json:"max-drop-probability-percent"`
}

// ocNumber is an unsigned number, which JSON_IETF writes as a string where it has 64 bits.
type ocNumber uint64

// UnmarshalJSON reads either form.
func (n *ocNumber) UnmarshalJSON(b []byte) error {
	v, err := gnmid.ParseJSON(b)
	if err != nil {
		return err
	}
	u, err := v.AsUint()
	*n = ocNumber(u)
	return err
}

func (p *ocProfile) profile() profile {
	u := p.WRED.Uniform.Config
	if !u.ECN || u.Min == nil || u.Max == nil {
		return profile{}
	}
	m := ecn.Marking{Min: int64(min(*u.Min, ecn.MaxThreshold+1)), Max: int64(min(*u.Max, ecn.MaxThreshold+1)), PMaxPct: ecn.MaxPercent} //nolint:gosec // bounded
	if u.Percent != nil {
		m.PMaxPct = int(min(*u.Percent, ecn.MaxPercent+1)) //nolint:gosec // bounded
	}
	if m.Validate() != nil {
		return profile{broken: true}
	}
	return profile{marking: m, marks: true}
}

func qosPath(elems ...string) gnmid.Path { return gnmid.PathOf(append([]string{"qos"}, elems...)...) }

func ocProfilePath(name string) gnmid.Path {
	return qosPath("queue-management-profiles").Child("queue-management-profile", gnmid.Key{Name: "name", Value: name})
}

func ocQueuePath(port, queue string) gnmid.Path {
	return qosPath("interfaces").Child("interface", gnmid.Key{Name: "interface-id", Value: port}).Child("output").Child("queues").
		Child("queue", gnmid.Key{Name: "name", Value: queue})
}

// marking reads profiles, and the queues of the interfaces.
func (c *openConfig) marking(ctx context.Context, dev driver.Device) (*ocMarking, error) {
	paths := []gnmid.Path{qosPath("interfaces"), qosPath("queue-management-profiles")}
	var tree ocQoS
	for i, into := range []any{&tree.Interfaces, &tree.Profiles} {
		answers, err := c.s.get(ctx, query{gpb.GetRequest_CONFIG, gpb.Encoding_JSON_IETF, paths[i : i+1]})
		if status.Code(err) == codes.NotFound && i > 0 {
			continue // no profiles yet
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

// marking makes sense of a tree for a switch that is to have a number of ports: port n is the n-th interface in the order
// of the numbers in their names.
func (t *ocQoS) marking(ports int) (*ocMarking, error) {
	m := &ocMarking{markingState: markingState{profiles: map[string]profile{}}, queues: map[queueKey]string{}}
	for i := range t.Profiles.Profile {
		p := &t.Profiles.Profile[i]
		m.profiles[p.Name] = p.profile()
	}
	all := t.Interfaces.Interface
	slices.SortFunc(all, func(a, b ocInterface) int { return compareNames(a.ID, b.ID) })
	m.ifaces = all
	if len(all) < ports {
		return nil, fmt.Errorf("%w: it has queues of %d interfaces, want the %d ports of the inventory", driver.ErrInvalid, len(all), ports)
	}
	for i := range all {
		m.ports = append(m.ports, all[i].ID)
		for _, q := range all[i].Output.Queues.Queue {
			_, n, ok := splitNumber(q.Name)
			if !ok {
				continue // by its name nobody can tell which it is
			}
			number := ident.PortNum(0)
			if i < ports {
				number = ident.PortNum(i + 1) //nolint:gosec // at most MaxSwitchPorts
			}
			k := queueKey{numberOf(number, n), uint8(min(n, 255))} //nolint:gosec // bounded
			if other, twice := m.queues[k]; twice && k.port > 0 {
				return nil, fmt.Errorf("%w: queues %q and %q of %s have the same number", driver.ErrInvalid, other, q.Name, all[i].ID)
			}
			m.queues[k] = q.Name
			m.slots = append(m.slots, slot{k, all[i].ID + " queue " + q.Name, q.Config.Profile})
		}
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
	return driver.Capabilities{Queues: &driver.QueueCapabilities{Ports: len(m.ports), Queues: most, Marked: markedQueues(m.observed())}}, nil
}

func (c *openConfig) read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return driver.Settings{}, err
	}
	return driver.Settings{Queues: &driver.QueueState{Marking: m.observed()}}, nil
}

func (c *openConfig) apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	var r driver.Receipt
	m, err := c.marking(ctx, dev)
	if err != nil {
		return r, err
	}
	var missing []string
	for _, w := range want.Queues.Marking {
		if k := (queueKey{w.Port, w.Queue}); m.queues[k] == "" {
			missing = append(missing, k.String())
		}
	}
	if len(missing) > 0 {
		return r, fmt.Errorf("%w: nothing was sent: %s has no queues %s (port/queue) by openconfig-qos", driver.ErrUnsupported, dev, queueKeyNames(missing))
	}
	plan, err := m.to(want.Queues.Marking)
	if err != nil {
		return r, fmt.Errorf("%w: nothing was sent: %s: %w", driver.ErrUnsupported, dev, err)
	}
	if plan.empty() {
		return receiptOf(plan, want.Queues, driver.OutcomeUnchanged, ""), nil
	}
	if cause := c.s.set(ctx, m.operations(plan), 0); cause != nil {
		err := c.s.classify(ctx, "set", dev, cause)
		return receiptOf(plan, want.Queues, outcome(err), err.Error()), err
	}
	return receiptOf(plan, want.Queues, driver.OutcomeAcknowledged, ""), nil
}

// operations are those of the Set that carries out a plan.
func (m *ocMarking) operations(plan markingPlan) []gnmid.Operation {
	var out []gnmid.Operation
	for _, name := range slices.Sorted(maps.Keys(plan.create)) {
		out = append(out, update(ocProfilePath(name), map[string]any{
			"name": name, "config": map[string]any{"name": name}, "wred": map[string]any{"uniform": map[string]any{"config": ocRule(plan.create[name])}},
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(plan.change)) {
		out = append(out, update(ocProfilePath(name).Join(gnmid.PathOf("wred", "uniform", "config")), ocThresholds(plan.change[name])))
	}
	for _, k := range slices.SortedFunc(maps.Keys(plan.refer), func(a, b queueKey) int { return strings.Compare(a.String(), b.String()) }) {
		at := ocQueuePath(m.ports[k.port-1], m.queues[k]).Child("config").Child("queue-management-profile")
		out = append(out, gnmid.Operation{Op: gnmid.OpUpdate, Path: at, Value: gnmid.String(plan.refer[k])})
	}
	return out
}

// ocRule marks and does not drop.
func ocRule(m ecn.Marking) map[string]any {
	out := ocThresholds(m)
	out["enable-ecn"], out["drop"] = true, false
	return out
}

// ocThresholds have 64 bits and are strings (RFC 7951, 6.1), the percentage has 8.
func ocThresholds(m ecn.Marking) map[string]any {
	return map[string]any{"min-threshold": strconv.FormatInt(m.Min, 10), "max-threshold": strconv.FormatInt(m.Max, 10), "max-drop-probability-percent": m.PMaxPct}
}

func update(at gnmid.Path, value map[string]any) gnmid.Operation {
	text, err := json.Marshal(value)
	if err != nil {
		return gnmid.Operation{Op: gnmid.OpUpdate, Path: at}
	}
	return gnmid.Operation{Op: gnmid.OpUpdate, Path: at, Value: gnmid.JSON(text)}
}
