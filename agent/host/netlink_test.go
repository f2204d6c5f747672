package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Mellanox/rdmamap"
	"golang.org/x/sys/unix"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/testkit/peertest"
)

// wire is a socket to a kernel that the test simulates.
type wire struct {
	datagrams [][]byte // received datagrams in order; nil is a lost one (ENOBUFS)
	sent      [][]byte
	closed    int
	deadline  chan struct{}
	sendErr   error
}

func (w *wire) Send(b []byte) error {
	w.sent = append(w.sent, slices.Clone(b))
	return w.sendErr
}

func (w *wire) Receive(b []byte) (int, error) {
	if len(w.datagrams) == 0 {
		<-w.deadline
		return 0, os.ErrDeadlineExceeded
	}
	d := w.datagrams[0]
	w.datagrams = w.datagrams[1:]
	if d == nil {
		return 0, unix.ENOBUFS
	}
	return copy(b, d), nil
}

func (w *wire) SetDeadline(t time.Time) error {
	if w.deadline == nil {
		w.deadline = make(chan struct{})
	}
	once := w.deadline
	time.AfterFunc(time.Until(t), func() {
		select {
		case <-once:
		default:
			close(once)
		}
	})
	return nil
}

func (w *wire) Close() error {
	w.closed++
	return nil
}

func request(typ uint16, sequence uint32) []byte {
	b := make([]byte, 24)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], typ)
	binary.NativeEndian.PutUint32(b[8:], sequence)
	return b
}

func exchanger(w *wire) *Netlink {
	return &Netlink{time.Second, func() (datagrams, error) { return w, nil }}
}

func TestAnExchangeEndsWithTheKernelsFinalMessage(t *testing.T) {
	t.Parallel()
	reply := request(dcbnl.TypeGet, 7)
	for _, c := range []struct {
		name string
		in   [][]byte
		out  []byte
	}{
		{"reply, then acknowledgement", [][]byte{reply, refusal(7, 0)}, append(slices.Clone(reply), refusal(7, 0)...)},
		{"both in one", [][]byte{append(slices.Clone(reply), refusal(7, 0)...)}, append(slices.Clone(reply), refusal(7, 0)...)},
		{"refusal", [][]byte{refusal(7, 95)}, refusal(7, 95)},
		{"a message for another request comes first", [][]byte{refusal(6, 0), refusal(7, 0)}, append(refusal(6, 0), refusal(7, 0)...)},
	} {
		w := &wire{datagrams: c.in}
		got, err := exchanger(w).Exchange(t.Context(), request(dcbnl.TypeGet, 7))
		if err != nil || !slices.Equal(got, c.out) || w.closed != 1 {
			t.Errorf("%s: %d bytes, %v, closed %d times", c.name, len(got), err, w.closed)
		}
	}
}

func TestAnExchangeThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{datagrams: [][]byte{request(dcbnl.TypeGet, 7)}}
		began := time.Now()
		if _, err := exchanger(w).Exchange(t.Context(), request(dcbnl.TypeGet, 7)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		w = &wire{}
		if _, err := exchanger(w).Exchange(ctx, request(dcbnl.TypeGet, 7)); err == nil || time.Since(began) != time.Second+time.Millisecond || w.closed != 1 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		noise := &wire{}
		for i := range 70 {
			noise.datagrams = append(noise.datagrams, refusal(uint32(100+i), 0))
		}
		if _, err := exchanger(noise).Exchange(t.Context(), request(dcbnl.TypeGet, 7)); err == nil || !strings.Contains(err.Error(), "64 answers") {
			t.Error(err)
		}
	})
}

