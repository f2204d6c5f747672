package p4dev_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"fairlane/internal/testkit/grpctest"
	"fairlane/sim/p4dev"
)

// reflectionClient is a client that learns P4Runtime only by server reflection.
type reflectionClient interface {
	// call returns the response of a method, or the error with its code and details.
	call(method, request string) (answer string, ok bool)
	// open sends the first message of a stream. It returns the first response, and a function that ends the stream.
	open(method, request string) (answer string, closeStream func())
}

// compact returns text without white space, which differs between clients.
func compact(s string) string { return strings.Join(strings.Fields(s), "") }

// TestReflectionOnlyClients uses a switch with the numbers and bytes of the P4Info: from a client in the test
// process and, if `make grpcurl` has built it, with grpcurl.
func TestReflectionOnlyClients(t *testing.T) {
	t.Parallel()
	clients := map[string]func(*testing.T, string) reflectionClient{"process": newGeneric}
	if path := os.Getenv(grpcurlEnv); path != "" {
		clients["grpcurl"] = func(t *testing.T, address string) reflectionClient { return newCurl(t, path, address) }
	}
	for name, connect := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := p4dev.NewServer()
			dev, err := s.Add(id, p4dev.Options{Ports: 8})
			if err != nil {
				t.Fatal(err)
			}
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			grpctest.ServeOn(t, l, serving(s))
			driveByReflection(t, connect(t, l.Addr().String()), dev)
		})
	}
}

func driveByReflection(t *testing.T, c reflectionClient, dev *p4dev.Device) {
	t.Helper()
	call := func(what, method, request string, success bool, wantText ...string) {
		t.Helper()
		out, ok := c.call(method, request)
		for _, s := range wantText {
			if ok != success || !strings.Contains(compact(out), compact(s)) {
				t.Errorf("%s: success %v, output:\n%s\nwant success %v and %q", what, ok, out, success, s)
			}
		}
	}
	// port_cfg, port 7: 100, 100000 and 90000 Mbit/s, 24 us, 110 %, 50 %.
	const write = `{"deviceId": "5", "electionId": {"low": "1"}, "updates": [{"type": "INSERT", "entity": {"tableEntry": {
		"tableId": 33554433, "match": [{"fieldId": 1, "exact": {"value": "Bw=="}}],
		"action": {"action": {"actionId": 16777217, "params": [
			{"paramId": 1, "value": "ZA=="}, {"paramId": 2, "value": "AYag"}, {"paramId": 3, "value": "AV+Q"},
			{"paramId": 4, "value": "GA=="}, {"paramId": 5, "value": "bg=="}, {"paramId": 6, "value": "Mg=="}]}}}}}]}`
	call("program", "GetForwardingPipelineConfig", `{"deviceId": "5"}`, true, `"wrcc.port_cfg"`)
	call("write before arbitration", "Write", write, false, "Code: PermissionDenied", "arbitrate first")
	received, closeStream := c.open("StreamChannel", `{"arbitration": {"deviceId": "5", "electionId": {"low": "1"}}}`)
	if compact(received) != `{"arbitration":{"deviceId":"5","electionId":{"low":"1"},"status":{}}}` {
		t.Errorf("response to the arbitration: %s", received)
	}
	call("write as the primary", "Write", write, true, "{}")
	if got := dev.Config(); len(got.Ports) != 1 || got.Ports[0] != port(7) {
		t.Errorf("the configuration of the switch is %+v, want %+v", got.Ports, port(7))
	}
	call("write again", "Write", write, false, "Code: Unknown", `"canonicalCode": 6`)
	call("write a leading zero", "Write", strings.Replace(write, "Bw==", "AAc=", 1), false, "Code: Unknown", "some updates failed", "no leading zeros")
	call("read the table", "Read", `{"deviceId": "5", "entities": [{"tableEntry": {"tableId": 33554433}}]}`, true, `{"entities": [{"tableEntry":`, `"value": "AV+Q"`)
	call("read the fair rate", "Read", `{"deviceId": "5", "entities": [{"registerEntry": {"registerId": 369098753, "index": {"index": "7"}}}]}`, true,
		`{"entities": [{"registerEntry": {"registerId": 369098753, "index": {"index": "7"}, "data": {"bitstring": "AYag"}}}]}`)
	closeStream()
	call("write after the stream has ended", "Write", write, false, "no primary")
}
