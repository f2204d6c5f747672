package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/protojson"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
)

// leafwise is an agent that returns only leaves, so that the engine writes all JSON.
type leafwise struct {
	*agent.Agent
	texts *int // answers that would have had a text
}

func (l *leafwise) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	found, err := l.Agent.Get(ctx, q)
	for _, leaves := range found {
		for _, leaf := range leaves {
			if leaf.Value.Kind() == gnmitree.KindJSON {
				*l.texts++
			}
		}
	}
	if err != nil {
		return nil, err
	}
	q.Text = false
	return l.Agent.Get(ctx, q)
}

// TestConfigurationTextMatchesTheEngine compares the fast path of a port's configuration with the slow one.
func TestConfigurationTextMatchesTheEngine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.broken = errors.New("no such device")
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), sender("astro/bulk", 2))
	texts := 0
	fast, slow := client(t, a), client(t, &leafwise{a, &texts})
	port := nicyang.Port("eth-a", 1)
	for _, p := range []gnmitree.Path{
		{}, gnmitree.PathOf("nics"), nicyang.NIC("eth-a"), nicyang.NIC(gnmitree.Any), port, nicyang.AllPorts(), port.Child("params"), nicyang.AllPorts().Child("params"),
		port.Child("params").Child("param"), nicyang.Param("eth-a", key(1, "rpg_ai_rate")), nicyang.ParamValue("eth-a", key(1, "rpg_ai_rate")),
		gnmitree.PathOf(gnmitree.AnyDepth), gnmitree.PathOf(gnmitree.AnyDepth, "config"), gnmitree.PathOf(gnmitree.AnyDepth, "params"),
		gnmitree.PathOf("nics", gnmitree.Any, "ports"), gnmitree.PathOf("nics", gnmitree.Any, gnmitree.AnyDepth, "value"),
	} {
		for _, e := range []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO} {
			q := &gnmi.GetRequest{Prefix: &gnmi.Path{Target: "host-1"}, Path: []*gnmi.Path{p.Proto()}, Type: gnmi.GetRequest_CONFIG, Encoding: e}
			got, err := fast.Get(t.Context(), q)
			want, err2 := slow.Get(t.Context(), q)
			if err != nil || err2 != nil {
				t.Fatal(p, err, err2)
			}
			for _, reply := range []*gnmi.GetResponse{got, want} {
				for _, n := range reply.GetNotification() {
					n.Timestamp = 0
				}
			}
			if g, w := protojson.Format(got), protojson.Format(want); g != w {
				t.Errorf("%s as %s: %s, want %s", p, e, g, w)
			}
		}
	}
	if texts == 0 {
		t.Error("no answer had a text")
	}
}
