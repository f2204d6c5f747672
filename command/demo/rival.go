package demo

import (
	"context"
	"errors"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/etherlive"
	"fairlane/sim/live"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// portsAndSwitches counts the devices of a plan.
func portsAndSwitches(p *policy.Plan) (ports, switches int) {
	ports, switches = len(p.CAs), len(p.Switches)
	if p.RoCE != nil {
		ports, switches = ports+len(p.RoCE.NICs), switches+len(p.RoCE.Switches)
	}
	if p.WRCC != nil {
		nodes, nics := map[ident.GUID]bool{}, map[ident.PortID]bool{}
		for i := range p.WRCC.Ports {
			for _, port := range p.WRCC.Ports[i].Ports {
				nodes[port.Port.Node] = true
			}
		}
		for i := range p.WRCC.Senders {
			nics[p.WRCC.Senders[i].Port] = true
		}
		ports, switches = ports+len(nics), switches+len(nodes)
	}
	return ports, switches
}

// rival is the rates of the same traffic on the same links with DCQCN, without manager and devices.
type rival struct {
	vendor   map[string]quantity.BitRate // with the vendor's registers, by tenant
	weighted map[string]quantity.BitRate // with registers that the compiler computes for the same weights
}

// Phases of a run with DCQCN, in simulated time.
const (
	rivalSettle = 300 * quantity.Millisecond
	rivalWindow = 200 * quantity.Millisecond
)

// contest is a simulation with DCQCN that runs concurrently with the live fabric.
type contest struct {
	stop   context.CancelFunc
	done   chan struct{} // closed at its end
	result *rival
	err    error
}

// startContest simulates the traffic of a WRCC plan with DCQCN; other planes have no comparison. Close it.
func startContest(ctx context.Context, f Fabric, p *policy.Plan) *contest {
	ctx, stop := context.WithCancel(ctx)
	c := &contest{stop: stop, done: make(chan struct{})}
	e, ok := f.(ethernet)
	if p.WRCC == nil || !ok {
		close(c.done)
		return c
	}
	go func() {
		defer close(c.done)
		c.result, c.err = runRival(ctx, e.Case)
	}()
	return c
}

// wait returns the rates with DCQCN; nil if there is no comparison.
func (c *contest) wait() (*rival, error) {
	<-c.done
	return c.result, c.err
}

// close stops the simulation if it is still running.
func (c *contest) close() {
	c.stop()
	<-c.done
}

// runRival simulates the traffic of a case with DCQCN.
func runRival(ctx context.Context, c *live.Case) (*rival, error) {
	plan, err := policy.Compile(policy.Input{Fabric: c.Fabric, Tenants: c.Tenants, Flows: c.Flows, Options: policy.Options{Plane: policy.PlaneRoCE}})
	if err != nil {
		return nil, err
	}
	out := &rival{}
	for _, p := range []*policy.Plan{nil, plan} {
		f, err := etherlive.New(c.Fabric, c.Flows, etherlive.Options{Seed: c.Seed, Buffer: c.Buffer, Buffers: c.Buffers})
		if err != nil {
			return nil, err
		}
		if p != nil {
			if err := installRoCE(f, p.RoCE); err != nil {
				return nil, err
			}
		}
		rates, err := ratesOf(ctx, f, c.Flows)
		switch {
		case err != nil:
			return nil, err
		case p == nil:
			out.vendor = rates
		default:
			out.weighted = rates
		}
	}
	return out, nil
}

// installRoCE sets the settings of a plan on data planes.
func installRoCE(f *etherlive.Fabric, p *policy.RoCEPlan) error {
	for i := range p.NICs {
		nic, err := f.NIC(p.NICs[i].Port)
		if err != nil {
			return err
		}
		s := plane.DefaultPort()
		s.Registers = p.NICs[i].Settings
		nic.Configure(s)
	}
	for i := range p.Switches {
		sw, err := f.Switch(p.Switches[i].Node)
		if err != nil {
			return err
		}
		sw.Configure(p.Switches[i].Queues)
	}
	return nil
}

// ratesOf runs a fabric until it has settled and returns the rate of each tenant.
func ratesOf(ctx context.Context, f *etherlive.Fabric, flows []tenants.Flow) (map[string]quantity.BitRate, error) {
	const slice = 10 * quantity.Millisecond
	run := func(span quantity.Picoseconds) error {
		for end := f.Now() + span; f.Now() < end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			f.RunUntil(min(f.Now()+slice, end))
		}
		return nil
	}
	before, after := make([]uint64, f.Flows()), make([]uint64, f.Flows())
	if err := run(rivalSettle); err != nil {
		return nil, err
	}
	f.Delivered(before)
	if err := run(rivalWindow); err != nil {
		return nil, err
	}
	f.Delivered(after)
	out := make(map[string]quantity.BitRate)
	for i := range flows {
		out[flows[i].Tenant] += quantity.BitRate(float64(after[i]-before[i]) * 8 / rivalWindow.Seconds())
	}
	return out, errors.Join(f.Err())
}
