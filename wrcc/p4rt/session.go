package p4rt

import (
	"context"
	"errors"
	"fmt"
	"io"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"

	"fairlane/ccconfig/driver"
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// session is the driver's state of one device, for the current exclusive user of the device.
type session struct {
	d      *Driver
	dev    driver.Device
	target Target
	client p4v1.P4RuntimeClient

	cookie   *uint64 // of the program with these features; nil before the first check
	features p4info.Features

	election ElectionID
	stream   *stream // nil before the first write

	noRegisters bool                    // the program has registers, but the server gives no access
	sums        map[uint16]p4info.Count // CounterPFRSum at the last reading
}

func newSession(d *Driver, dev driver.Device, t Target, conn *grpc.ClientConn) *session {
	return &session{d: d, dev: dev, target: t, client: p4v1.NewP4RuntimeClient(conn), election: d.o.Election}
}

// check verifies that the device runs a program with our tables, and determines its other features.
func (s *session) check(ctx context.Context) error {
	if s.cookie != nil {
		c, err := s.pipeline(ctx, p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY)
		if err != nil {
			return err
		}
		if cookie := c.GetCookie(); cookie != nil && cookie.GetCookie() == *s.cookie {
			return nil
		}
		s.cookie = nil
	}
	c, err := s.pipeline(ctx, p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE)
	if err != nil {
		return err
	}
	f, err := p4info.Compare(c.GetP4Info())
	if err != nil {
		return fmt.Errorf("%w: %s runs another program: %w", driver.ErrUnsupported, s.dev, err)
	}
	s.features, s.noRegisters, s.sums = f, false, nil
	if cookie := c.GetCookie(); cookie != nil { // the P4Info of a device without cookies is read each time
		s.cookie = new(cookie.GetCookie())
	}
	return nil
}

func (s *session) pipeline(ctx context.Context, ask p4v1.GetForwardingPipelineConfigRequest_ResponseType) (*p4v1.ForwardingPipelineConfig, error) {
	rctx, cancel := s.d.links.Request(ctx)
	defer cancel()
	r, err := s.client.GetForwardingPipelineConfig(rctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: s.target.DeviceID, ResponseType: ask})
	if err != nil {
		return nil, s.classify(ctx, "program", err)
	}
	return r.GetConfig(), nil
}

// entities reads all entities that match the request, up to a maximum.
func (s *session) entities(ctx context.Context, what string, most int, ask ...*p4v1.Entity) ([]*p4v1.Entity, error) {
	rctx, cancel := s.d.links.Request(ctx)
	defer cancel()
	answers, err := s.client.Read(rctx, &p4v1.ReadRequest{DeviceId: s.target.DeviceID, Entities: ask})
	if err != nil {
		return nil, s.classify(ctx, what, err)
	}
	var all []*p4v1.Entity
	for {
		r, err := answers.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, s.classify(ctx, what, err)
		}
		if all = append(all, r.GetEntities()...); len(all) > most {
			return nil, fmt.Errorf("%s of %s: more than %d entities, the sizes in its P4Info", what, s.dev, most)
		}
		for _, e := range r.GetEntities() {
			p4info.Shorten(e)
		}
	}
}

// read returns all entries of our tables.
func (s *session) read(ctx context.Context) (*wrcc.SwitchConfig, error) {
	ask := []*p4v1.Entity{p4info.Entity(p4info.All(p4info.TablePortConfig)), p4info.Entity(p4info.All(p4info.TableDomain))}
	if s.features.Weights > 0 {
		ask = append(ask, p4info.Entity(p4info.All(p4info.TableClassWeight)))
	}
	all, err := s.entities(ctx, "tables", s.features.Ports+s.features.Domains+s.features.Weights, ask...)
	if err != nil {
		return nil, err
	}
	c := &wrcc.SwitchConfig{}
	for _, e := range all {
		if err := decode(c, e.GetTableEntry()); err != nil {
			return nil, fmt.Errorf("tables of %s: %w", s.dev, err)
		}
	}
	c.Sort()
	if err := errors.Join(unique(c.Ports), unique(c.Weights), unique(c.Domains)); err != nil {
		return nil, fmt.Errorf("tables of %s: %w", s.dev, err)
	}
	return c, nil
}

// decode adds an entry to c.
func decode(c *wrcc.SwitchConfig, e *p4v1.TableEntry) error {
	switch e.GetTableId() {
	case p4info.TablePortConfig:
		p, err := p4info.DecodePortConfig(e)
		c.Ports = append(c.Ports, p)
		return err
	case p4info.TableClassWeight:
		w, err := p4info.DecodeClassWeight(e)
		c.Weights = append(c.Weights, w)
		return err
	case p4info.TableDomain:
		p, err := p4info.DecodeDomain(e)
		c.Domains = append(c.Domains, p)
		return err
	}
	return fmt.Errorf("an entry of table 0x%08x, which was not asked for", e.GetTableId())
}

// unique returns an error if two sorted entries have the same key.
func unique[E wrcc.Entry](list []E) error {
	for i := 1; i < len(list); i++ {
		if list[i].Key() == list[i-1].Key() {
			return fmt.Errorf("two entries with the same key, port %s", list[i].Name())
		}
	}
	return nil
}

// fits returns an error, before anything is sent, if the device's tables are too small.
func (s *session) fits(want *wrcc.SwitchConfig) error {
	for _, t := range []struct {
		name       string
		want, have int
	}{
		{"port_cfg", len(want.Ports), s.features.Ports}, {"class_weight", len(want.Weights), s.features.Weights}, {"domain_cfg", len(want.Domains), s.features.Domains},
	} {
		if t.want > t.have {
			return driver.Refusef(driver.ErrUnsupported, "%s holds %d entries in table %s, want %d", s.dev, t.have, t.name, t.want)
		}
	}
	return nil
}

// resign gives up the device's election.
func (s *session) resign() {
	if s.stream != nil {
		s.stream.cancel()
	}
}
