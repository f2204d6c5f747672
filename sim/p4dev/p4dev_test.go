package p4dev_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/internal/testkit/grpctest"
	"fairlane/sim/p4dev"
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = 5

// rig is a server with one switch, and a client of it.
type rig struct {
	t      testing.TB
	server *p4dev.Server
	dev    *p4dev.Device
	api    p4v1.P4RuntimeClient
}

func newRig(t testing.TB, o p4dev.Options) *rig {
	t.Helper()
	if o.Ports == 0 {
		o.Ports = 8
	}
	r := &rig{t: t, server: p4dev.NewServer()}
	var err error
	if r.dev, err = r.server.Add(id, o); err != nil {
		t.Fatal(err)
	}
	r.api = p4v1.NewP4RuntimeClient(grpctest.Connect(t, grpctest.Serve(t, serving(r.server))))
	return r
}

// serving returns a function that runs the server on a listener.
func serving(s *p4dev.Server) func(context.Context, net.Listener) error {
	return func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l) }
}

// controller is a client with a stream.
type controller struct {
	*rig
	stream p4v1.P4Runtime_StreamChannelClient
	leave  func()
}

func (r *rig) controller() *controller {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.t.Cleanup(cancel)
	s, err := r.api.StreamChannel(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return &controller{r, s, cancel}
}

func arbitration(device, high, low uint64) *p4v1.StreamMessageRequest {
	a := &p4v1.MasterArbitrationUpdate{DeviceId: device, ElectionId: &p4v1.Uint128{High: high, Low: low}}
	return &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: a}}
}

func (c *controller) send(m *p4v1.StreamMessageRequest) {
	c.t.Helper()
	if err := c.stream.Send(m); err != nil {
		c.t.Fatal(err)
	}
}

// expectArbitration expects the next message to be an arbitration update.
func (c *controller) expectArbitration(code codes.Code, low uint64) {
	c.t.Helper()
	m, err := c.stream.Recv()
	if err != nil {
		c.t.Fatal(err)
	}
	a := m.GetArbitration()
	if got := codes.Code(uint32(a.GetStatus().GetCode())); got != code || a.GetElectionId().GetLow() != low || a.GetDeviceId() != id {
		c.t.Fatalf("received %s for election id %d, want %s for %d", got, a.GetElectionId().GetLow(), code, low)
	}
}

func (c *controller) elect(low uint64) {
	c.t.Helper()
	c.send(arbitration(id, 0, low))
}

// ends expects the stream to end with a code.
func (c *controller) ends(code codes.Code, wantText string) {
	c.t.Helper()
	for {
		_, err := c.stream.Recv()
		if err == nil {
			continue
		}
		if status.Code(err) != code || !strings.Contains(err.Error(), wantText) {
			c.t.Fatalf("stream ended with %v, want %s with %q", err, code, wantText)
		}
		return
	}
}

func update(kind p4v1.Update_Type, e *p4v1.TableEntry) *p4v1.Update {
	return &p4v1.Update{Type: kind, Entity: p4info.Entity(e)}
}

func (r *rig) write(low uint64, u ...*p4v1.Update) error {
	_, err := r.api.Write(r.t.Context(), &p4v1.WriteRequest{DeviceId: id, ElectionId: &p4v1.Uint128{Low: low}, Updates: u})
	return err
}

func (r *rig) read(e ...*p4v1.Entity) ([]*p4v1.Entity, error) {
	s, err := r.api.Read(r.t.Context(), &p4v1.ReadRequest{DeviceId: id, Entities: e})
	if err != nil {
		return nil, err
	}
	var all []*p4v1.Entity
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m.GetEntities()...)
	}
}

func wantCode(t testing.TB, what string, err error, code codes.Code, wantText string) {
	t.Helper()
	if status.Code(err) != code || err != nil && !strings.Contains(err.Error(), wantText) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, wantText)
	}
}

func port(n uint16) wrcc.PortConfig {
	return wrcc.PortConfig{Port: n, FminMbps: 100, FmaxMbps: 100_000, TargetMbps: 90_000, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50}
}

