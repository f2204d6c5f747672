package nicfiles

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
)

var little = dcbnl.Codec{Order: binary.LittleEndian}

// kernel answers DCB netlink from the state of one port.
type kernel struct {
	ieee   dcbnl.IEEE
	refuse string // object at which a set fails: "PFC" or "APP"; earlier objects have been applied
	sets   int    // requests to set or delete
	errno  int32  // of every request when not 0
	answer []byte // instead of an answer
	keep   func(*dcbnl.IEEE)
	gets   int  // requests to get
	lose   int  // number of the get request that is lost
	single bool // a new entry by DSCP replaces the old one, and only existing entries can be deleted (mlx5 driver)
	stale  bool
}

func newKernel() *kernel {
	return &kernel{ieee: dcbnl.IEEE{
		ETS: &dcbnl.ETS{Cap: 8, TxBW: [8]uint8{50, 50}, TSA: [8]uint8{2, 2}}, PFC: &dcbnl.PFC{Cap: 8, Requests: [8]uint64{3}},
		Apps: []dcbnl.App{{Selector: 1, Priority: 3, Protocol: 0x8915}}, MaxRate: &[8]uint64{}, Buffer: &dcbnl.Buffer{Size: [8]uint32{1000}, Total: 9000},
	}}
}

func (k *kernel) Exchange(ctx context.Context, request []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k.answer != nil {
		return k.answer, nil
	}
	m, err := little.Decode(request)
	if err != nil {
		return nil, err
	}
	if k.errno != 0 {
		return refusal(m.Sequence, k.errno), nil
	}
	reply := dcbnl.Message{Type: m.Type, Sequence: m.Sequence, Command: m.Command, Interface: m.Interface}
	status := uint8(0)
	switch m.Command {
	case dcbnl.CommandIEEEGet:
		if k.gets++; k.gets == k.lose {
			return nil, errIO
		}
		k.ieee.PFC.Requests[0]++ // counters increase
		reply.IEEE = &k.ieee
	case dcbnl.CommandIEEESet:
		k.sets++
		reply.Status = &status
		if !k.set(m.IEEE) {
			status = 0xea // -22
		}
	case dcbnl.CommandIEEEDel:
		k.sets++
		reply.Status = &status
		if k.single && !slices.Contains(k.ieee.Apps, m.IEEE.Apps[0]) {
			status = 0xfe // -2
		}
		k.ieee.Apps = slices.DeleteFunc(k.ieee.Apps, func(a dcbnl.App) bool { return slices.Contains(m.IEEE.Apps, a) })
	}
	b, err := little.Encode(&reply)
	if err != nil {
		return nil, err
	}
	if k.stale { // late replies to earlier requests
		old, err := little.Encode(&dcbnl.Message{Type: dcbnl.TypeGet, Sequence: m.Sequence + 100, Command: m.Command, Interface: "other"})
		if err != nil {
			return nil, err
		}
		b = slices.Concat(refusal(m.Sequence+101, 16), old, b)
	}
	ack, err := little.Encode(&dcbnl.Message{Type: dcbnl.TypeError, Sequence: m.Sequence, Ack: true})
	return append(b, ack...), err
}

// refusal returns the kernel's message about a failed request.
func refusal(sequence uint32, errno int32) []byte {
	b := make([]byte, 36)
	binary.LittleEndian.PutUint32(b, 36)
	binary.LittleEndian.PutUint16(b[4:], dcbnl.TypeError)
	binary.LittleEndian.PutUint32(b[8:], sequence)
	binary.LittleEndian.PutUint32(b[16:], uint32(-errno))
	return b
}

// set applies objects in the kernel's order until the one that it rejects.
func (k *kernel) set(o *dcbnl.IEEE) bool {
	if o.ETS != nil {
		k.ieee.ETS = o.ETS
	}
	if o.MaxRate != nil {
		k.ieee.MaxRate = o.MaxRate
	}
	if o.Buffer != nil {
		k.ieee.Buffer = o.Buffer
	}
	if o.PFC != nil {
		if k.refuse == "PFC" && o.PFC.Enabled != 0 {
			return false
		}
		k.ieee.PFC = o.PFC
	}
	if len(o.Apps) > 0 {
		if k.refuse == "APP" {
			return false
		}
		if k.single {
			k.ieee.Apps = slices.DeleteFunc(k.ieee.Apps, func(a dcbnl.App) bool {
				return slices.ContainsFunc(o.Apps, func(b dcbnl.App) bool { return a.Selector == b.Selector && a.Protocol == b.Protocol })
			})
		}
		k.ieee.Apps = append(k.ieee.Apps, o.Apps...)
	}
	if k.keep != nil {
		k.keep(&k.ieee)
	}
	return true
}

