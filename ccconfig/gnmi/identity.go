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
	"fairlane/subnet/ident"
)

// switchDialect is a dialect of switches. A switch is identified by the host name that it reports. NIC ports need no such name,
// because their agents find them by GUID.
type switchDialect interface {
	dialect
	preflight(ctx context.Context, dev driver.Device, classes []Expectation) ([]Finding, error)
	scheduling(ctx context.Context, dev driver.Device) ([]PortSchedule, error)
	count(ctx context.Context, dev driver.Device, port ident.PortNum, queues []uint8) ([]QueueReading, error)
	// nameAt returns the path of the host name, and nameIn extracts it from the answer; empty means that there is none.
	nameAt() (gpb.GetRequest_DataType, gnmitree.Path)
	nameIn(a answer) (string, error)
}

// switchOf waits for exclusive use of a switch.
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

// verify verifies that the target is the expected device, if it reports its name, so that nothing is sent to another device. It
// runs for every operation, because addresses can be reassigned at any time.
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

// hostname returns the host name that the target reports, or an empty string.
func (s *session) hostname(ctx context.Context, dev driver.Device, by switchDialect) (string, error) {
	kind, at := by.nameAt()
	answers, err := s.get(ctx, query{kind, gpb.Encoding_JSON_IETF, []gnmitree.Path{at}})
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound, codes.Unimplemented, codes.InvalidArgument: // some servers do not support the path
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

func (c *sonicSwitch) nameAt() (gpb.GetRequest_DataType, gnmitree.Path) {
	return gpb.GetRequest_ALL, sonicPath(configDB, "DEVICE_METADATA", "localhost")
}

func (c *sonicSwitch) nameIn(a answer) (string, error) {
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

// nameIn also accepts a plain string, because some servers return a leaf as a string in every encoding.
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