func TestOnlyThePrimaryWrites(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{})
	one := update(p4v1.Update_INSERT, p4info.PortConfig(port(1)))
	wantCode(t, "before any arbitration", r.write(1, one), codes.PermissionDenied, "arbitrate first")
	a, b := r.controller(), r.controller()
	a.elect(10)
	a.expectArbitration(codes.OK, 10)
	b.elect(5)
	b.expectArbitration(codes.AlreadyExists, 10)
	wantCode(t, "the backup", r.write(5, one), codes.PermissionDenied, "not that of the primary")
	wantCode(t, "the primary", r.write(10, one), codes.OK, "")
	b.elect(11)
	a.expectArbitration(codes.AlreadyExists, 11)
	b.expectArbitration(codes.OK, 11)
	wantCode(t, "the old primary", r.write(10, update(p4v1.Update_DELETE, p4info.PortConfig(port(1)))), codes.PermissionDenied, "")
	if c := r.dev.Config(); len(c.Ports) != 1 {
		t.Errorf("the configuration of the switch is %v", c.Ports)
	}
	// The highest id received so far counts, even after its client has left.
	b.leave()
	a.expectArbitration(codes.NotFound, 11)
	a.elect(10)
	a.expectArbitration(codes.NotFound, 11)
	wantCode(t, "with no primary", r.write(10, one), codes.PermissionDenied, "no primary")
	a.elect(12)
	a.expectArbitration(codes.OK, 12)
	// The primary may resign.
	a.elect(0)
	a.expectArbitration(codes.NotFound, 12)
}

func TestArbitrationIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{})
	first := r.controller()
	first.elect(3)
	first.expectArbitration(codes.OK, 3)

	ghost := r.controller()
	ghost.send(arbitration(99, 0, 1))
	ghost.ends(codes.NotFound, "no device 99")
	twin := r.controller()
	twin.elect(3)
	twin.ends(codes.InvalidArgument, "0/3 is in use by another client")
	role := r.controller()
	m := arbitration(id, 0, 4)
	m.GetArbitration().Role = &p4v1.Role{Name: "telemetry"}
	role.send(m)
	role.ends(codes.InvalidArgument, "default role")
	hasty := r.controller()
	hasty.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{}}})
	hasty.ends(codes.FailedPrecondition, "arbitrate first")
	first.send(arbitration(6, 0, 3))
	first.ends(codes.FailedPrecondition, "belongs to device 5")
}

func TestRebootClosesStreamsAndResetsState(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{})
	a := r.controller()
	a.elect(10)
	a.expectArbitration(codes.OK, 10)
	wantCode(t, "write", r.write(10, update(p4v1.Update_INSERT, p4info.PortConfig(port(1)))), codes.OK, "")
	r.dev.Reboot()
	a.ends(codes.Unavailable, "connection lost")
	wantCode(t, "the old primary", r.write(10), codes.PermissionDenied, "no primary")
	if c := r.dev.Config(); len(c.Ports) != 0 {
		t.Errorf("after a reboot: %v", c.Ports)
	}
	b := r.controller()
	b.elect(1)
	b.expectArbitration(codes.OK, 1)
}

// primary returns a controller that is the primary, with election id 1.
func primary(t testing.TB, o p4dev.Options) *controller {
	t.Helper()
	c := newRig(t, o).controller()
	c.elect(1)
	c.expectArbitration(codes.OK, 1)
	return c
}

