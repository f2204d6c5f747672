package gnmi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
)

// agent is the dialect of host agents, for NIC ports.
type agent struct {
	s      *session
	bootID string // of the host at the time when places was filled
	places map[ident.PortID]place
	names  map[string]string // interned parameter names
}

// place is the location of a port in the agent's tree, with its properties that do not change until the driver is reloaded.
type place struct {
	nic        string
	port       int
	resetOnly  []string // parameters that take effect only after a firmware reset, sorted
	servesPods bool     // functions report the tenants of their pods
	algorithm  bool     // the agent reports the port's congestion-control algorithm
	netDev     string   // on its host
}

func newAgent(s *session) *agent { return &agent{s: s, names: map[string]string{}} }

// observed is the observed state of a port.
type observed struct {
	place
	settings *driver.NICState
	names    map[string]string // interned parameter names
}

// capabilities returns the settings that the port supports now.
func (a *agent) capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	at, err := a.find(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	nic := nicyang.NIC(at.nic)
	answers, err := a.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_JSON_IETF, []gnmitree.Path{
		nicyang.Port(at.nic, at.port).Child("state"), nic.Child("state"),
	}})
	if err != nil {
		return driver.Capabilities{}, a.s.classify(ctx, "state", dev, err)
	}
	var port nicyang.PortState
	var card struct {
		Capability []string `json:"capability"`
	}
	if err := errors.Join(unqualified(answers[0], &port), unqualified(answers[1], &card)); err != nil {
		return driver.Capabilities{}, fmt.Errorf("state of %s: %w", dev, err)
	}
	if port.ID != dev.ID {
		a.places = nil
		return driver.Capabilities{}, fmt.Errorf("%w: the host of %s changes while it is read", driver.ErrBusy, dev)
	}
	c := &driver.NICCapabilities{
		Params: slices.Concat(port.RuntimeNames, port.ResetNames), Reset: slices.Clone(port.ResetNames), Wide: slices.Contains(card.Capability, "rate_32"),
		VFs: int(port.Functions), WRCC: port.WRCCSenders > 0, Most: int(port.WRCCSenders),
	}
	slices.Sort(c.Params)
	slices.Sort(c.Reset)
	c.Shares = slices.Contains(c.Params, driver.PercentParam) && slices.Contains(c.Params, driver.SelectionParam)
	if len(c.Params) == 0 && !c.WRCC {
		return driver.Capabilities{}, errUnsupported(dev)
	}
	if dev.Plane == driver.PlaneWRCC && !c.WRCC {
		return driver.Capabilities{}, errNoSenders(dev)
	}
	return driver.Capabilities{NIC: c}, nil
}

func errUnsupported(dev driver.Device) error {
	return fmt.Errorf("%w: the host agent cannot access any parameter of %s: a virtual function and a port without a loaded driver have none; run fairlane-agent check on that host for the reason", driver.ErrUnsupported, dev)
}

func errNoSenders(dev driver.Device) error {
	return fmt.Errorf("%w: %s has no WRCC senders with weights", driver.ErrUnsupported, dev)
}

func (a *agent) read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	o, err := a.observe(ctx, dev)
	if err != nil {
		return driver.Settings{}, err
	}
	return driver.Settings{NIC: o.settings}, nil
}

// observe reads the complete configuration of a port, and verifies the port's identity.
func (a *agent) observe(ctx context.Context, dev driver.Device) (*observed, error) {
	for range 2 {
		at, err := a.find(ctx, dev)
		if err != nil {
			return nil, err
		}
		o, err := a.readPort(ctx, dev, at)
		if !errors.Is(err, errMoved) {
			return o, err
		}
		a.places = nil
	}
	return nil, fmt.Errorf("%w: the host of %s changes while it is read", driver.ErrBusy, dev)
}

// errMoved reports that a port has another place than the known one.
var errMoved = errors.New("the port is elsewhere")