// state returns the part of the port's state that requests can set.
func (k *kernel) state() dcbnl.IEEE {
	out := k.ieee
	p := *out.PFC
	p.Requests = [8]uint64{}
	out.PFC, out.Apps = &p, slices.Clone(out.Apps)
	return out
}

func dcbDevice(t testing.TB, k *kernel) *Device {
	t.Helper()
	w, err := NewDCB(k, little, newTable(), portOf(1))
	if err != nil {
		t.Fatal(err)
	}
	return NewDevice(newTable(), w)
}

func index(name string, i int, v uint64) nicparam.Setting {
	return nicparam.Setting{Key: nicparam.Key{Port: 1, Name: name, Index: i}, Value: v}
}

func TestDCBSetsClassesPauseAndTrustTogether(t *testing.T) {
	t.Parallel()
	k := newKernel()
	set := []nicparam.Setting{index("tc_bw", 0, 70), index("tc_bw", 1, 30), index("pfc", 3, 1), index("trust", 0, nicparam.TrustDSCP), index("dscp2prio", 26, 3), index("dscp2prio", 48, 6)}
	r, err := dcbDevice(t, k).Set(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(outcomes(r), "verified") != len(set) || k.sets != 1 {
		t.Errorf("%s by %d requests", outcomes(r), k.sets)
	}
	if k.ieee.ETS.TxBW != [8]uint8{70, 30} || k.ieee.PFC.Enabled != 8 || len(k.ieee.Apps) != 3 {
		t.Errorf("%+v", k.ieee)
	}
	moved, err := dcbDevice(t, k).Set(t.Context(), []nicparam.Setting{index("dscp2prio", 26, 4)})
	if err != nil || k.sets != 3 || len(k.ieee.Apps) != 3 {
		t.Errorf("%+v, %d requests, entries %v, error %v", moved, k.sets, k.ieee.Apps, err)
	}
}

func TestReplacedDSCPEntryIsNotDeletedAgain(t *testing.T) {
	t.Parallel()
	k := newKernel()
	k.single = true
	k.ieee.Apps = append(k.ieee.Apps, dcbnl.App{Selector: dcbnl.SelectorDSCP, Priority: 3, Protocol: 26}, dcbnl.App{Selector: dcbnl.SelectorDSCP, Priority: 6, Protocol: 48})
	before := k.state()
	if _, err := dcbDevice(t, k).Set(t.Context(), []nicparam.Setting{index("dscp2prio", 26, 4)}); err != nil || k.sets != 1 {
		t.Fatalf("%d requests, error %v", k.sets, err)
	}
	if got := k.ieee.Settings(1)[1]; got != index("dscp2prio", 26, 4) || len(k.ieee.Apps) != 3 {
		t.Errorf("%+v, entries %v", got, k.ieee.Apps)
	}
	refuse := []nicparam.Setting{index("dscp2prio", 26, 3), index("buffer_size", 0, 2000)}
	k.keep = func(o *dcbnl.IEEE) { o.Buffer = &dcbnl.Buffer{Size: [8]uint32{1000}, Total: 9000} }
	if _, err := dcbDevice(t, k).Set(t.Context(), refuse); !errors.Is(err, ErrNotKept) || errors.Is(err, ErrNotRestored) {
		t.Fatalf("error %v", err)
	}
	k.keep = nil
	if _, err := dcbDevice(t, k).Set(t.Context(), refuse[:1]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Settings(1), k.ieee.Settings(1)); diff != "" {
		t.Error(diff)
	}
}

func TestFailedDCBSetRestoresThePort(t *testing.T) {
	t.Parallel()
	set := []nicparam.Setting{index("tc_bw", 0, 70), index("tc_bw", 1, 30), index("buffer_size", 0, 2000), index("pfc", 3, 1), index("trust", 0, nicparam.TrustDSCP), index("dscp2prio", 26, 3)}
	for _, c := range []struct {
		title  string
		change func(*kernel)
		set    []nicparam.Setting
		is     error
		text   string
	}{
		{"pause refused after classes and buffers were accepted", func(k *kernel) { k.refuse = "PFC" }, set, ErrRefused, "error number 22"},
		{"entries refused after everything else was accepted", func(k *kernel) { k.refuse = "APP" }, set, ErrRefused, "error number 22"},
		{"the driver rounds a buffer", func(k *kernel) {
			k.ieee.Buffer.Size[0] = 4096
			k.keep = func(o *dcbnl.IEEE) { o.Buffer = &dcbnl.Buffer{Size: [8]uint32{o.Buffer.Size[0] &^ 1023}, Total: 9000} }
		}, set, ErrNotKept, "port 1 buffer_size: want 2000, read back 1024"},
		{"no DCB", func(k *kernel) { k.errno = 95 }, set, ErrUnreadable, "error number 95"},
		{"garbage", func(k *kernel) { k.answer = []byte{1, 2, 3} }, set, ErrUnreadable, "at least 16"},
		{"silence", func(k *kernel) { k.answer = []byte{} }, set, ErrUnreadable, "0 messages"},
		{"trust that is not in the set", func(*kernel) {}, []nicparam.Setting{index("dscp2prio", 26, 3)}, nil, "dscp in the set"},
		{"shares of 101", func(*kernel) {}, []nicparam.Setting{index("tc_bw", 0, 51)}, nil, "101 percent"},
	} {
		k := newKernel()
		c.change(k)
		before := k.state()
		_, err := dcbDevice(t, k).Set(t.Context(), c.set)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v", c.title, err)
		}
		if d := cmp.Diff(before, k.state()); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
	}
}

