package gnmi_test

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/testkit/grpctest"
	"fairlane/sim/gnmidev"
	"fairlane/subnet/ident"
)

// BenchmarkQueuesOfAPort reads the eight queues of one port of a simulated SONiC switch, by Get as the driver does and by samples of a
// subscription with as many paths. It reports bytes of messages, and processor time of both ends together.
func BenchmarkQueuesOfAPort(b *testing.B) {
	s, r := simulatedDevices(b)
	addSwitch(b, s, "leaf-1", gnmidev.SwitchOptions{})
	dev := switchDevice("leaf-1", 4)
	queues := []uint8{0, 1, 2, 3, 4, 5, 6, 7}
	b.Run("get", func(b *testing.B) {
		meter := &grpclink.Meter{}
		d := r.driver(b, gnmi.SONiC, func(o *gnmi.Options) { o.Meter = meter })
		read := func() {
			if q, err := d.PortQueueCounters(b.Context(), dev, ident.PortNum(1), queues...); err != nil || len(q) != len(queues) {
				b.Fatal(q, err)
			}
		}
		read() // learns the names of queues
		_, before := meter.Total()
		begun, n := processorTime(b), 0
		for b.Loop() {
			read()
			n++
		}
		_, after := meter.Total()
		b.ReportMetric(float64(after-before)/float64(n), "B/reading")
		b.ReportMetric(float64((processorTime(b)-begun).Microseconds())/float64(n), "cpu-us/reading")
	})
	b.Run("sample", func(b *testing.B) {
		client := gpb.NewGNMIClient(grpctest.Connect(b, r.dial))
		names, err := client.Get(b.Context(), &gpb.GetRequest{Prefix: &gpb.Path{Target: "leaf-1", Origin: "sonic-db"}, Encoding: gpb.Encoding_JSON_IETF,
			Path: []*gpb.Path{gnmitree.PathOf("COUNTERS_DB", "localhost", "COUNTERS_QUEUE_NAME_MAP").Proto()}})
		if err != nil {
			b.Fatal(err)
		}
		var oids map[string]string
		if err := json.Unmarshal(names.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal(), &oids); err != nil {
			b.Fatal(err)
		}
		list := &gpb.SubscriptionList{Prefix: &gpb.Path{Target: "leaf-1", Origin: "sonic-db"}, Encoding: gpb.Encoding_JSON_IETF}
		for _, q := range queues {
			at := gnmitree.PathOf("COUNTERS_DB", "localhost", "COUNTERS", oids[fmt.Sprintf("Ethernet0:%d", q)])
			list.Subscription = append(list.Subscription, &gpb.Subscription{Path: at.Proto(), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: uint64(time.Second)})
		}
		const streams = 32
		readings, size, begun := 0, 0, processorTime(b)
		open := make([]gpb.GNMI_SubscribeClient, streams)
		for i := range open {
			if open[i], err = client.Subscribe(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := open[i].Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			for _, c := range open {
				for updates := 0; updates < 4*len(queues); { // a counter of each kind
					m, err := c.Recv()
					if err != nil {
						b.Fatal(err)
					}
					size += proto.Size(m)
					updates += len(m.GetUpdate().GetUpdate())
				}
				readings++
			}
		}
		b.ReportMetric(float64(size)/float64(readings), "B/reading")
		b.ReportMetric(float64((processorTime(b)-begun).Microseconds())/float64(readings), "cpu-us/reading")
	})
}

// processorTime is the time that this process has used on processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
