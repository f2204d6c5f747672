package cni_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"

	"fairlane/agent/pods/podserve"
	"fairlane/agent/pods/podsock"
	"fairlane/cni"
	"fairlane/internal/testkit/filetest"
)

// agent is a fake host agent.
type agent struct {
	socket string

	mu       sync.Mutex
	attached []podsock.Attachment
	calls    []string
	fail     error
	status   podsock.Status
}

func (a *agent) call(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, name)
	return a.fail
}

func (a *agent) Add(_ context.Context, x podsock.Attachment, _ podsock.Source) (podsock.Record, error) {
	a.mu.Lock()
	a.attached = append(a.attached, x)
	a.mu.Unlock()
	return podsock.Record{}, a.call("add")
}
func (a *agent) Check(context.Context, podsock.Attachment) error { return a.call("check") }
func (a *agent) Delete(_ context.Context, k podsock.Key) error {
	return a.call("delete " + k.ContainerID)
}
func (a *agent) GC(_ context.Context, g podsock.GC) (int, error) {
	return 0, a.call(fmt.Sprint("gc ", g.Network, " ", g.Valid))
}
func (a *agent) List(context.Context, bool) []podsock.Record { return nil }
func (a *agent) Status() podsock.Status                      { return a.status }

func newAgent(t testing.TB) *agent {
	t.Helper()
	a := &agent{socket: filepath.Join(filetest.ShortDir(t), "pods.sock"), status: podsock.Status{Loaded: true}}
	l, err := podserve.Listen(t.Context(), a.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- podserve.New(podserve.Options{Table: a, Allowed: []uint32{uint32(os.Getuid())}, Log: slog.New(slog.DiscardHandler)}).Serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return a
}

// rig is a plugin with its streams.
type rig struct {
	plugin         cni.Plugin
	stdout, stderr bytes.Buffer
	spool          string
}

func newRig(t testing.TB) *rig {
	r := &rig{spool: filepath.Join(filetest.ShortDir(t), "spool")}
	r.plugin = cni.Plugin{Stdout: &r.stdout, Stderr: &r.stderr, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	return r
}

const (
	prev    = `{"cniVersion":"1.1.0","interfaces":[{"name":"net1","mac":"02:00:00:00:00:01","sandbox":"/run/netns/x","pciID":"0000:3b:01.0"}],"ips":[{"address":"10.1.2.3/24"}],"x-vendor":{"kept":true}}`
	podEnv  = "IgnoreUnknown=1;K8S_POD_NAMESPACE=team-a;K8S_POD_NAME=job-0;K8S_POD_INFRA_CONTAINER_ID=c1;K8S_POD_UID=0a1b"
	ownArgs = `"args":{"cni":{"tenant":"forged","pkey":"0x7fff","class":"forged","deviceID":"0000:ff:00.0","maxMbps":400000,"mellanox.infiniband.app":"configured"}}`
)

// call returns the arguments of a call with a configuration; more are further members.
func (r *rig) call(socket, more string) *skel.CmdArgs {
	return &skel.CmdArgs{
		ContainerID: "c1", Netns: "/run/netns/x", IfName: "net1", Args: podEnv,
		StdinData: fmt.Appendf(nil, `{"cniVersion":"1.1.0","name":"rdma-net","type":"fairlane-cni","socket":%q,"spool":%q,%s}`, socket, r.spool, more),
	}
}

// code returns the code of an error of CNI; 0 for none.
func code(t *testing.T, err error) uint {
	t.Helper()
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*types.Error](err)
	if !ok {
		t.Fatalf("%T: %v, want an error of CNI", err, err)
	}
	return e.Code
}

func TestAddPassesTheIdentityOfTheRuntimeAlone(t *testing.T) {
	t.Parallel()
	a, r := newAgent(t), newRig(t)
	args := r.call(a.socket, `"prevResult":`+prev+`,"deviceID":"0000:3b:01.0","pciBusID":"0000:3b:01.0","runtimeConfig":{"deviceID":"0000:3b:01.7","infinibandGUID":"02:00:00:00:00:00:00:01"},`+ownArgs)
	if err := r.plugin.Add(args); err != nil {
		t.Fatal(err)
	}
	want := podsock.Attachment{
		Key: podsock.Key{Network: "rdma-net", ContainerID: "c1", Interface: "net1"}, NetNS: "/run/netns/x", Pod: podsock.Pod{Namespace: "team-a", Name: "job-0", UID: "0a1b"},
		Device: "0000:3b:01.0", GUID: "02:00:00:00:00:00:00:01",
	}
	if len(a.attached) != 1 || a.attached[0] != want {
		t.Errorf("%+v, want %+v", a.attached, want)
	}
	if got := r.stdout.String(); got != prev+"\n" {
		t.Errorf("result %s, want %s", got, prev)
	}
	// Without Multus, the capability names the device.
	args = r.call(a.socket, `"prevResult":`+prev+`,"failPolicy":"open","runtimeConfig":{"deviceID":"mlx5_core.sf.4"}`)
	if err := r.plugin.Add(args); err != nil || a.attached[1].Device != "mlx5_core.sf.4" || a.attached[1].FailPolicy != podsock.Open {
		t.Errorf("%+v, %v", a.attached, err)
	}
	// A network without devices.
	if err := r.plugin.Add(r.call(a.socket, `"prevResult":`+prev)); err != nil || a.attached[2].Device != "" {
		t.Errorf("%+v, %v", a.attached, err)
	}
}

func TestResultsOfEveryVersionArePassedUnchanged(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	for version, result := range map[string]string{
		"0.4.0": `{"cniVersion":"0.4.0","interfaces":[{"name":"net1"}],"ips":[{"version":"4","interface":0,"address":"10.1.2.3/24"}],"dns":{}}`,
		"1.0.0": `{"cniVersion":"1.0.0","ips":[{"address":"10.1.2.3/24","gateway":"10.1.2.1"}]}`,
		"1.1.0": prev,
	} {
		r := newRig(t)
		args := r.call(a.socket, `"prevResult":`+result)
		args.StdinData = bytes.Replace(args.StdinData, []byte(`"cniVersion":"1.1.0"`), []byte(`"cniVersion":"`+version+`"`), 1)
		if err := r.plugin.Add(args); err != nil || r.stdout.String() != result+"\n" {
			t.Errorf("%s: %v\n%s\n%s", version, err, &r.stdout, result)
		}
	}
	r := newRig(t)
	if got := code(t, r.plugin.Add(r.call(a.socket, `"prevResult":{"ips":[{"address":"10.1.2.3/24"}]}`))); got != types.ErrDecodingFailure || r.stdout.Len() > 0 {
		t.Errorf("a result without a version: code %d, %s", got, &r.stdout)
	}
}

func TestErrorsHaveTheCodesOfTheSpecification(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	for name, c := range map[string]struct {
		more, env string
		fail      error
		want      uint
	}{
		"first in the chain":          {`"x":1`, podEnv, nil, types.ErrInvalidNetworkConfig},
		"no result":                   {`"prevResult":null`, podEnv, nil, types.ErrInvalidNetworkConfig},
		"broken result":               {`"prevResult":{"ips":7}`, podEnv, nil, types.ErrDecodingFailure},
		"unknown fail policy":         {`"failPolicy":"ajar","prevResult":` + prev, podEnv, nil, types.ErrInvalidNetworkConfig},
		"relative spool":              {`"spool":"spool","prevResult":` + prev, podEnv, nil, types.ErrInvalidNetworkConfig},
		"relative socket":             {`"socket":"pods.sock","prevResult":` + prev, podEnv, nil, types.ErrInvalidNetworkConfig},
		"device that is a path":       {`"deviceID":"0000:3b:01.0/../x","prevResult":` + prev, podEnv, nil, types.ErrInvalidNetworkConfig},
		"device of another type":      {`"deviceID":7,"prevResult":` + prev, podEnv, nil, types.ErrDecodingFailure},
		"GUID":                        {`"runtimeConfig":{"infinibandGUID":"x"},"prevResult":` + prev, podEnv, nil, types.ErrInvalidNetworkConfig},
		"no pod":                      {`"prevResult":` + prev, "", nil, types.ErrInvalidEnvironmentVariables},
		"no namespace":                {`"prevResult":` + prev, "IgnoreUnknown=1;K8S_POD_NAME=x", nil, types.ErrInvalidEnvironmentVariables},
		"unknown key":                 {`"prevResult":` + prev, "K8S_POD_NAMESPACE=a;TENANT=gold", nil, types.ErrInvalidEnvironmentVariables},
		"broken pair":                 {`"prevResult":` + prev, "K8S_POD_NAMESPACE=a=b", nil, types.ErrInvalidEnvironmentVariables},
		"key of a structure":          {`"prevResult":` + prev, "K8S_POD_NAMESPACE=a;CommonArgs=1", nil, types.ErrInvalidEnvironmentVariables},
		"namespace that is a path":    {`"prevResult":` + prev, "K8S_POD_NAMESPACE=../x", nil, types.ErrInvalidEnvironmentVariables},
		"binding unknown":             {`"prevResult":` + prev, podEnv, podsock.Problemf(podsock.CodeTryAgain, "later"), types.ErrTryAgainLater},
		"device in use, even if open": {`"failPolicy":"open","prevResult":` + prev, podEnv, podsock.Problemf(podsock.CodeTryAgain, "in use"), types.ErrTryAgainLater},
		"device refuses":              {`"prevResult":` + prev, podEnv, podsock.Problemf(podsock.CodeDevice, "invalid argument"), types.ErrInternal},
		"agent fails":                 {`"prevResult":` + prev, podEnv, errors.New("disk full"), types.ErrInternal},
	} {
		r := newRig(t)
		a.fail = c.fail
		args := r.call(a.socket, c.more)
		args.Args = c.env
		err := r.plugin.Add(args)
		if got := code(t, err); got != c.want || !strings.HasPrefix(err.Error(), "fairlane: ") || r.stdout.Len() > 0 {
			t.Errorf("%s: code %d, %v, printed %q, want code %d", name, got, err, &r.stdout, c.want)
		}
	}
}

func TestAddWithoutAnAgent(t *testing.T) {
	t.Parallel()
	none := filepath.Join(filetest.ShortDir(t), "none.sock")
	for _, policy := range []string{`"failPolicy":"closed"`, `"failPolicy":""`} {
		r := newRig(t)
		if got := code(t, r.plugin.Add(r.call(none, policy+`,"prevResult":`+prev))); got != types.ErrTryAgainLater || r.stdout.Len() > 0 {
			t.Errorf("%s: code %d, printed %q", policy, got, &r.stdout)
		}
	}
	r := newRig(t)
	if err := r.plugin.Add(r.call(none, `"failPolicy":"open","deviceID":"0000:3b:01.0","prevResult":`+prev)); err != nil || r.stdout.String() != prev+"\n" {
		t.Errorf("%v, %s", err, &r.stdout)
	}
	kept, damaged, err := podsock.ReadSpool(r.spool)
	if err != nil || len(damaged) > 0 || len(kept) != 1 || kept[0].Attach == nil || kept[0].Attach.Device != "0000:3b:01.0" || !strings.Contains(r.stderr.String(), "starts without its class") {
		t.Errorf("%+v, %v, %v, %s", kept, damaged, err, &r.stderr)
	}
	// The DEL of that pod replaces the kept ADD.
	if err := r.plugin.Del(r.call(none, `"failPolicy":"open"`)); err != nil {
		t.Error(err)
	}
	if kept, _, err := podsock.ReadSpool(r.spool); err != nil || len(kept) != 1 || kept[0].Release == nil {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestDelNeverFails(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	r := newRig(t)
	ended := r.call(a.socket, `"x":1`) // neither network namespace nor result, nor the pod's identity
	ended.Netns, ended.Args = "", ""
	for range 3 {
		if err := r.plugin.Del(ended); err != nil {
			t.Error(err)
		}
	}
	if len(a.calls) != 3 || a.calls[0] != "delete c1" {
		t.Error(a.calls)
	}
	for name, fail := range map[string]error{
		"busy": podsock.Problemf(podsock.CodeTryAgain, "later"), "disk": errors.New("disk full"), "denied": podsock.Problemf(podsock.CodeDenied, "not you"),
	} {
		r := newRig(t)
		a.fail = fail
		if err := r.plugin.Del(r.call(a.socket, `"x":1`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if kept, _, err := podsock.ReadSpool(r.spool); err != nil || len(kept) != 1 || kept[0].Release == nil || kept[0].Release.ContainerID != "c1" {
			t.Errorf("%s: %+v, %v", name, kept, err)
		}
	}
	a.fail = nil
	for name, conf := range map[string]string{"fail policy": `"failPolicy":"ajar"`, "types": `"failPolicy":7,"deviceID":[]`, "spool": `"spool":"/proc/none/spool"`} {
		if err := newRig(t).plugin.Del(r.call(a.socket, conf)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// No agent, and nowhere to keep the request: the agent finds out from the network namespace.
	r = newRig(t)
	if err := r.plugin.Del(r.call(filepath.Join(filetest.ShortDir(t), "none"), `"spool":"/proc/none/spool"`)); err != nil || !strings.Contains(r.stderr.String(), "network namespace is gone") {
		t.Errorf("%v, %s", err, &r.stderr)
	}
	if r.stdout.Len() > 0 {
		t.Errorf("printed %q", &r.stdout)
	}
}

func TestCollectionReadsBothKeysAndNeedsAList(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ more, want string }{
		"no list":      {`"x":1`, ""},
		"null":         {`"cni.dev/valid-attachments":null`, ""},
		"empty":        {`"cni.dev/valid-attachments":[]`, "gc rdma-net []"},
		"partial":      {`"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"net1"}]`, "gc rdma-net [{c1 net1}]"},
		"older key":    {`"cni.dev/attachments":[{"containerID":"c2","ifname":"net1"}]`, "gc rdma-net [{c2 net1}]"},
		"both keys":    {`"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"net1"}],"cni.dev/attachments":[{"containerID":"c1","ifname":"net1"}]`, "gc rdma-net [{c1 net1}]"},
		"different":    {`"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"net1"}],"cni.dev/attachments":[{"containerID":"c2","ifname":"net1"}]`, "gc rdma-net [{c1 net1} {c2 net1}]"},
		"one is empty": {`"cni.dev/valid-attachments":[],"cni.dev/attachments":[{"containerID":"c2","ifname":"net1"}]`, "gc rdma-net [{c2 net1}]"},
	} {
		a, r := newAgent(t), newRig(t)
		args := r.call(a.socket, c.more)
		args.ContainerID, args.IfName, args.Netns, args.Args = "", "", "", ""
		if err := r.plugin.GC(args); err != nil || strings.Join(a.calls, ",") != c.want {
			t.Errorf("%s: %v, %v, want %q", name, err, a.calls, c.want)
		}
	}
	r := newRig(t)
	if got := code(t, r.plugin.GC(r.call(filepath.Join(filetest.ShortDir(t), "none"), `"cni.dev/valid-attachments":[]`))); got != types.ErrTryAgainLater {
		t.Errorf("code %d without an agent", got)
	}
}

func TestStatusAndCheck(t *testing.T) {
	t.Parallel()
	a, r := newAgent(t), newRig(t)
	none := filepath.Join(filetest.ShortDir(t), "none")
	for name, c := range map[string]struct {
		socket string
		status podsock.Status
		want   uint
	}{
		"ready": {a.socket, podsock.Status{Loaded: true, Drifted: 3, Pending: 2}, 0}, "not loaded": {a.socket, podsock.Status{}, types.ErrPluginNotAvailable},
		"unreadable": {a.socket, podsock.Status{Loaded: true, Unreadable: 1}, types.ErrLimitedConnectivity}, "no agent": {none, podsock.Status{}, types.ErrPluginNotAvailable},
	} {
		a.status = c.status
		if got := code(t, r.plugin.Status(r.call(c.socket, `"x":1`))); got != c.want {
			t.Errorf("STATUS, %s: code %d, want %d", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		socket, more string
		fail         error
		want         uint
	}{
		"same": {a.socket, `"x":1`, nil, 0}, "drift": {a.socket, `"x":1`, podsock.Problemf(podsock.CodeDrift, "found 1, want 2"), types.ErrInternal},
		"no record": {a.socket, `"failPolicy":"open"`, podsock.Problemf(podsock.CodeUnknown, "no record"), types.ErrInternal},
		"no agent":  {none, `"x":1`, nil, types.ErrTryAgainLater}, "no agent, open": {none, `"failPolicy":"open"`, nil, 0},
	} {
		a.fail = c.fail
		if got := code(t, r.plugin.Check(r.call(c.socket, c.more))); got != c.want {
			t.Errorf("CHECK, %s: code %d, want %d", name, got, c.want)
		}
	}
}

// An agent that hangs delays a pod by two calls of 2 s at most.
func TestAnAgentThatHangs(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(filetest.ShortDir(t), "pods.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts into its queue, and never answers
	r := newRig(t)
	began := time.Now()
	got := code(t, r.plugin.Add(r.call(socket, `"prevResult":`+prev)))
	if took := time.Since(began); got != types.ErrTryAgainLater || took < podsock.CallTimeout || took > 5*time.Second {
		t.Errorf("code %d after %s", got, took)
	}
}