func TestDCBRestoreFailureNamesThePort(t *testing.T) {
	t.Parallel()
	k := newKernel()
	k.keep = func(*dcbnl.IEEE) { k.errno = 5 } // fails after the first set
	_, err := dcbDevice(t, k).Set(t.Context(), []nicparam.Setting{index("pfc", 3, 1)})
	if !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), "port 1 pfc[3]: was 0") {
		t.Errorf("error %v", err)
	}
}

// When the restore fails nothing else is tried, because writing values does not restore entries. The error names
// every field, even one with its earlier value, because the rest of the port's state is unknown.
func TestFailedSnapshotRestoreIsReportedForEveryField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		set   []nicparam.Setting
		lose  int // number of the lost get; the order is read, snapshot, write, read back if the write was accepted, restore
	}{
		{"nothing was done", []nicparam.Setting{index("pfc", 3, 1)}, 4},
		{"all was done", []nicparam.Setting{index("buffer_size", 0, 2000), index("trust", 0, nicparam.TrustDSCP), index("dscp2prio", 26, 3)}, 5},
	} {
		k := newKernel()
		k.refuse, k.lose = "PFC", c.lose
		k.keep = func(o *dcbnl.IEEE) { o.Buffer.Size[0] = 1024 }
		r, err := dcbDevice(t, k).Set(t.Context(), c.set)
		if !errors.Is(err, ErrNotRestored) || !errors.Is(err, errIO) || k.sets != 1 || k.gets < c.lose {
			t.Errorf("%s: %d requests, error %v", c.title, k.sets, err)
			continue
		}
		for _, f := range r.Fields {
			if f.NotRestored == nil {
				t.Errorf("%s: %s is not named", c.title, f.Key)
			}
		}
	}
}

func TestDCBReadsPortState(t *testing.T) {
	t.Parallel()
	k := newKernel()
	k.ieee.Buffer, k.stale = nil, true
	keys := []nicparam.Key{{Port: 1, Name: "tc_bw", Index: 1}, {Port: 1, Name: "dscp2prio", Index: 7}, {Port: 1, Name: "buffer_size"}, {Port: 2, Name: "trust"}}
	r := dcbDevice(t, k).Read(t.Context(), keys)
	if r[0].Value != 50 || r[0].Err != nil || r[1].Value != 0 || r[1].Err != nil || !errors.Is(r[2].Err, ErrAbsent) || !errors.Is(r[3].Err, ErrAbsent) {
		t.Errorf("%+v", r)
	}
	if _, err := NewDCB(k, little, newTable(), Port{Number: 1, NetDev: "a/b"}); err == nil {
		t.Error("network device a/b")
	}
}
