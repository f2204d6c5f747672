package gnmi

import (
	"context"
	"fmt"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
)

// HostPort is a port of a host, as its agent reports it.
type HostPort struct {
	ID        ident.PortID
	SpeedMbps uint64 // 0 while the link is down
	Up        bool
	Senders   int // largest number of senders with weights; 0 means no WRCC
}

// HostPorts returns the ports of the host of a NIC port, by identity. It serves to identify the host at an address.
func (d *Driver) HostPorts(ctx context.Context, dev driver.Device) ([]HostPort, error) {
	a, release, err := d.agentOf(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	answers, err := a.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_JSON_IETF, []gnmitree.Path{nicyang.AllPorts().Child("state")}})
	if err != nil {
		return nil, a.s.classify(ctx, "ports", dev, err)
	}
	var out []HostPort
	for _, u := range answers[0].updates {
		var st nicyang.PortState
		if err := unqualified(answer{updates: []*gpb.Update{u}}, &st); err != nil {
			return nil, fmt.Errorf("ports of the host of %s: %w", dev, err)
		}
		out = append(out, HostPort{ID: st.ID, SpeedMbps: uint64(st.SpeedMbps), Up: st.OperUp, Senders: int(st.WRCCSenders)})
	}
	slices.SortFunc(out, func(a, b HostPort) int { return a.ID.Compare(b.ID) })
	return out, nil
}

// agentOf waits for exclusive use of the agent of a NIC port.
func (d *Driver) agentOf(ctx context.Context, dev driver.Device) (*agent, func(), error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return nil, nil, err
	}
	a, ok := s.speaks.(*agent)
	if !ok {
		release()
		return nil, nil, fmt.Errorf("%w: %s is reached in dialect %q, want %q", driver.ErrInvalid, dev, s.target.Dialect, Agent)
	}
	return a, release, nil
}
