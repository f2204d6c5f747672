package opensm

import (
	"context"
	"fmt"
	"slices"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/saquery"
)

// portReporter is a Reloader that can report the port in the arguments of its OpenSM process.
type portReporter interface {
	// PortGUID returns the port in the process's arguments; 0 without one.
	PortGUID(ctx context.Context) (ident.GUID, error)
}

// ownPort returns the port that the OpenSM of these files runs on. When neither the configuration nor the process nor
// its options name one, OpenSM takes the first active port of its machine: ownPort then returns the only port of this
// machine with a subnet manager. master is the port of the master. The result is 0, with the reason, when the port is
// unknown.
func (m *Manager) ownPort(ctx context.Context, t osmfile.Texts, master ident.GUID) (guid ident.GUID, unknown string) {
	if m.cfg.PortGUID != 0 {
		return m.cfg.PortGUID, ""
	}
	if p, ok := m.reload.(portReporter); ok {
		if guid, err := p.PortGUID(ctx); err == nil && guid != 0 {
			return guid, ""
		}
	}
	if guid := osmfile.ReadOptions(t.Options.Data).PortGUID(); guid != 0 {
		return guid, ""
	}
	here, err := m.managedPorts(ctx)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("the ports of this machine could not be read: %v", err)
	case len(here) == 0:
		return 0, "no subnet manager runs on a port of this machine that Fairlane sees"
	case len(here) > 1 && slices.Contains(here, master):
		return 0, fmt.Sprintf("subnet managers run on %d ports of this machine", len(here))
	}
	return here[0], ""
}

// managedPorts lists the ports of this machine with a subnet manager: those that the kernel reports, and the transport's
// port.
func (m *Manager) managedPorts(ctx context.Context) ([]ident.GUID, error) {
	var out []ident.GUID
	if m.cfg.SMPorts != nil {
		list, err := m.cfg.SMPorts()
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	var info mad.PortInfo
	if err := m.readOwn(ctx, mad.AttrPortInfo, &info); err != nil {
		return nil, err
	}
	if info.CapabilityMask&mad.PortCapIsSM != 0 {
		var node mad.NodeInfo
		if err := m.readOwn(ctx, mad.AttrNodeInfo, &node); err != nil {
			return nil, err
		}
		out = append(out, node.PortGUID)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// readOwn reads an attribute of the transport's port.
func (m *Manager) readOwn(ctx context.Context, attr mad.AttrID, into mad.Attribute) error {
	req := mad.NewDirected(mad.MethodGet, attr, 0)
	return saquery.Read(ctx, m.transport, mad.Target{}, &req, into)
}
