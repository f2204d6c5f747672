package gnmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicyang"
)

// NICReading holds the counters of a NIC port, its functions and its senders. An unreadable counter has its error, and never a
// zero.
type NICReading struct {
	At        time.Time // of the answer, by the host's clock, which may be inaccurate
	Counters  niccount.Counters
	Functions []FunctionReading // by index
	Senders   []SenderReading   // by name
	// ServesPods means that the host serves pods: the Tenant of a function is that of its pod, whatever a plan says.
	ServesPods bool
	// CountersAt, FunctionsAt and SendersAt are when the agent read them, by the same clock. An agent answers requests that follow each other
	// within its intervals.counters by one reading, so these times are earlier than At.
	CountersAt, FunctionsAt, SendersAt time.Time
}

// FunctionReading holds the counters of a virtual function.
type FunctionReading struct {
	Index              int
	Name               string // of its representor or network device
	Tenant             string // of the pod that has it; empty: none
	TxOctets, RxOctets niccount.Counter
	// Counters are those of functionCounters that its RDMA device has; Problem is the reason if it has none.
	Counters niccount.Counters
	Problem  error
}

// functionCounters are the counters that are read of functions on RoCE. An agent also has the others of the RDMA device.
var functionCounters = []string{"np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled"}

// SenderReading holds the counters of a WRCC sender's queue pairs.
type SenderReading struct {
	Name     string // "tenant/class"
	TxOctets niccount.Counter
}

// ReadCounters reads all counters of a NIC port. It returns driver.ErrInvalid for any other device.
func (d *Driver) ReadCounters(ctx context.Context, dev driver.Device) (NICReading, error) {
	a, release, err := d.agentOf(ctx, dev)
	if err != nil {
		return NICReading{}, err
	}
	defer release()
	for range 2 {
		at, err := a.find(ctx, dev)
		if err != nil {
			return NICReading{}, err
		}
		r, err := a.count(ctx, dev, at)
		if !errors.Is(err, errMoved) {
			return r, err
		}
		a.places = nil
	}
	return NICReading{}, fmt.Errorf("%w: the host of %s changes while it is read", driver.ErrBusy, dev)
}

// count reads the counters at a place, and the identity there, in one request.
func (a *agent) count(ctx context.Context, dev driver.Device, at place) (NICReading, error) {
	port := nicyang.Port(at.nic, at.port)
	function := nicyang.Functions(at.nic, at.port).Child("function", gnmitree.Key{Name: "index", Value: gnmitree.Any})
	paths := []gnmitree.Path{
		nicyang.AgentState().Child("boot-id"), port.Child("state").Child("id"), nicyang.AgentState().Child("clock"),
		nicyang.Counter(at.nic, at.port, gnmitree.Any), function.Child("state"), nicyang.Sender(at.nic, at.port, gnmitree.Any).Child("state"),
	}
	if dev.Plane == driver.PlaneRoCE {
		counters := function.Child("counters")
		paths = append(paths, counters.Child("state"))
		for _, name := range functionCounters {
			paths = append(paths, counters.Child("counter", gnmitree.Key{Name: "name", Value: name}).Child("state"))
		}
	}
	answers, err := a.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_PROTO, paths})
	if status.Code(err) == codes.NotFound {
		return NICReading{}, errMoved
	}
	if err != nil {
		return NICReading{}, a.s.classify(ctx, "counters", dev, err)
	}
	var boot, id string
	var clock uint64
	for i, into := range []any{&boot, &id, &clock} {
		if err := only(answers[i], into); err != nil {
			return NICReading{}, fmt.Errorf("counters of %s: %w", dev, err)
		}
	}
	if boot != a.bootID || id != dev.ID.String() {
		return NICReading{}, errMoved
	}
	r := NICReading{
		At: time.Unix(0, int64(clock)).UTC(), Counters: niccount.Counters{}, // valid until the year 2262
		ServesPods: at.servesPods, CountersAt: answers[3].at, FunctionsAt: answers[4].at, SendersAt: answers[5].at,
	}
	if err := r.decode(answers[3:]); err != nil {
		return NICReading{}, fmt.Errorf("counters of %s: %w", dev, err)
	}
	return r, nil
}

// only decodes the single scalar of an answer.
func only(a answer, into any) error {
	if len(a.updates) != 1 {
		return fmt.Errorf("%d values, want one", len(a.updates))
	}
	v, err := gnmitree.FromTyped(a.updates[0].GetVal())
	if err != nil {
		return err
	}
	switch into := into.(type) {
	case *string:
		*into, err = v.AsString()
	case *uint64:
		*into, err = v.AsUint()
	}
	return err
}

// maxReadings is the largest number of functions and senders read for a port.
const maxReadings = 8192