// A query whose answer was lost is repeated. For a change it is an error, because the change may have been made.
func TestAnAnswerLostForLackOfMemory(t *testing.T) {
	t.Parallel()
	w := &wire{datagrams: [][]byte{nil, nil, refusal(7, 0)}}
	if _, err := exchanger(w).Exchange(t.Context(), request(dcbnl.TypeGet, 7)); err != nil || len(w.sent) != 3 {
		t.Errorf("%v after %d requests", err, len(w.sent))
	}
	w = &wire{datagrams: [][]byte{nil, nil, nil, refusal(7, 0)}}
	if _, err := exchanger(w).Exchange(t.Context(), request(dcbnl.TypeGet, 7)); !errors.Is(err, unix.ENOBUFS) || len(w.sent) != 3 {
		t.Errorf("%v after %d requests", err, len(w.sent))
	}
	w = &wire{datagrams: [][]byte{nil, refusal(7, 0)}}
	if _, err := exchanger(w).Exchange(t.Context(), request(dcbnl.TypeSet, 7)); !errors.Is(err, unix.ENOBUFS) || len(w.sent) != 1 {
		t.Errorf("%v after %d requests", err, len(w.sent))
	}
}

func TestExchangesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, make([]byte, 15), make([]byte, dcbnl.MaxMessage+1)} {
		if _, err := exchanger(&wire{}).Exchange(t.Context(), b); err == nil {
			t.Errorf("%d bytes were sent", len(b))
		}
	}
	w := &wire{sendErr: unix.EPERM}
	if _, err := exchanger(w).Exchange(t.Context(), request(dcbnl.TypeGet, 7)); !errors.Is(err, unix.EPERM) || w.closed != 1 {
		t.Error(err)
	}
	n := &Netlink{time.Second, func() (datagrams, error) { return nil, unix.EAFNOSUPPORT }}
	if _, err := n.Exchange(t.Context(), request(dcbnl.TypeGet, 7)); !errors.Is(err, unix.EAFNOSUPPORT) {
		t.Error(err)
	}
}

func FuzzEnded(f *testing.F) {
	f.Add(refusal(7, 0))
	f.Add(append(request(dcbnl.TypeGet, 7), refusal(7, 95)...))
	f.Add([]byte{255, 255, 255, 255, 2, 0})
	f.Fuzz(func(_ *testing.T, b []byte) { ended(b, 7) })
}

// inNamespace is the environment variable of a test that runs in its own namespaces.
const inNamespace = "FAIRLANE_TEST_NAMESPACE"

// alone runs the test again in its own namespaces, as root there, after a script; inside, it returns true.
func alone(t *testing.T, script string) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		return true
	}
	unshare := peertest.Program(t, "unshare")
	if out, err := exec.CommandContext(t.Context(), unshare, "-rmn", "true").CombinedOutput(); err != nil {
		peertest.Missing(t, fmt.Sprintf("users may not make mount and network namespaces here: %v: %s", err, out))
	}
	cmd := exec.CommandContext(t.Context(), unshare, "-rmn", "sh", "-e", "-c", script+"\nexec \"$0\" -test.run=\"^$1\\$\" -test.v -test.timeout=120s", os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), inNamespace+"=1", "PATH="+strings.Join(programDirs[:], ":"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in namespaces: %v\n%s", err, out)
	}
	return false
}

