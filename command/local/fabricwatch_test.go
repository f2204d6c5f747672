package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/command/cmdline"
	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/i18n"
	"fairlane/service/site"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
)

// watched is a watch over a simulated fabric behind a socket, which scans when its test requests it.
type watched struct {
	*faulty
	w          *fabricWatch
	out, words bytes.Buffer
}

func newWatched(t *testing.T, asJSON bool, lang string) *watched {
	t.Helper()
	x := &watched{faulty: newFaultyOf(t, topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Parallel: 2}, simdev.Options{})}
	a := (&app{cmdlinetest.App(t, lang)})
	a.Stdout, a.Stderr = &x.out, &x.words
	var err error
	if x.w, err = a.newWatch(watchFlags{from: "ibsim:" + x.addr, every: time.Second, asJSON: asJSON}, umad.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.w.disconnect)
	return x
}

func (x *watched) scan() {
	x.t.Helper()
	if err := x.w.scan(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

// end returns the printed lines and the error at the end.
func (x *watched) end() ([]string, error) {
	err := x.w.end()
	return strings.Split(strings.TrimSuffix(x.out.String(), "\n"), "\n"), err
}

func TestAWatchReportsEachChangeOnce(t *testing.T) {
	t.Parallel()
	x := newWatched(t, false, i18n.Default)
	host := subnet.PortRef{Node: x.node("host-004"), Port: 1}
	leaf, _ := x.topo.Peer(host)
	var up []subnet.PortRef // of leaf2 to the spine
	for p := range x.topo.Nodes[leaf.Node].Ports {
		ref := subnet.PortRef{Node: leaf.Node, Port: ident.PortNum(p)}
		if peer, ok := x.topo.Peer(ref); ok && x.topo.Nodes[peer.Node].Kind == subnet.KindSwitch {
			up = append(up, ref)
		}
	}
	if len(up) != 2 {
		t.Fatalf("%d cables to the spine: want 2", len(up))
	}
	x.scan()
	x.dev.SetLink(host, false)
	x.scan()
	x.dev.SetLink(host, true)
	x.scan()
	for range 2 {
		x.dev.SetLink(up[0], false)
		x.scan()
		x.scan() // nothing has changed
		x.dev.SetLink(up[0], true)
		x.scan()
	}
	x.dev.SetLink(up[0], false)
	x.dev.SetLink(up[0], true) // between two scans
	x.scan()
	for _, ref := range up { // and everything behind it
		x.dev.SetLink(ref, false)
	}
	x.scan()
	for _, ref := range up {
		x.dev.SetLink(ref, true)
	}
	x.scan()
	local := x.node("host-001")
	info := x.portInfo(local, 1)
	info.MasterSMLID = x.topo.Nodes[x.node("host-002")].Ports[1].LID
	info.State, info.PhysState, info.LinkDownDefaultState = 0, 0, 0
	x.set(local, mad.AttrPortInfo, 1, &info)
	x.scan()
	lines, err := x.end()
	if err != nil {
		t.Error(err)
	}
	var got []string
	for _, l := range lines {
		at, rest, _ := strings.Cut(l, "  ")
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			t.Errorf("%q: %v", l, err)
		}
		if !strings.HasPrefix(rest, "lid-changed") && !strings.HasPrefix(rest, "routes-changed") {
			got = append(got, rest)
		}
	}
	want := []string{
		"node-gone  host-004 is gone", "node-new  host-004 is new",
		"node-gone  leaf2 is gone", "node-gone  host-003 is gone", "node-gone  host-004 is gone",
		"node-new  leaf2 is new", "node-new  host-003 is new", "node-new  host-004 is new",
		"link-down  link LINK is down", "link-up  link LINK is up", "link-down  link LINK is down", "link-up  link LINK is up",
		"sm-handover  host-002/P1 manages the subnet, previously host-001/P1",
	}
	far, _ := x.topo.Peer(up[0])
	for _, ends := range [][2]subnet.PortRef{{up[0], far}, {far, up[0]}} { // in either order
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], x.topo.PortName(ends[0])+" - "+x.topo.PortName(ends[1]), "LINK")
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, part := range []string{"7 nodes: 3 switches, 4 hosts, 8 links", "sweeps in", "node-gone 4, node-new 4"} {
		if !strings.Contains(x.words.String(), part) {
			t.Errorf("words %q: want %q in them", x.words.String(), part)
		}
	}
}

