package p4rt_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/sim/p4dev"
	"fairlane/wrcc"
	"fairlane/wrcc/p4rt"
)

// rig is a simulated switch with its driver.
type rig struct {
	server *p4dev.Server
	sim    *p4dev.Device
	dev    driver.Device
	drv    *p4rt.Driver
	opts   p4rt.Options
}

func newRig(t testing.TB, sim p4dev.Options, o p4rt.Options, server ...grpc.ServerOption) *rig {
	t.Helper()
	r := &rig{server: p4dev.NewServer(), dev: switchDevice(0x11, "dci-1"), opts: o}
	if sim.Ports == 0 {
		sim.Ports = r.dev.Ports
	}
	var err error
	if r.sim, err = r.server.Add(0x11, sim); err != nil {
		t.Fatal(err)
	}
	r.opts.Dial = listen(t, r.server, server...)
	r.drv = newDriver(t, r.opts)
	return r
}

func (r *rig) sample(t testing.TB, n int) driver.Settings {
	t.Helper()
	c, err := r.drv.Capabilities(t.Context(), r.dev)
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Samples(r.dev, c)[n]
}

func (r *rig) holds(t testing.TB, want driver.Settings) {
	t.Helper()
	c := r.sim.Config()
	if ds := want.Diff(driver.Settings{WRCC: &c}); len(ds) > 0 {
		t.Errorf("the switch differs from the applied settings: %v", ds)
	}
}

// otherController is another client of the switch, with a stream of its own.
type otherController struct {
	client p4v1.P4RuntimeClient
	stream p4v1.P4Runtime_StreamChannelClient
	stop   func()
}

func (r *rig) otherController(t testing.TB) *otherController {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///switches", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(r.opts.Dial))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v := &otherController{client: p4v1.NewP4RuntimeClient(conn), stop: func() { cancel(); _ = conn.Close() }}
	t.Cleanup(v.stop)
	if v.stream, err = v.client.StreamChannel(ctx); err != nil {
		t.Fatal(err)
	}
	return v
}

// elect arbitrates and returns the answer.
func (v *otherController) elect(t testing.TB, low uint64) *p4v1.MasterArbitrationUpdate {
	t.Helper()
	err := v.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{
		DeviceId: 0x11, ElectionId: &p4v1.Uint128{Low: low},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return v.receiveArbitration(t)
}

func (v *otherController) receiveArbitration(t testing.TB) *p4v1.MasterArbitrationUpdate {
	t.Helper()
	m, err := v.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return m.GetArbitration()
}

func TestAHigherElectionIDIsAConflictThatEndsWhenItLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	first, second := r.sample(t, 0), r.sample(t, 1)
	if _, err := r.drv.Apply(t.Context(), r.dev, first); err != nil {
		t.Fatal(err)
	}
	v := r.otherController(t)
	if a := v.elect(t, 7); a.GetStatus().GetCode() != 0 {
		t.Fatalf("the rival is not the primary: %v", a)
	}
	rec, err := r.drv.Apply(t.Context(), r.dev, second)
	if !errors.Is(err, driver.ErrConflict) || !strings.Contains(err.Error(), "election id 0/7 against our 0/1") {
		t.Fatalf("error %v, want a conflict that names both election ids", err)
	}
	for _, f := range rec.Fields {
		if f.Outcome == driver.OutcomeAcknowledged || f.Outcome == driver.OutcomeSent {
			t.Errorf("field %s %s", f.Field, f.Outcome)
		}
	}
	r.holds(t, first)
	if got, err := r.drv.Read(t.Context(), r.dev); err != nil || !first.Equal(got) {
		t.Errorf("a backup cannot read: %v", err)
	}
	// The other controller lowers its election id, so there is no primary; the driver must exceed the highest id that it has
	// seen.
	if a := v.elect(t, 0); a.GetStatus().GetCode() == 0 {
		t.Fatalf("the rival is still the primary: %v", a)
	}
	if _, err := r.drv.Apply(t.Context(), r.dev, second); err != nil {
		t.Fatalf("with the place free: %v", err)
	}
	r.holds(t, second)
}