// decode decodes counters, functions and senders, leaf by leaf.
func (r *NICReading) decode(answers []answer) error {
	functions, senders := map[int]*FunctionReading{}, map[string]*SenderReading{}
	for _, a := range answers {
		for _, u := range a.updates {
			at, err := pathOf(a.prefix, u)
			if err != nil {
				return err
			}
			v, err := gnmitree.FromTyped(u.GetVal())
			if err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			if err := r.leaf(at, v, functions, senders); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			if n := len(functions) + len(senders) + len(r.Counters); n > maxReadings {
				return fmt.Errorf("more than %d counters", maxReadings)
			}
		}
	}
	for _, f := range functions {
		r.Functions = append(r.Functions, *f)
	}
	for _, s := range senders {
		r.Senders = append(r.Senders, *s)
	}
	slices.SortFunc(r.Functions, func(a, b FunctionReading) int { return cmp.Compare(a.Index, b.Index) })
	slices.SortFunc(r.Senders, func(a, b SenderReading) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// errNoValue reports a counter with neither a value nor a reason for its absence.
var errNoValue = errors.New("the agent reports neither a value nor a reason")

// unread returns a counter without a value.
func unread(name string) niccount.Counter { return niccount.Counter{Name: name, Err: errNoValue} }

// take sets the value of a counter.
func take(c *niccount.Counter, v gnmitree.Value) error {
	n, err := v.AsUint()
	if err == nil {
		c.Value, c.Err = n, nil
	}
	return err
}

// fail sets the reason of a counter without a value.
func fail(c *niccount.Counter, v gnmitree.Value) error {
	text, err := v.AsString()
	if err == nil && errors.Is(c.Err, errNoValue) {
		c.Err = fmt.Errorf("%s: %s", c.Name, text)
	}
	return err
}

// leaf decodes one leaf. Its list entry is element 5 of counters and functions, and 6 of senders.
func (r *NICReading) leaf(at gnmitree.Path, v gnmitree.Value, functions map[int]*FunctionReading, senders map[string]*SenderReading) error {
	if len(at.Elems) < 8 {
		return nil
	}
	switch at.Elems[5].Name {
	case "counter":
		return counterLeaf(r.Counters, at.Key(5, "name"), at.Last(), v)
	case "function":
		index, err := strconv.Atoi(at.Key(5, "index"))
		if err != nil || index < 0 {
			return fmt.Errorf("function %q, want a number from 0", at.Key(5, "index"))
		}
		f := functions[index]
		if f == nil {
			f = &FunctionReading{Index: index, TxOctets: unread("tx-octets"), RxOctets: unread("rx-octets"), Counters: niccount.Counters{}}
			functions[index] = f
		}
		return f.leaf(at, v)
	case "senders":
		name := at.Key(6, "name")
		s := senders[name]
		if s == nil {
			s = &SenderReading{Name: name, TxOctets: unread("tx-octets")}
			senders[name] = s
		}
		return leafOf(at.Last(), v, map[string]*niccount.Counter{"tx-octets": &s.TxOctets}, &s.TxOctets)
	}
	return nil
}

// leaf decodes one leaf of a function.
func (f *FunctionReading) leaf(at gnmitree.Path, v gnmitree.Value) (err error) {
	const below, entry = 6, 7 // of the list entry, and of a counter
	switch {
	case at.Elems[below].Name == "counters" && at.Elems[entry].Name == "counter":
		return counterLeaf(f.Counters, at.Key(entry, "name"), at.Last(), v)
	case at.Elems[below].Name == "counters":
		text, err := v.AsString()
		f.Problem = errors.New(text)
		return err
	case at.Last() == "name":
		f.Name, err = v.AsString()
		return err
	case at.Last() == "tenant":
		f.Tenant, err = v.AsString()
		return err
	}
	return leafOf(at.Last(), v, map[string]*niccount.Counter{"tx-octets": &f.TxOctets, "rx-octets": &f.RxOctets}, &f.TxOctets, &f.RxOctets)
}

// counterLeaf applies a leaf to a counter of a list.
func counterLeaf(all niccount.Counters, name, leaf string, v gnmitree.Value) error {
	c, seen := all[name]
	if !seen {
		c = unread(name)
	}
	err := leafOf(leaf, v, map[string]*niccount.Counter{"value": &c}, &c)
	all[name] = c
	return err
}

// leafOf applies a leaf to the counter with its name; the leaf problem applies to all counters without a value.
func leafOf(name string, v gnmitree.Value, values map[string]*niccount.Counter, all ...*niccount.Counter) error {
	if c := values[name]; c != nil {
		return take(c, v)
	}
	if name != "problem" {
		return nil
	}
	for _, c := range all {
		if err := fail(c, v); err != nil {
			return err
		}
	}
	return nil
}