func TestAWatchReportsWhenWarningsBeginAndEnd(t *testing.T) {
	t.Parallel()
	x := newWatched(t, true, i18n.Default)
	x.scan()
	x.dev.SetFaults(simdev.Faults{Nodes: []int32{x.node("leaf2")}, Unanswered: []simdev.Attribute{{Class: mad.ClassSubnDR, Attr: mad.AttrSwitchInfo}}})
	x.scan()
	x.scan()
	x.dev.SetFaults(simdev.Faults{})
	x.scan()
	lines, err := x.end()
	if err != nil {
		t.Error(err)
	}
	began := map[string]int{}
	ended := map[string]int{}
	for _, l := range lines {
		var e watchLine
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		switch e.Kind {
		case watchWarns:
			began[e.Text]++
		case watchCalms:
			ended[e.Text]++
		}
		if (e.Kind == watchWarns || e.Kind == watchCalms) != (e.Warning != "") || e.Time.IsZero() || e.Text == "" {
			t.Errorf("line %s", l)
		}
	}
	if len(began) == 0 || fmt.Sprint(began) != fmt.Sprint(ended) {
		t.Errorf("began %v, ended %v: want the same, and some", began, ended)
	}
	for text, n := range began {
		if n != 1 {
			t.Errorf("%q was printed %d times, want once", text, n)
		}
	}
}

// fragile is a transport that its test can break.
type fragile struct {
	mad.Transport
	mu     sync.Mutex // a sweep has concurrent workers
	broken error
	closed int
}

func (s *fragile) Exchange(ctx context.Context, to mad.Target, p *mad.Packet) (mad.Packet, error) {
	s.mu.Lock()
	err := s.broken
	s.mu.Unlock()
	if err != nil {
		return mad.Packet{}, err
	}
	return s.Transport.Exchange(ctx, to, p)
}