func TestOverruleOutbidsThePrimary(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{TakeOver: true})
	v := r.otherController(t)
	v.elect(t, 41)
	want := r.sample(t, 0)
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	r.holds(t, want)
	if a := v.receiveArbitration(t); a.GetStatus().GetCode() == 0 || a.GetElectionId().GetLow() != 42 {
		t.Errorf("the rival hears %v, want that 0/42 is the primary", a)
	}
}

func TestTwoManagersWithOneElectionID(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	v := r.otherController(t)
	v.elect(t, 1)
	_, err := r.drv.Apply(t.Context(), r.dev, r.sample(t, 0))
	if !errors.Is(err, driver.ErrConflict) || !strings.Contains(err.Error(), "each manager needs its own") {
		t.Errorf("error %v, want a conflict with the remedy", err)
	}
	if n := r.sim.Writes(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestAnotherProgramIsRefusedByName(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{Program: func(p *configv1.P4Info) { p.Actions[0].Params[2].Bitwidth = 48 }}, p4rt.Options{})
	_, err := r.drv.Capabilities(t.Context(), r.dev)
	if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), `"b_tar_mbps" of 48 bits, want id 3, "b_tar_mbps" of 32 bits`) {
		t.Errorf("error %v, want an unsupported program that names the parameter", err)
	}
	want := driver.Settings{WRCC: &wrcc.SwitchConfig{}}
	if _, err := r.drv.Apply(t.Context(), r.dev, want); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("apply: %v", err)
	}
	if n := r.sim.Writes(); n != 0 {
		t.Errorf("%d writes to another program", n)
	}
}

// TestChangedProgramIsCheckedAgain loads the same tables under another cookie between two operations.
func TestChangedProgramIsCheckedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	want := r.sample(t, 0)
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	v := r.otherController(t)
	v.elect(t, 9)
	info, err := v.client.GetForwardingPipelineConfig(t.Context(), &p4v1.GetForwardingPipelineConfigRequest{DeviceId: 0x11})
	if err != nil {
		t.Fatal(err)
	}
	info.GetConfig().Cookie = &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 12345}
	if _, err := v.client.SetForwardingPipelineConfig(t.Context(), &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 0x11, ElectionId: &p4v1.Uint128{Low: 9}, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: info.GetConfig(),
	}); err != nil {
		t.Fatal(err)
	}
	if a := v.elect(t, 0); a.GetStatus().GetCode() == 0 {
		t.Fatal("the rival is still the primary")
	}
	got, err := r.drv.Read(t.Context(), r.dev)
	if err != nil || len(got.WRCC.Ports) != 0 {
		t.Fatalf("after the program was loaded anew: %v, %v", got.WRCC, err)
	}
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	r.holds(t, want)
}

// TestAnotherProgramUnderTheDriver replaces the program between two operations.
func TestAnotherProgramUnderTheDriver(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	want := r.sample(t, 0)
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	if err := r.sim.Load(withoutWeights, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := r.drv.Apply(t.Context(), r.dev, want); !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "0 entries in table class_weight, want 4") {
		t.Errorf("weights for a program without: %v", err)
	}
	if err := r.sim.Load(func(p *configv1.P4Info) { p.Tables = nil }, 3); err != nil {
		t.Fatal(err)
	}
	before := r.sim.Writes()
	if _, err := r.drv.Apply(t.Context(), r.dev, want); !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "port_cfg: found none") {
		t.Errorf("a program without tables: %v", err)
	}
	if n := r.sim.Writes() - before; n != 0 {
		t.Errorf("%d writes", n)
	}
	if err := r.sim.Load(nil, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	r.holds(t, want)
}

