package p4dev_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
)

// grpcurlEnv names a built grpcurl. Building one takes half a minute of processor time, so `make grpcurl` does it, as part
// of `make soak`.
const grpcurlEnv = "FAIRLANE_GRPCURL"

// curl runs grpcurl against a server. It is an independent client.
type curl struct {
	t             *testing.T
	path, address string
}

func newCurl(t *testing.T, path, address string) reflectionClient {
	t.Helper()
	c := &curl{t, path, address}
	for _, x := range []struct{ verb, of, wantText string }{
		{"list", "", "p4.v1.P4Runtime\n"},
		{"describe", "p4.v1.P4Runtime.Write", "rpc Write ( .p4.v1.WriteRequest ) returns ( .p4.v1.WriteResponse );"},
	} {
		out, err := c.command(append([]string{address, x.verb}, strings.Fields(x.of)...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), x.wantText) {
			t.Errorf("%s: %v, output:\n%s\nwant %q", x.verb, err, out, x.wantText)
		}
	}
	return c
}

func (c *curl) command(args ...string) *exec.Cmd {
	return exec.CommandContext(c.t.Context(), c.path, append([]string{"-plaintext"}, args...)...)
}

func (c *curl) call(method, request string) (string, bool) {
	out, err := c.command("-d", request, c.address, "p4.v1.P4Runtime/"+method).CombinedOutput()
	return string(out), err == nil
}

func (c *curl) open(method, request string) (string, func()) {
	c.t.Helper()
	cmd := c.command("-d", "@", c.address, "p4.v1.P4Runtime/"+method)
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
	if _, err := in.Write([]byte(request + "\n")); err != nil {
		c.t.Fatal(err)
	}
	var received strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		received.WriteString(lines.Text() + "\n")
		if lines.Text() == "}" {
			break
		}
	}
	return received.String(), func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("the stream ended with %v", err)
		}
	}
}