// readPort reads a port's configuration at a place and then, in a second request, the identity there. A known place is valid until
// the host reboots.
func (a *agent) readPort(ctx context.Context, dev driver.Device, at place) (*observed, error) {
	port := nicyang.Port(at.nic, at.port)
	card := nicyang.Param(at.nic, nicparam.Key{Name: gnmitree.Any}).First(3).Child("param", gnmitree.Key{Name: "name", Value: gnmitree.Any}).Child("config").Child("value")
	answers, err := a.s.get(ctx, query{gpb.GetRequest_CONFIG, gpb.Encoding_JSON_IETF, []gnmitree.Path{port, card}})
	if status.Code(err) == codes.NotFound {
		return nil, errMoved
	}
	if err != nil {
		return nil, a.s.classify(ctx, "configuration", dev, err)
	}
	o := &observed{place: at, settings: &driver.NICState{}, names: a.names}
	if err := o.decode(answers); err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", dev, err)
	}
	boot, id, acting, err := a.identity(ctx, dev, at)
	o.acting(acting)
	o.algorithm(acting)
	switch {
	case err != nil:
		return nil, err
	case boot != a.bootID || id != dev.ID:
		return nil, errMoved
	case len(o.settings.Params) == 0 && o.settings.WRCC == nil:
		return nil, errUnsupported(dev)
	case dev.Plane == driver.PlaneWRCC && o.settings.WRCC == nil:
		return nil, errNoSenders(dev)
	case dev.Plane != driver.PlaneWRCC:
		o.settings.WRCC = nil
	}
	return o, nil
}

// decode decodes the configuration of the port and its card.
func (o *observed) decode(answers []answer) error {
	text, err := answers[0].json()
	if err != nil || text == nil {
		return err
	}
	if err := o.scanPort(text); err != nil {
		return err
	}
	for _, u := range answers[1].updates {
		p, err := cardParam(answers[1].prefix, u)
		if err != nil {
			return err
		}
		o.settings.Params = append(o.settings.Params, p)
	}
	o.settings.Sort()
	for i := 1; i < len(o.settings.Params); i++ {
		if a, b := o.settings.Params[i-1], o.settings.Params[i]; a.Name == b.Name && a.Index == b.Index {
			return fmt.Errorf("two values of parameter %s[%d]", a.Name, a.Index)
		}
	}
	if o.settings.WRCC != nil {
		return o.settings.WRCC.Validate()
	}
	return nil
}

// scanPort decodes the configuration of a port, with the fast scanner if possible.
func (o *observed) scanPort(text []byte) error {
	params, tail, ok := scanParams(text, o.names)
	if !ok {
		return o.decodePort(text)
	}
	if tail != nil {
		if err := o.decodePort(tail); err != nil {
			return err
		}
		if len(o.settings.Params) > 0 { // duplicate parameters
			return o.decodePort(text)
		}
	}
	o.settings.Params = params
	return nil
}

// decodePort decodes any legal configuration of a port.
func (o *observed) decodePort(text []byte) error {
	view, err := nicyang.DecodePort(text)
	if err != nil {
		return err
	}
	o.settings.Params = nil
	for _, p := range view.Set(o.port) {
		o.settings.Params = append(o.settings.Params, driver.NICParam{Name: p.Name, Index: p.Index, Value: p.Value})
	}
	o.settings.WRCC = view.WRCC.NICConfig()
	return nil
}

// cardParam decodes the value of one card parameter.
func cardParam(prefix *gpb.Path, u *gpb.Update) (driver.NICParam, error) {
	at, err := pathOf(prefix, u)
	if err != nil {
		return driver.NICParam{}, err
	}
	v, err := gnmitree.FromTyped(u.GetVal())
	if err != nil {
		return driver.NICParam{}, fmt.Errorf("%s: %w", at, err)
	}
	value, err := v.AsUint()
	if err != nil {
		return driver.NICParam{}, fmt.Errorf("%s: %w", at, err)
	}
	index, err := strconv.Atoi(at.Key(3, "index"))
	if name := at.Key(3, "name"); err == nil && index >= 0 && name != "" {
		return driver.NICParam{Name: name, Index: index, Value: value}, nil
	}
	return driver.NICParam{}, fmt.Errorf("a value at %s, want one of /nics/nic/params/param[name][index]", at)
}

// identity reads the host's boot ID, the port's ID and, in the same request, the current values of the parameters that are
// prerequisites of congestion control and change only at a firmware reset.
func (a *agent) identity(ctx context.Context, dev driver.Device, at place) (boot string, id ident.PortID, acting []answer, err error) {
	paths := []gnmitree.Path{nicyang.AgentState().Child("boot-id"), nicyang.Port(at.nic, at.port).Child("state").Child("id")}
	for _, p := range at.prerequisites(a.s.d.rows) {
		paths = append(paths, p.Child("state").Child("value"))
	}
	if at.algorithm {
		paths = append(paths, at.algorithmPaths()...)
	}
	answers, err := a.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_PROTO, paths})
	if status.Code(err) == codes.NotFound { // another release of the agent reports other leaves
		return "", id, nil, errMoved
	}
	if err != nil {
		return "", id, nil, a.s.classify(ctx, "identity", dev, err)
	}
	if len(answers[0].updates) != 1 || len(answers[1].updates) != 1 {
		return "", id, nil, fmt.Errorf("identity of %s: %d and %d values, want one boot id and one port id", dev, len(answers[0].updates), len(answers[1].updates))
	}
	boot = answers[0].updates[0].GetVal().GetStringVal()
	if id, err = ident.ParsePortID(answers[1].updates[0].GetVal().GetStringVal()); err != nil {
		return "", id, nil, fmt.Errorf("identity of %s: %w", dev, err)
	}
	return boot, id, answers[2:], nil
}