// The real kernel answers: no such device, a device without DCB, and a request that it rejects.
func TestTheKernelAnswers(t *testing.T) {
	t.Parallel()
	peertest.Program(t, "ip")
	if !alone(t, "ip link add v0 type veth peer name v1\nip link set lo up") {
		return
	}
	socket := NewNetlink(DefaultTimeout)
	table := nicparam.New(nicparam.Caps{})
	for netdev, want := range map[string][]unix.Errno{
		"v0":     {unix.EOPNOTSUPP}, // veth has no DCB; a kernel without CONFIG_DCB returns the same
		"ens9f9": {unix.ENODEV, unix.EOPNOTSUPP},
	} {
		w, err := nicfiles.NewDCB(socket, dcbnl.Native(), table, nicfiles.Port{Number: 1, NetDev: netdev})
		if err != nil {
			t.Fatal(err)
		}
		key := nicparam.Key{Port: 1, Name: "trust"}
		r := w.Read(t.Context(), []nicparam.Key{key})[0]
		var refused *dcbnl.KernelError
		if !errors.As(r.Err, &refused) || !slices.Contains(want, unix.Errno(refused.Errno)) {
			t.Errorf("%s: %v", netdev, r.Err)
		}
		if err := w.Write(t.Context(), []nicparam.Setting{{Key: key, Value: 1}})[0]; !errors.As(err, &refused) {
			t.Errorf("%s: %v", netdev, err)
		}
	}
	if rates, err := (&Links{DefaultTimeout}).Rates(t.Context(), "v0"); err != nil || len(rates) != 0 {
		t.Errorf("%v, %v", rates, err)
	}
	if _, err := (&Links{DefaultTimeout}).Rates(t.Context(), "ens9f9"); err == nil {
		t.Error("a missing device has rates")
	}
	if c, err := (&Links{DefaultTimeout}).RDMACounters(t.Context(), "mlx5_0", 1); err == nil {
		t.Errorf("a host without RDMA has counters %v", c)
	}
	if c, err := (&counterSets{DefaultTimeout, openRDMA}).read(t.Context(), "mlx5_0", 1); !errors.Is(err, ErrNotOffered) || len(c) != 0 {
		t.Errorf("a host without RDMA has counter sets %v: %v", c, err)
	}
}

func TestEventsOfTheKernelAreReceived(t *testing.T) {
	t.Parallel()
	ip := peertest.Program(t, "ip")
	if !alone(t, "") {
		return
	}
	w, err := Watch()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), ip, "link", "add", "v0", "type", "veth", "peer", "name", "v1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case <-w.Events():
	case <-time.After(time.Minute):
		t.Error("no event")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// The real root is read with rdmamap, on a host whose /sys is set up by the test.
func TestTheRealRootIsReadWithRDMAMap(t *testing.T) {
	t.Parallel()
	peertest.Program(t, "ip")
	if !alone(t, "mount -t tmpfs tmpfs /sys\nip link add ens1f0np0 type veth peer name v1") {
		return
	}
	m := &machine{t, "/"}
	m.mkdir("sys/class/net/lo")
	m.nic(0)
	const counter = "sys/devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0/ports/1/hw_counters/np_ecn_marked_roce_packets"
	m.file(counter, "N/A")
	h, err := Open(Options{Mstconfig: &program{}, Mstreg: &program{}, Devlink: &program{}, Ethtool: &program{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, real := h.mapper.(rdmaMap); !real {
		t.Fatalf("%T", h.mapper)
	}
	got := nics(t, h)
	if len(got) != 1 || got[0].Ports[0].RDMA != "mlx5_0" || got[0].Ports[0].ID.String() != "0xb8599f0300000001:1" {
		t.Fatalf("%+v", got)
	}
	if d, err := rdmamap.GetRdmaDeviceForNetdevice("ens1f0np0"); err != nil || d != got[0].Ports[0].RDMA {
		t.Errorf("rdmamap lists %q, %v", d, err)
	}
	// rdmamap reports an unreadable counter as 0, which our own reading avoids.
	stats, err := rdmamap.GetRdmaSysfsHwStats("mlx5_0", 1)
	if err != nil || !slices.Contains(stats, rdmamap.RdmaStatEntry{Name: "np_ecn_marked_roce_packets"}) {
		t.Errorf("rdmamap reports %v, %v: its counters may be safe now", stats, err)
	}
	c, err := got[0].Ports[0].Meter.Counters(t.Context())
	if err != nil || c["np_cnp_sent"].Value != 11 || c["np_ecn_marked_roce_packets"].Err == nil {
		t.Errorf("%v, %v", c, err)
	}
	if f := findings(h); !strings.Contains(f["1 dcb"], "operation not supported") {
		t.Errorf("%q", f["1 dcb"])
	}
}