func TestWriteReportsStatusOfEachUpdate(t *testing.T) {
	t.Parallel()
	r := primary(t, p4dev.Options{Program: func(p *configv1.P4Info) { p.Tables[0].Size = 2 }})
	padded := p4info.PortConfig(port(4))
	padded.GetAction().GetAction().GetParams()[3].Value = []byte{0, 24}
	high := port(5)
	high.RateRatioPct = 201
	inverted := port(5)
	inverted.FmaxMbps = 1
	register := &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: p4info.Entity(p4info.Register(p4info.RegisterPFR, 1, 1))}
	cases := []struct {
		u        *p4v1.Update
		code     codes.Code
		wantText string
	}{
		{update(p4v1.Update_INSERT, p4info.PortConfig(port(1))), codes.OK, ""},
		{update(p4v1.Update_INSERT, p4info.PortConfig(port(1))), codes.AlreadyExists, ""},
		{update(p4v1.Update_MODIFY, p4info.PortConfig(port(2))), codes.NotFound, ""},
		{update(p4v1.Update_DELETE, p4info.PortConfig(port(2))), codes.NotFound, ""},
		{update(p4v1.Update_INSERT, padded), codes.InvalidArgument, "port_cfg.wrcct_us: found 0x0018, want no leading zeros"},
		{update(p4v1.Update_INSERT, p4info.PortConfig(high)), codes.InvalidArgument, "rate_ratio_pct: found 201, want 100 to 200"},
		{update(p4v1.Update_INSERT, p4info.PortConfig(inverted)), codes.InvalidArgument, "f_max_mbps"},
		{update(p4v1.Update_INSERT, p4info.PortConfig(port(9))), codes.InvalidArgument, "port: found 9, want 1 to 8"},
		{update(p4v1.Update_INSERT, p4info.PortConfig(port(2))), codes.OK, ""},
		{update(p4v1.Update_INSERT, p4info.PortConfig(port(3))), codes.ResourceExhausted, "table full: 2 entries"},
		{update(p4v1.Update_UNSPECIFIED, p4info.Domain(wrcc.PortDomain{Port: 1})), codes.InvalidArgument, "update type"},
		{update(p4v1.Update_INSERT, p4info.ClassWeight(wrcc.ClassWeight{Port: 1, Class: 2})), codes.InvalidArgument, "multiplier"},
		{update(p4v1.Update_INSERT, p4info.All(0x02000099)), codes.NotFound, "no table 0x02000099"},
		{register, codes.PermissionDenied, "data plane writes registers"},
		{&p4v1.Update{Type: p4v1.Update_INSERT}, codes.InvalidArgument, "no entity"},
		{update(p4v1.Update_DELETE, p4info.Key(p4info.PortConfig(port(1)))), codes.OK, ""},
	}
	all := make([]*p4v1.Update, len(cases))
	for i, c := range cases {
		all[i] = c.u
	}
	err := r.write(1, all...)
	wantCode(t, "batch", err, codes.Unknown, "some updates failed")
	details := status.Convert(err).Details()
	if len(details) != len(cases) {
		t.Fatalf("%d details of %d updates", len(details), len(cases))
	}
	for i, c := range cases {
		e, ok := details[i].(*p4v1.Error)
		if !ok || codes.Code(uint32(e.GetCanonicalCode())) != c.code || !strings.Contains(e.GetMessage(), c.wantText) {
			t.Errorf("update %d: %v, want %s with %q", i, details[i], c.code, c.wantText)
		}
	}
	if c := r.dev.Config(); len(c.Ports) != 1 || c.Ports[0] != port(2) {
		t.Errorf("the configuration of the switch is %v", c.Ports)
	}
}

func TestUnsupportedRequests(t *testing.T) {
	t.Parallel()
	r := primary(t, p4dev.Options{})
	ctx := t.Context()
	me := &p4v1.Uint128{Low: 1}
	_, err := r.api.Write(ctx, &p4v1.WriteRequest{DeviceId: id, ElectionId: me, Atomicity: p4v1.WriteRequest_DATAPLANE_ATOMIC})
	wantCode(t, "atomic", err, codes.Unimplemented, "CONTINUE_ON_ERROR")
	_, err = r.api.Write(ctx, &p4v1.WriteRequest{DeviceId: id, ElectionId: me, Role: "x"})
	wantCode(t, "role", err, codes.InvalidArgument, "default role")
	_, err = r.api.Write(ctx, &p4v1.WriteRequest{DeviceId: id, ElectionId: me, Updates: make([]*p4v1.Update, 5000)})
	wantCode(t, "5000 updates", err, codes.InvalidArgument, "at most 4096")
	_, err = r.api.Write(ctx, &p4v1.WriteRequest{DeviceId: 6, ElectionId: me})
	wantCode(t, "device", err, codes.NotFound, "no device 6")
	for what, c := range map[string]struct {
		e    *p4v1.Entity
		code codes.Code
	}{
		"a meter":          {&p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{}}, codes.Unimplemented},
		"another table":    {p4info.Entity(p4info.All(77)), codes.NotFound},
		"another register": {p4info.Entity(p4info.Registers(77)), codes.NotFound},
		"another counter":  {p4info.Entity(p4info.Counters(77)), codes.NotFound},
		"cell 512":         {p4info.Entity(p4info.Register(p4info.RegisterPFR, 512, 0)), codes.OutOfRange},
		"a padded key": {p4info.Entity(&p4v1.TableEntry{TableId: p4info.TablePortConfig, Match: []*p4v1.FieldMatch{{
			FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{0, 1}}},
		}}}), codes.InvalidArgument},
	} {
		_, err := r.read(c.e)
		wantCode(t, what, err, c.code, "")
	}
}

func TestWildcardReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{})
	want := wrcc.SwitchConfig{
		Ports: []wrcc.PortConfig{port(1), port(2)}, Weights: []wrcc.ClassWeight{{Port: 1, Class: 1, Multiplier: 3}, {Port: 1, Class: 2, Multiplier: 4}},
		Domains: []wrcc.PortDomain{{Port: 2, Domain: 9, WAN: true}},
	}
	r.dev.Put(want)
	for what, c := range map[string]struct {
		ask  []*p4v1.Entity
		want int
	}{
		"everything":    {[]*p4v1.Entity{p4info.Entity(p4info.All(0))}, 5},
		"one table":     {[]*p4v1.Entity{p4info.Entity(p4info.All(p4info.TableClassWeight))}, 2},
		"one entry":     {[]*p4v1.Entity{p4info.Entity(p4info.Key(p4info.ClassWeight(want.Weights[1])))}, 1},
		"no entry":      {[]*p4v1.Entity{p4info.Entity(p4info.Key(p4info.PortConfig(port(3))))}, 0},
		"two tables":    {[]*p4v1.Entity{p4info.Entity(p4info.All(p4info.TablePortConfig)), p4info.Entity(p4info.All(p4info.TableDomain))}, 3},
		"all registers": {[]*p4v1.Entity{p4info.Entity(p4info.Registers(0))}, 3 * p4info.Size},
		"one register":  {[]*p4v1.Entity{p4info.Entity(p4info.Registers(p4info.RegisterQueue))}, p4info.Size},
		"one cell":      {[]*p4v1.Entity{p4info.Entity(p4info.Register(p4info.RegisterPFR, 2, 0))}, 1},
		"all counters":  {[]*p4v1.Entity{p4info.Entity(p4info.Counters(0))}, 5 * p4info.Size},
		"no digest":     {[]*p4v1.Entity{p4info.Entity(&p4v1.DigestEntry{})}, 0},
	} {
		got, err := r.read(c.ask...)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %d entities, %v, want %d", what, len(got), err, c.want)
		}
	}
	got, err := r.read(p4info.Entity(p4info.Register(p4info.RegisterPFR, 2, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if _, v, err := p4info.DecodeRegister(got[0].GetRegisterEntry(), p4info.RegisterPFR); err != nil || v != 100_000 {
		t.Errorf("fair rate of an idle port: %d, %v, want its maximum", v, err)
	}
}

func TestOnlyItsOwnProgramIsTaken(t *testing.T) {
	t.Parallel()
	r := primary(t, p4dev.Options{})
	wantCode(t, "write", r.write(1, update(p4v1.Update_INSERT, p4info.PortConfig(port(1)))), codes.OK, "")
	own, err := p4info.New()
	if err != nil {
		t.Fatal(err)
	}
	set := func(action p4v1.SetForwardingPipelineConfigRequest_Action, low uint64, info *configv1.P4Info) error {
		_, err := r.api.SetForwardingPipelineConfig(t.Context(), &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: id, ElectionId: &p4v1.Uint128{Low: low}, Action: action,
			Config: &p4v1.ForwardingPipelineConfig{P4Info: info, Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 77}},
		})
		return err
	}
	const commit, reconcile = p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT
	wantCode(t, "a backup", set(commit, 9, own), codes.PermissionDenied, "")
	wantCode(t, "no P4Info", set(commit, 1, nil), codes.InvalidArgument, "wrong P4Info")
	wantCode(t, "verify", set(p4v1.SetForwardingPipelineConfigRequest_VERIFY, 1, own), codes.OK, "")
	wantCode(t, "save", set(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE, 1, own), codes.Unimplemented, "")
	cookie := func() uint64 {
		c, err := r.api.GetForwardingPipelineConfig(t.Context(), &p4v1.GetForwardingPipelineConfigRequest{DeviceId: id, ResponseType: p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY})
		if err != nil || c.GetConfig().GetP4Info() != nil {
			t.Fatalf("cookie alone: %v, %v", c, err)
		}
		return c.GetConfig().GetCookie().GetCookie()
	}
	if c := cookie(); c != p4info.Cookie() {
		t.Errorf("cookie %x, want %x", c, p4info.Cookie())
	}
	wantCode(t, "reconcile", set(reconcile, 1, own), codes.OK, "")
	if c := r.dev.Config(); cookie() != 77 || len(c.Ports) != 1 {
		t.Errorf("cookie %d, entries %v: want 77 and the previous entry", cookie(), c.Ports)
	}
	wantCode(t, "commit", set(commit, 1, own), codes.OK, "")
	if c := r.dev.Config(); len(c.Ports) != 0 {
		t.Errorf("entries after a commit: %v", c.Ports)
	}
	own.Tables = own.Tables[:1]
	wantCode(t, "another P4Info", set(commit, 1, own), codes.InvalidArgument, "wrong P4Info")
	v, err := r.api.Capabilities(t.Context(), &p4v1.CapabilitiesRequest{})
	if err != nil || v.GetP4RuntimeApiVersion() != "1.4.1" {
		t.Errorf("version %v, %v", v, err)
	}
}