// find returns the place of a port. It uses known places without a request.
func (a *agent) find(ctx context.Context, dev driver.Device) (place, error) {
	if p, ok := a.places[dev.ID]; ok {
		return p, nil
	}
	answers, err := a.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_JSON_IETF, []gnmitree.Path{nicyang.AgentState(), nicyang.AllPorts().Child("state")}})
	if err != nil {
		return place{}, a.s.classify(ctx, "ports", dev, err)
	}
	var host struct {
		BootID string `json:"boot-id"`
	}
	if err := unqualified(answers[0], &host); err != nil {
		return place{}, fmt.Errorf("state of the agent of %s: %w", dev, err)
	}
	places := map[ident.PortID]place{}
	for _, u := range answers[1].updates {
		id, p, err := placeOf(answers[1].prefix, u)
		if err != nil {
			return place{}, fmt.Errorf("ports of the host of %s: %w", dev, err)
		}
		if other, twice := places[id]; twice {
			return place{}, fmt.Errorf("%w: %s is two ports of its host: number %d of %q and number %d of %q", driver.ErrInvalid, dev, other.port, other.nic, p.port, p.nic)
		}
		places[id] = p
	}
	a.bootID, a.places = host.BootID, places
	if p, ok := places[dev.ID]; ok {
		return p, nil
	}
	return place{}, fmt.Errorf("%w: the host at %s has no port %s, it has %s", driver.ErrUnreachable, a.s.target.Address, dev, idsOf(places))
}

func idsOf(places map[ident.PortID]place) string {
	if len(places) == 0 {
		return "none"
	}
	ids := make([]string, 0, len(places))
	for id := range places {
		ids = append(ids, id.String())
	}
	slices.Sort(ids)
	return strings.Join(ids[:min(len(ids), 8)], ", ")
}

// placeOf decodes one port's state.
func placeOf(prefix *gpb.Path, u *gpb.Update) (ident.PortID, place, error) {
	p, err := pathOf(prefix, u)
	if err != nil {
		return ident.PortID{}, place{}, err
	}
	// /nics/nic[name]/ports/port[number]/state
	number, err := strconv.Atoi(p.Key(3, "number"))
	if err != nil || number < 1 || number > nicparam.MaxPorts || p.Key(1, "name") == "" {
		return ident.PortID{}, place{}, fmt.Errorf("a port at %s, want one below /nics/nic[name]/ports/port[number=1..%d]", p, nicparam.MaxPorts)
	}
	var st nicyang.PortState
	if err := unqualified(answer{updates: []*gpb.Update{u}}, &st); err != nil {
		return ident.PortID{}, place{}, fmt.Errorf("%s: %w", p, err)
	}
	slices.Sort(st.ResetNames)
	return st.ID, place{p.Key(1, "name"), number, st.ResetNames, st.ServesPods, st.Algorithm != "", st.NetDev}, nil
}

// pathOf returns the complete path of an update.
func pathOf(prefix *gpb.Path, u *gpb.Update) (gnmitree.Path, error) {
	base, err := gnmitree.FromProto(prefix)
	if err != nil {
		return gnmitree.Path{}, err
	}
	p, err := gnmitree.FromProto(u.GetPath())
	return base.Join(p), err
}

// unqualified decodes the JSON object of an answer, whose member names may have a module prefix (RFC 7951, 4).
func unqualified(a answer, into any) error {
	text, err := a.json()
	if err != nil {
		return err
	}
	if text == nil {
		return errors.New("no value, want an object")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	plain := make(map[string]json.RawMessage, len(members))
	for name, m := range members {
		if _, bare, found := strings.Cut(name, ":"); found {
			name = bare
		}
		plain[name] = m
	}
	if text, err = json.Marshal(plain); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
