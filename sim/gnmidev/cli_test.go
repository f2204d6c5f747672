package gnmidev

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/gnmi/gnmitest"
)

// listening also serves a rig's devices on a local port, and returns its address.
func (r *rig) listening(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	return l.Addr().String()
}

// TestGnmiCli uses a switch, a host and both kinds of subscriptions with an independent client.
func TestGnmiCli(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, nil)
	r.host(t, nil)
	c := gnmitest.New(t, r.listening(t), "-insecure")
	caps, err := c.Capabilities()
	if err != nil {
		t.Fatal(err)
	}
	var models []string
	for _, m := range caps.GetSupportedModels() {
		models = append(models, m.GetName())
	}
	if got := strings.Join(models, " "); got != "fairlane-nic sonic-db" {
		t.Errorf("models %s", got)
	}
	const threshold = config + "/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold"
	leaf := &gnmi.Path{Target: "leaf-1"}
	read := func() string {
		t.Helper()
		got, err := c.Get(&gnmi.GetRequest{Prefix: leaf, Path: []*gnmi.Path{wirePath(t, threshold)}, Encoding: gnmi.Encoding_JSON_IETF})
		if err != nil {
			t.Fatal(err)
		}
		return string(got.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
	}
	if got := read(); got != `"1048576"` {
		t.Errorf("threshold %s", got)
	}
	if _, err := c.Set(request(t, "leaf-1", `replace `+threshold+` "5000"`)); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != `"5000"` {
		t.Errorf("threshold %s, want 5000", got)
	}
	if _, err := c.Set(request(t, "leaf-1", `update `+threshold+` "5000"`)); err == nil || !strings.Contains(err.Error(), "rdma_config_update_validator") {
		t.Errorf("a guarded field was changed: %v", err)
	}
	once, err := c.Once("leaf-1/COUNTERS_DB", "COUNTERS/Ethernet0/Queues")
	if err != nil || !strings.Contains(once, "SAI_QUEUE_STAT_BYTES") {
		t.Errorf("once: %s, %v", once, err)
	}
	stream := c.Stream("host-1", "nics/nic[name=mlx5_0]/ports/port[number=1]/params")
	if _, err := stream.Until("rpg_ai_rate", "config/value", "5"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(request(t, "host-1", `update `+param(port1, "rpg_ai_rate", 0)+` "40"`)); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Until("rpg_ai_rate", "config/value", "40"); err != nil {
		t.Error(err)
	}
}