func TestDigestsGoToTheSubscribedPrimary(t *testing.T) {
	t.Parallel()
	c := primary(t, p4dev.Options{})
	digest := func(kind p4v1.Update_Type, of uint32) error {
		return c.write(1, &p4v1.Update{Type: kind, Entity: p4info.Entity(&p4v1.DigestEntry{DigestId: of})})
	}
	told := p4info.Congestion{Port: 3, Class: 2, PFR: 500, Queue: 9000, TimeUs: 7}
	if c.dev.Congested(told) {
		t.Error("a digest was sent before it was enabled")
	}
	for what, err := range map[string]error{"modify": digest(p4v1.Update_MODIFY, p4info.DigestCongestion), "another": digest(p4v1.Update_INSERT, 99)} {
		wantCode(t, what, err, codes.Unknown, "")
	}
	wantCode(t, "insert", digest(p4v1.Update_INSERT, p4info.DigestCongestion), codes.OK, "")
	if !c.dev.Congested(told) {
		t.Fatal("not sent")
	}
	m, err := c.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	got, err := p4info.DecodeDigest(m.GetDigest().GetData()[0])
	if err != nil || got != told || m.GetDigest().GetListId() != 1 || m.GetDigest().GetTimestamp() != 7000 {
		t.Errorf("digest %v: %+v, %v", m, got, err)
	}
	c.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: p4info.DigestCongestion, ListId: 1}}})
	c.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{}})
	if m, err = c.stream.Recv(); err != nil || codes.Code(uint32(m.GetError().GetCanonicalCode())) != codes.Unimplemented {
		t.Errorf("a packet is answered by %v, %v", m, err)
	}
	wantCode(t, "delete", digest(p4v1.Update_DELETE, p4info.DigestCongestion), codes.OK, "")
	if c.dev.Congested(told) {
		t.Error("a digest was sent after it was disabled")
	}
}

func TestAClientThatDoesNotReadLosesItsStream(t *testing.T) {
	t.Parallel()
	c := primary(t, p4dev.Options{})
	wantCode(t, "digests", c.write(1, &p4v1.Update{Type: p4v1.Update_INSERT, Entity: p4info.Entity(&p4v1.DigestEntry{DigestId: p4info.DigestCongestion})}), codes.OK, "")
	n := 0
	for c.dev.Congested(p4info.Congestion{Port: 1}) {
		if n++; n > 1_000_000 {
			t.Fatal("a million digests were queued")
		}
	}
	c.ends(codes.ResourceExhausted, "too slowly")
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	s := p4dev.NewServer()
	for _, ports := range []int{0, -1, p4dev.MaxPorts + 1} {
		if _, err := s.Add(1, p4dev.Options{Ports: ports}); err == nil {
			t.Errorf("%d ports: taken", ports)
		}
	}
	if _, err := s.Add(1, p4dev.Options{Ports: p4dev.MaxPorts}); err != nil {
		t.Error(err)
	}
	if _, err := s.Add(1, p4dev.Options{Ports: 1}); err == nil {
		t.Error("a duplicate id was accepted")
	}
}
