package gnmi

import (
	"context"
	"encoding/json"
	"fmt"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
)

// switchDialect is a dialect of switches. They are known by the name that they call themselves; NIC ports are not: their agents
// are asked for them by GUID.
type switchDialect interface {
	dialect
	preflight(ctx context.Context, dev driver.Device, x Expectation) ([]Finding, error)
	scheduling(ctx context.Context, dev driver.Device) ([]PortSchedule, error)
	count(ctx context.Context, dev driver.Device, queues []uint8) ([]QueueReading, error)
	// nameAt is where the name is, and nameIn takes it out of the answer; empty where there is none.
	nameAt() (gpb.GetRequest_DataType, gnmitree.Path)
	nameIn(a answer) (string, error)
}

// switchOf waits for a turn on a switch.
func (d *Driver) switchOf(ctx context.Context, dev driver.Device) (switchDialect, func(), error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return nil, nil, err
	}
	c, ok := s.speaks.(switchDialect)
	if !ok {
		release()
		return nil, nil, fmt.Errorf("%w: %s is no switch", driver.ErrInvalid, dev)
	}
	return c, release, nil
}

// verify makes sure that the target is the device, as far as the device says what it is called: everything else would be said to
// another one, and every time, since addresses are given to others while a manager runs.
func (s *session) verify(ctx context.Context, dev driver.Device) error {
	by, ok := s.speaks.(switchDialect)
	if !ok {
		return nil
	}
	found, err := s.hostname(ctx, dev, by)
	if err != nil {
		return err
	}
	s.nameless = found == ""
	want := s.target.Hostname
	if want == "" {
		want = dev.Name
	}
	return driver.CheckName(dev, s.target.Address, want, found)
}

// hostname is what the target calls itself; empty where it does not say.
func (s *session) hostname(ctx context.Context, dev driver.Device, by switchDialect) (string, error) {
	kind, at := by.nameAt()
	answers, err := s.get(ctx, query{kind, gpb.Encoding_JSON_IETF, []gnmitree.Path{at}})
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound, codes.Unimplemented, codes.InvalidArgument: // without that path, as some servers are
		return "", nil
	default:
		return "", s.classify(ctx, "hostname", dev, err)
	}
	found, err := by.nameIn(answers[0])
	if err != nil {
		return "", fmt.Errorf("hostname of %s: %w", dev, err)
	}
	return found, nil
}

func (c *sonic) nameAt() (gpb.GetRequest_DataType, gnmitree.Path) {
	return gpb.GetRequest_ALL, sonicPath(configDB, "DEVICE_METADATA", "localhost")
}

func (c *sonic) nameIn(a answer) (string, error) {
	text, err := a.json()
	if err != nil || text == nil {
		return "", err
	}
	var fields map[string]json.RawMessage
	err = json.Unmarshal(text, &fields)
	return parseRow(fields)["hostname"], err
}

func (c *openConfig) nameAt() (gpb.GetRequest_DataType, gnmitree.Path) {
	return gpb.GetRequest_STATE, gnmitree.PathOf("system", "state", "hostname")
}

// nameIn takes a bare string as well: servers exist that answer a leaf so in every encoding.
func (c *openConfig) nameIn(a answer) (name string, err error) {
	if len(a.updates) == 1 {
		if v, bare := a.updates[0].GetVal().GetValue().(*gpb.TypedValue_StringVal); bare {
			return v.StringVal, nil
		}
	}
	text, err := a.json()
	if err != nil || text == nil {
		return "", err
	}
	err = json.Unmarshal(text, &name)
	return name, err
}