func (s *fragile) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *fragile) breakWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func TestAWatchSurvivesAnUnreachableFabric(t *testing.T) {
	t.Parallel()
	x := newWatched(t, false, i18n.Default)
	local, err := x.dev.Local(subnet.PortRef{Node: x.node("host-001"), Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &fragile{Transport: local}
	dials := 0
	x.w.dial = func(context.Context) (site.Transport, error) { dials++; return s, nil }
	x.scan()
	s.breakWith(errors.New("cut off"))
	x.scan()
	x.scan()
	s.breakWith(nil)
	x.dev.SetLink(subnet.PortRef{Node: x.node("host-004"), Port: 1}, false)
	x.scan()
	s.breakWith(errors.New("cut off again"))
	x.scan()
	lines, err := x.end()
	if err == nil || !strings.Contains(err.Error(), "the fabric does not answer: ") || !strings.Contains(err.Error(), "cut off again") {
		t.Errorf("error %v", err)
	}
	want := []string{watchSilent, watchAnswers, "node-gone", watchSilent}
	for i, l := range lines {
		if i >= len(want) || !strings.Contains(l, "  "+want[i]+"  ") {
			t.Errorf("lines %q: want %q", lines, want)
			break
		}
	}
	if len(lines) != len(want) || dials != 3 || s.closed != 3 {
		t.Errorf("%d lines, %d dialled, %d closed", len(lines), dials, s.closed)
	}
}

// A trap triggers a scan at once; many traps trigger one scan each second.
func TestTrapsTriggerAScan(t *testing.T) {
	t.Parallel()
	sys, dev := umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1, LID: 2, SMLID: 1})
	o := umadMachine(t, twoHostFabric(t), umadtest.Port{CA: "mlx5_0", Port: 1, LID: 2, SMLID: 1})
	o.SysRoot, o.DevRoot = sys, dev
	synctest.Test(t, func(t *testing.T) {
		var file *umadtest.Device
		open := o.OpenDevice
		o := o
		o.OpenDevice = func(path string) (umad.Device, error) {
			d, err := open(path)
			file = d.(*umadtest.Device)
			return d, err
		}
		a := (&app{cmdlinetest.App(t, i18n.Default)})
		var out, words bytes.Buffer
		a.Stdout, a.Stderr = &out, &words
		w, err := a.newWatch(watchFlags{from: "umad:mlx5_0:1", every: time.Hour, traps: true}, o)
		if err != nil {
			t.Fatal(err)
		}
		ticker := time.NewTicker(time.Hour)
		defer ticker.Stop()
		w.ticks = ticker.C
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.scans != 1 {
			t.Fatalf("%d looks before a trap: want 1", w.scans)
		}
		begun := time.Now()
		for range 20 {
			for _, number := range []uint16{mad.TrapLinkStateChange, 257} { // the second number is irrelevant
				trap := mad.NewSMP(mad.MethodTrap, mad.AttrNotice, 0)
				n := mad.Notice{Generic: true, Type: mad.NoticeUrgent, TrapNumber: number, IssuerLID: 1}
				if err := errors.Join((&mad.LinkStateChange{LID: 1}).Encode(n.Details[:]), n.Encode(trap.Data())); err != nil {
					t.Fatal(err)
				}
				if !file.Receive(1, &trap) {
					t.Fatal("no agent takes traps")
				}
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if time.Since(begun) == 100*time.Millisecond && w.scans != 2 {
				t.Errorf("%d looks after the first trap: want 2", w.scans)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.scans != 4 {
			t.Errorf("%d looks after 20 traps in 2 s: want 4, the first sweep and one a second", w.scans)
		}
		scans := w.scans
		time.Sleep(time.Hour)
		synctest.Wait()
		if w.scans != scans+1 {
			t.Errorf("%d looks after an hour without traps: want %d", w.scans, scans+1)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestWatchFlagsAreValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--from", "ibsim:unix:nobody", "--every", "999ms"}, "--every 999ms: want 1s or more"},
		{[]string{"--from", "ibsim:unix:nobody", "--every", "-1s"}, "--every -1s: want 1s or more"},
		{[]string{"--from", "ibsim:unix:nobody", "--count", "-1"}, "--count -1: want 1 or more scans"},
		{[]string{"--from", "ibsim:unix:nobody", "--traps"}, "want umad:CA:PORT"},
		{[]string{"--from", "file:fabric.topo"}, "want a live fabric"},
		{[]string{"--from", "ethernet:inventory.yaml"}, "want a live InfiniBand fabric"},
		{[]string{"--from", "lab"}, "source \"lab\": want "},
		{[]string{"--from", "ibsim:unix:nobody", "--fabric", "lab"}, "--fabric: this command works on the fabric itself"},
	} {
		var out, words bytes.Buffer
		if code := runLocal(t.Context(), append([]string{"fabric", "watch"}, c.args...), &out, &words); code != cmdline.ExitUsage || !strings.Contains(words.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q: want %q", c.args, code, words.String(), c.want)
		}
	}
}

func TestAWatchOfOneScanAndAnInterruptedOne(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, simdev.Options{})
	var out, words bytes.Buffer
	if code := runLocal(t.Context(), []string{"fabric", "watch", "--from", "ibsim:" + f.addr, "--count", "1"}, &out, &words); code != cmdline.ExitDone || out.Len() > 0 || !strings.Contains(words.String(), "1 sweep in") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), words.String())
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	words.Reset()
	if code := runLocal(ctx, []string{"fabric", "watch", "--from", "ibsim:" + f.addr}, &out, &words); code != cmdline.ExitDone || !strings.Contains(words.String(), "0 sweeps in") {
		t.Errorf("exit code %d, %q", code, words.String())
	}
}
