package gnmitree_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// host is a tree of one port with as many leaves as an agent's NIC port has: 60 parameters, configuration and state.
// Unlike memory it is fast, so that benchmarks measure the engine.
type host struct {
	gnmitree.Watchers
	info   gnmitree.Info
	leaves []gnmitree.Leaf
	params gnmitree.Path
}

func newHost() *host {
	h := &host{info: gnmitree.Info{Models: []gnmitree.Model{{Name: "fairlane-nic"}}, Module: "fairlane-nic"}, params: path("/nics/nic[name=0000:3b:00.0]/ports/port[number=1]/params")}
	for i := range 60 {
		p := h.params.Child("param", gnmitree.Key{Name: "name", Value: fmt.Sprintf("rpg_parameter_%d", i)}, gnmitree.Key{Name: "index", Value: "0"})
		h.leaves = append(h.leaves, gnmitree.Leaf{Path: p.Child("config").Child("value"), Value: gnmitree.Uint(uint64(i)), Class: gnmitree.ClassConfig})
		for _, name := range []string{"value", "min", "max", "default"} {
			h.leaves = append(h.leaves, gnmitree.Leaf{Path: p.Child("state").Child(name), Value: gnmitree.Uint(uint64(i))})
		}
	}
	return h
}

func (h *host) Info() gnmitree.Info { return h.info }

func (h *host) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i := range out {
		out[i] = h.leaves
	}
	return out, nil
}

func (h *host) keys(list gnmitree.Path) []string {
	if list.Last() == "param" {
		return []string{"name", "index"}
	}
	return nil
}

func (h *host) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	for _, o := range ops {
		if _, err := gnmitree.Flatten(o.Path, o.Value, gnmitree.Schema{Keys: h.keys, Modules: []string{"fairlane-nic"}}); err != nil {
			return gnmitree.Result{}, err
		}
	}
	h.Changed(h.params)
	return gnmitree.Result{}, nil
}

// fleet starts one server with n targets, and returns a client.
func fleet(b *testing.B, n int) gnmi.GNMIClient {
	b.Helper()
	r := &gnmitree.Registry{}
	for i := range n {
		if err := r.Add(fmt.Sprint("host-", i), newHost()); err != nil {
			b.Fatal(err)
		}
	}
	c, _ := serve(b, gnmitree.Options{Targets: r})
	return c
}

// each runs f for n targets, 64 at a time.
func each(b *testing.B, n int, f func(target string) error) {
	b.Helper()
	next := make(chan int)
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			for i := range next {
				if err := f(fmt.Sprint("host-", i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// BenchmarkGet10000Targets reads the 60 values that are set at one port of each of 10,000 targets behind one server.
func BenchmarkGet10000Targets(b *testing.B) {
	for _, e := range []gnmitree.Encoding{gnmitree.EncodingJSONIETF, gnmitree.EncodingProto} {
		b.Run(e.String(), func(b *testing.B) {
			const n = 10_000
			c := fleet(b, n)
			at := path("/nics/nic/ports/port/params").Proto()
			b.ReportAllocs()
			for b.Loop() {
				each(b, n, func(target string) error {
					_, err := c.Get(context.Background(), &gnmi.GetRequest{Prefix: &gnmi.Path{Target: target}, Path: []*gnmi.Path{at}, Type: gnmi.GetRequest_CONFIG, Encoding: e})
					return err
				})
			}
		})
	}
}

// BenchmarkSet sets all 60 parameters of a port, each by an operation of its own.
func BenchmarkSet(b *testing.B) {
	c := fleet(b, 1)
	r := &gnmi.SetRequest{}
	for i := range 60 {
		r.Replace = append(r.Replace, update(fmt.Sprintf("/nics/nic[name=0000:3b:00.0]/ports/port[number=1]/params/param[name=rpg_parameter_%d][index=0]/config", i), `{"value":"7"}`))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Set(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSetJSON sets all 60 parameters by one operation, whose value is a list.
func BenchmarkSetJSON(b *testing.B) {
	c := fleet(b, 1)
	h := newHost()
	var config []gnmitree.Leaf
	for _, l := range h.leaves {
		if l.Class == gnmitree.ClassConfig {
			config = append(config, l)
		}
	}
	r := &gnmi.SetRequest{Update: []*gnmi.Update{{Path: h.params.Proto(), Val: ietf(string(gnmitree.Compose(h.params, config, gnmitree.EncodingJSONIETF, "fairlane-nic")))}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Set(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChange changes one leaf of 300, and waits until a subscriber has received it.
func BenchmarkChange(b *testing.B) {
	h := newHost()
	c, _ := serve(b, gnmitree.Options{Targets: gnmitree.Single(h)})
	s, err := c.Subscribe(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: streaming(to(gnmi.SubscriptionMode_ON_CHANGE, "/"))}}); err != nil {
		b.Fatal(err)
	}
	for {
		r, err := s.Recv()
		if err != nil {
			b.Fatal(err)
		}
		if r.GetSyncResponse() {
			break
		}
	}
	m := h.leaves[7]
	b.ReportAllocs()
	for n := uint64(100); b.Loop(); n++ {
		next := append([]gnmitree.Leaf(nil), h.leaves...)
		next[7].Value = gnmitree.Uint(n)
		h.leaves = next
		h.Changed(m.Path)
		if _, err := s.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}