// TestDeniedWriteIsRetriedOnce uses a switch that loses the result of the election and keeps the stream.
func TestDeniedWriteIsRetriedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		denials, writes int
		kind            error
	}{"once": {1, 4, nil}, "always": {100, 2, driver.ErrConflict}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0 // of one operation at a time
			r := newRig(t, p4dev.Options{}, p4rt.Options{}, grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				if _, write := req.(*p4v1.WriteRequest); write {
					if asked++; asked <= c.denials {
						return nil, status.Error(codes.PermissionDenied, "who are you")
					}
				}
				return next(ctx, req)
			}))
			want := r.sample(t, 0)
			rec, err := r.drv.Apply(t.Context(), r.dev, want)
			if !errors.Is(err, c.kind) || asked != c.writes {
				t.Errorf("error %v after %d writes, want %v after %d", err, asked, c.kind, c.writes)
			}
			if c.kind == nil {
				r.holds(t, want)
			}
			if c.kind != nil && rec.Fields[0].Outcome != driver.OutcomeRefused {
				t.Errorf("receipt %v, want the first field refused", rec)
			}
		})
	}
}

// TestRefusalsAreReportedForEachUpdate uses a switch with fewer ports than the inventory has.
func TestRefusalsAreReportedForEachUpdate(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{Ports: 4}, p4rt.Options{})
	rec, err := r.drv.Apply(t.Context(), r.dev, r.sample(t, 0))
	if !errors.Is(err, driver.ErrInvalid) {
		t.Fatalf("error %v, want invalid", err)
	}
	var told []string
	for _, f := range rec.Fields {
		told = append(told, f.Field+" "+string(f.Outcome))
		if f.Outcome == driver.OutcomeRefused && !strings.Contains(f.Detail, "port: found 5, want 1 to 4") {
			t.Errorf("%s: detail %q", f.Field, f.Detail)
		}
	}
	want := "wrcc.domains[2] acknowledged, wrcc.domains[3] acknowledged, wrcc.domains[4] acknowledged, wrcc.domains[5] refused, wrcc.weights[2/1..5/1] skipped, wrcc.ports[2..5] skipped"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("receipt\n%s, want\n%s", got, want)
	}
	if c := r.sim.Config(); len(c.Domains) != 3 {
		t.Errorf("the switch holds %v", c.Domains)
	}
}

// TestAnEntryOfASecondWriterIsAConflict changes the switch between the driver's read and its write: the switch
// rejects only the changed entry.
func TestAnEntryOfASecondWriterIsAConflict(t *testing.T) {
	t.Parallel()
	meddle := func() {}
	var once sync.Once
	r := newRig(t, p4dev.Options{}, p4rt.Options{}, grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if _, write := req.(*p4v1.WriteRequest); write {
			once.Do(meddle)
		}
		return next(ctx, req)
	}))
	meddle = func() { r.sim.Put(wrcc.SwitchConfig{Domains: []wrcc.PortDomain{{Port: 3, Domain: 77}}}) }
	want := r.sample(t, 0)
	rec, err := r.drv.Apply(t.Context(), r.dev, want)
	if !errors.Is(err, driver.ErrConflict) || !strings.Contains(err.Error(), "wrcc.domains[3]") {
		t.Fatalf("error %v (%v), want a conflict about wrcc.domains[3]", err, rec)
	}
	if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatalf("again: %v", err)
	}
	r.holds(t, want)
}

func TestASwitchThatNeverAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{Options: grpclink.Options{Timeout: time.Millisecond}}, grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	_, err := r.drv.Read(t.Context(), r.dev)
	if !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), "no answer from switches within 1ms") {
		t.Errorf("error %v, want unreachable after 1ms", err)
	}
}

func TestUnknownDevicesAndBadTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	if _, err := r.drv.Read(t.Context(), switchDevice(0x99, "ghost")); !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), "no device 153 at switches") {
		t.Errorf("unknown id: %v", err)
	}
	ib := r.dev
	ib.Plane, ib.LID = "ib", 4
	if _, err := r.drv.Read(t.Context(), ib); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a device of another plane: %v", err)
	}
	nowhere := newDriver(t, p4rt.Options{Options: grpclink.Options{Dial: r.opts.Dial}, Target: func(driver.Device) (p4rt.Target, error) { return p4rt.Target{}, errors.New("not in the inventory") }})
	if _, err := nowhere.Read(t.Context(), r.dev); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "not in the inventory") {
		t.Errorf("no address: %v", err)
	}
}

