package p4dev_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"fairlane/sim/p4dev"
	"fairlane/wrcc/p4info"
)

// grpcurlEnv names a built grpcurl. Building one takes half a minute of processor time, so `make grpcurl` does it, as part
// of `make soak`.
const grpcurlEnv = "FAIRLANE_GRPCURL"

// curl is grpcurl, pointed at a server. It knows of P4Runtime what server reflection tells.
type curl struct {
	t             *testing.T
	path, address string
}

func (c *curl) command(args ...string) *exec.Cmd {
	return exec.CommandContext(c.t.Context(), c.path, append([]string{"-plaintext"}, args...)...)
}

// call returns what grpcurl prints, and whether it succeeded.
func (c *curl) call(method string, request proto.Message) (string, bool) {
	c.t.Helper()
	out, err := c.command("-d", asJSON(c.t, request), c.address, "p4.v1.P4Runtime/"+method).CombinedOutput()
	return string(out), err == nil
}

func asJSON(t *testing.T, m proto.Message) string {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (c *curl) want(what, out string, ok, success bool, says string) {
	c.t.Helper()
	if ok != success || !strings.Contains(out, says) {
		c.t.Errorf("%s: success %v, output:\n%s\nwant success %v and %q", what, ok, out, success, says)
	}
}

// elect opens a stream as election id 1 and returns once the switch has made it the primary. Calling leave ends it.
func (c *curl) elect() (leave func()) {
	c.t.Helper()
	cmd := c.command("-d", "@", c.address, "p4.v1.P4Runtime/StreamChannel")
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if _, err := in.Write([]byte(asJSON(c.t, arbitration(id, 0, 1)) + "\n")); err != nil {
		c.t.Fatal(err)
	}
	var heard strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		heard.WriteString(lines.Text() + "\n")
		if lines.Text() == "}" {
			break
		}
	}
	if s := heard.String(); !strings.Contains(s, `"electionId"`) || strings.Contains(s, `"code"`) {
		c.t.Fatalf("the stream hears\n%s\nwant to be the primary", s)
	}
	return func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("the stream ended with %v", err)
		}
	}
}

// TestGrpcurl drives a simulated switch with a client that we did not write.
func TestGrpcurl(t *testing.T) {
	path := os.Getenv(grpcurlEnv)
	if path == "" {
		t.Skipf("%s is not set: `make grpcurl` builds the client and runs this test", grpcurlEnv)
	}
	s := p4dev.NewServer()
	dev, err := s.Add(id, p4dev.Options{Ports: 8})
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	c := &curl{t, path, l.Addr().String()}

	out, err := c.command(c.address, "list").CombinedOutput()
	c.want("list", string(out), err == nil, true, "p4.v1.P4Runtime\n")
	out, err = c.command(c.address, "describe", "p4.v1.P4Runtime.Write").CombinedOutput()
	c.want("describe", string(out), err == nil, true, "rpc Write ( .p4.v1.WriteRequest ) returns ( .p4.v1.WriteResponse );")
	info, ok := c.call("GetForwardingPipelineConfig", &p4v1.GetForwardingPipelineConfigRequest{DeviceId: id})
	c.want("program", info, ok, true, `"wrcc.port_cfg"`)

	write := &p4v1.WriteRequest{DeviceId: id, ElectionId: &p4v1.Uint128{Low: 1}, Updates: []*p4v1.Update{update(p4v1.Update_INSERT, p4info.PortConfig(port(7)))}}
	text, ok := c.call("Write", write)
	c.want("write before arbitration", text, ok, false, "Code: PermissionDenied")
	leave := c.elect()
	text, ok = c.call("Write", write)
	c.want("write as the primary", text, ok, true, "{}")
	if got := dev.Config(); len(got.Ports) != 1 || got.Ports[0] != port(7) {
		t.Errorf("the switch holds %v", got.Ports)
	}
	text, ok = c.call("Write", write)
	c.want("the same again", text, ok, false, `"canonicalCode": 6`)
	write.Updates[0].GetEntity().GetTableEntry().GetMatch()[0].GetExact().Value = []byte{0, 8}
	text, ok = c.call("Write", write)
	c.want("a padded key", text, ok, false, "no leading zeros")

	read := func(e *p4v1.Entity) string {
		t.Helper()
		text, ok := c.call("Read", &p4v1.ReadRequest{DeviceId: id, Entities: []*p4v1.Entity{e}})
		c.want("read", text, ok, true, "entities")
		return text
	}
	if s := read(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: p4info.All(p4info.TablePortConfig)}}); !strings.Contains(s, `"value": "AV+Q"`) { // 90,000
		t.Errorf("port_cfg reads\n%s", s)
	}
	if s := read(&p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: p4info.Register(p4info.RegisterPFR, 7, 0)}}); !strings.Contains(s, `"bitstring": "AYag"`) { // 100,000
		t.Errorf("the fair rate reads\n%s", s)
	}
	leave()
	text, ok = c.call("Write", write)
	c.want("write after the stream has ended", text, ok, false, "no primary")
}
