// Package gnmitest tests gNMI targets with OpenConfig's own command-line client, gnmi_cli, as an independent implementation.
// `make peers` builds it (tools/gnmicli); tests that need it are skipped or fail without it, as described in
// internal/testkit/peertest.
package gnmitest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"fairlane/internal/testkit/peertest"
)

// Client runs gnmi_cli against a server.
type Client struct {
	t    testing.TB
	path string
	args []string
}

// New returns a client, or ends the test as peertest.Missing does. args configure trust in the server: "-insecure", or
// "-ca_crt", "-client_crt" and "-client_key" with files.
func New(t testing.TB, address string, args ...string) *Client {
	t.Helper()
	path := filepath.Join(peertest.Root(t), "bin", "gnmi_cli")
	if _, err := os.Stat(path); err != nil {
		peertest.Missing(t, "bin/gnmi_cli is not there: `make peers` builds it")
	}
	return &Client{t, path, append([]string{"-address", address, "-timeout", "20s"}, args...)}
}

// Capabilities sends a Capabilities request.
func (c *Client) Capabilities() (*gnmi.CapabilityResponse, error) {
	out := &gnmi.CapabilityResponse{}
	return out, c.call("-capabilities", &gnmi.CapabilityRequest{}, out)
}

// Get sends a Get. The error contains the client's output.
func (c *Client) Get(r *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	out := &gnmi.GetResponse{}
	return out, c.call("-get", r, out)
}

// Set sends a Set. The error contains the client's output.
func (c *Client) Set(r *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	out := &gnmi.SetResponse{}
	return out, c.call("-set", r, out)
}

func (c *Client) call(what string, r, into proto.Message) error {
	text, err := c.run(what, "-proto", prototext.MarshalOptions{}.Format(r))
	if err != nil {
		return err
	}
	if err := prototext.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("gnmi_cli printed %q: %w", text, err)
	}
	return nil
}

// Once subscribes once to paths in the client's form ("nics/nic[name=a]/state"), and returns the output.
func (c *Client) Once(target string, paths ...string) (string, error) {
	return c.run("-target", target, "-query_type", "once", "-query", strings.Join(paths, ","))
}

// Stream is a subscription whose output is read line by line.
type Stream struct {
	cmd   *exec.Cmd
	lines chan string
}

// Stream subscribes to paths on change, and prints one line for each value: the path's names with slashes, a comma, the value.
// It ends with the test.
func (c *Client) Stream(target string, paths ...string) *Stream {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.path, append(c.args, "-target", target, "-query_type", "streaming", "-display_type", "single", "-query", strings.Join(paths, ","))...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	s := &Stream{cmd: cmd, lines: make(chan string, 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.read(out)
	}()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	return s
}

func (c *Client) run(args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), c.path, append(c.args, args...)...)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("gnmi_cli: %s", strings.TrimSpace(string(out)))
	case err != nil:
		return "", err
	}
	return string(out), nil
}