// TestSwitchesWhoseAddressesAreSwapped swaps two switches that differ only in their ids.
func TestSwitchesWhoseAddressesAreSwapped(t *testing.T) {
	t.Parallel()
	dial := map[string]func(context.Context, string) (net.Conn, error){}
	var sims []*p4dev.Device
	for id, address := range map[uint64]string{1: "of 2", 2: "of 1"} {
		s := p4dev.NewServer()
		sim, err := s.Add(id, p4dev.Options{Ports: 5})
		if err != nil {
			t.Fatal(err)
		}
		sims, dial[address] = append(sims, sim), listen(t, s)
	}
	drv := newDriver(t, p4rt.Options{
		Options: grpclink.Options{Dial: func(ctx context.Context, address string) (net.Conn, error) { return dial[address](ctx, address) }},
		Target: func(d driver.Device) (p4rt.Target, error) {
			return p4rt.Target{Address: fmt.Sprint("of ", uint64(d.ID.Node)), DeviceID: uint64(d.ID.Node)}, nil
		},
	})
	for id := range uint64(2) {
		dev := switchDevice(id+1, "")
		want := drivertest.Samples(dev, driver.Capabilities{WRCC: &driver.WRCCCapabilities{Ports: 5, Weights: 40, Domains: 5}})[0]
		if _, err := drv.Apply(t.Context(), dev, want); !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), fmt.Sprintf("no device %d at of %d", id+1, id+1)) {
			t.Errorf("switch %d: %v", id+1, err)
		}
	}
	for _, sim := range sims {
		if sim.Writes() != 0 || len(sim.Config().Ports) != 0 {
			t.Errorf("%d writes, holds %+v", sim.Writes(), sim.Config())
		}
	}
}

func TestClosedDriver(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{})
	want := r.sample(t, 0)
	drv, err := p4rt.New(p4rt.Options{Options: grpclink.Options{Insecure: true, Dial: r.opts.Dial}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drv.Apply(t.Context(), r.dev, want); err != nil {
		t.Fatal(err)
	}
	if err := drv.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := drv.Read(t.Context(), r.dev); !errors.Is(err, driver.ErrUnreachable) {
		t.Errorf("read by a closed driver: %v", err)
	}
	// The closed driver has ended its election: the other driver takes over with the same id.
	if _, err := r.drv.Apply(t.Context(), r.dev, r.sample(t, 1)); err != nil {
		t.Errorf("after the other driver was closed: %v", err)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	plain := grpclink.Options{Insecure: true}
	for name, o := range map[string]p4rt.Options{
		"no target":      {Options: plain},
		"no security":    {Target: target},
		"batch of 2000":  {Options: plain, Target: target, BatchSize: 2000},
		"negative batch": {Options: plain, Target: target, BatchSize: -1},
	} {
		if d, err := p4rt.New(o); err == nil {
			t.Errorf("%s: taken", name)
			_ = d.Close()
		}
	}
	d := newDriver(t, p4rt.Options{})
	if got := fmt.Sprintf("%+v %#v", d, d); got != "WRCC switch driver WRCC switch driver" {
		t.Errorf("a driver prints as %q", got)
	}
}

// TestManySwitchesBehindOneListener applies to a hundred switches at once.
func TestManySwitchesBehindOneListener(t *testing.T) {
	t.Parallel()
	const n = 100
	s := p4dev.NewServer()
	sims := make([]*p4dev.Device, n)
	for i := range sims {
		var err error
		if sims[i], err = s.Add(uint64(i+1), p4dev.Options{Ports: 5}); err != nil {
			t.Fatal(err)
		}
	}
	drv := newDriver(t, p4rt.Options{Options: grpclink.Options{Dial: listen(t, s), InFlight: 16}})
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range sims {
		wg.Go(func() {
			dev := switchDevice(uint64(i+1), "")
			caps, err := drv.Capabilities(t.Context(), dev)
			if err == nil {
				_, err = drv.Apply(t.Context(), dev, drivertest.Samples(dev, caps)[i%2])
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, sim := range sims {
		got, variant := sim.Config(), uint16(i%2+1)
		if len(got.Ports) != 4 || got.Ports[0].PeriodUs != 24*variant {
			t.Errorf("switch %d holds %v", i+1, got.Ports)
		}
	}
}
