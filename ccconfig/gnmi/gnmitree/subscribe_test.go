package gnmitree_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// listener is a client's end of a subscription.
type listener struct {
	t      *testing.T
	stream gnmi.GNMI_SubscribeClient
	cancel context.CancelFunc
}

func subscribe(t *testing.T, c gnmi.GNMIClient, l *gnmi.SubscriptionList) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// A stream that the server has already ended fails to send with io.EOF; receiving gives its status.
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: l}}); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return &listener{t, s, cancel}
}

// next returns the next message as lines; "sync" is the sync response.
func (l *listener) next() []string {
	l.t.Helper()
	r, err := l.stream.Recv()
	if err != nil {
		return []string{err.Error()}
	}
	if r.GetSyncResponse() {
		return []string{"sync"}
	}
	return text(l.t, r.GetUpdate())
}

func (l *listener) wants(what string, lines ...string) {
	l.t.Helper()
	same(l.t, what, l.next(), lines...)
}

// ends drains the stream and returns its error.
func (l *listener) ends() error {
	l.t.Helper()
	for {
		if _, err := l.stream.Recv(); err != nil {
			return err
		}
	}
}

func to(mode gnmi.SubscriptionMode, at string) *gnmi.Subscription {
	return &gnmi.Subscription{Path: wire(at), Mode: mode}
}

func streaming(subs ...*gnmi.Subscription) *gnmi.SubscriptionList {
	return &gnmi.SubscriptionList{Subscription: subs, Encoding: gnmi.Encoding_PROTO}
}

const (
	macLine   = p1 + `/state/mac = "02:00:00:00:00:01"`
	speedLine = p1 + `/state/speed-mbps = "400000"`
	countAt   = p1 + `/counters/counter[name=np_cnp_sent]/state/value`
)

func TestOnce(t *testing.T) {
	t.Parallel()
	c := single(t, port())
	l := subscribe(t, c, &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_ONCE, Subscription: []*gnmi.Subscription{{Path: wire(p1 + "/state")}, {Path: wire("/nothing")}}, Encoding: gnmi.Encoding_JSON_IETF})
	l.wants("values", macLine, speedLine)
	l.wants("then", "sync")
	if _, err := l.stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	l = subscribe(t, c, &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_ONCE, UpdatesOnly: true, Subscription: []*gnmi.Subscription{{Path: wire("/")}}})
	l.wants("updates only", "sync")
}

func TestValuesOfDifferentAgeComeWithTheirTimes(t *testing.T) {
	t.Parallel()
	m := port()
	m.mu.Lock()
	m.set(gnmitree.Leaf{Path: path(p1 + "/state/mac"), Value: gnmitree.String("old"), Time: time.Unix(7, 0)})
	m.mu.Unlock()
	l := subscribe(t, single(t, m), &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_ONCE, Subscription: []*gnmi.Subscription{{Path: wire(p1 + "/state")}}})
	for _, old := range []bool{true, false} {
		r, err := l.stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if n := r.GetUpdate(); len(n.GetUpdate()) != 1 || (n.GetTimestamp() == 7e9) != old {
			t.Errorf("notification %v, want one value, of 7 s: %v", n, old)
		}
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	m := port()
	l := subscribe(t, single(t, m), &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_POLL, Prefix: wire(p1 + "/state"), Subscription: []*gnmi.Subscription{{Path: wire("mac")}}})
	l.wants("at the beginning", macLine)
	l.wants("then", "sync")
	m.put(p1+"/state/mac", gnmitree.String("new"), gnmitree.ClassState, false)
	for range 2 { // the same again, although it has not changed
		if err := l.stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Poll{Poll: &gnmi.Poll{}}}); err != nil {
			t.Fatal(err)
		}
		l.wants("polled", p1+`/state/mac = "new"`)
		l.wants("then", "sync")
	}
	if err := l.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := l.ends(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestOnChange(t *testing.T) {
	t.Parallel()
	m := port()
	l := subscribe(t, single(t, m), streaming(to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state"), to(gnmi.SubscriptionMode_ON_CHANGE, "/nics/nic/ports/port[number=2]/params")))
	l.wants("first", macLine, speedLine)
	l.wants("second", p2+`/params/param[index=0][name=rpg_ai_rate]/config/value = "5"`, p2+`/params/param[index=0][name=rpg_ai_rate]/state/value = "5"`)
	l.wants("then", "sync")
	m.change(p1+"/state/speed-mbps", gnmitree.Uint(400000)) // the same value is no change
	m.change(p2+"/state/speed-mbps", gnmitree.Uint(1))      // not subscribed to
	m.change(p1+"/state/speed-mbps", gnmitree.Uint(200000))
	l.wants("a change", p1+`/state/speed-mbps = "200000"`)
	m.change(p1+"/state/oper-up", gnmitree.Bool(true))
	l.wants("a new leaf", p1+`/state/oper-up = true`)
	m.drop("/nics/nic[name=a]/ports/port[number=1]")
	l.wants("a deleted container", "- "+p1+"/state/mac", "- "+p1+"/state/oper-up", "- "+p1+"/state/speed-mbps")
	m.put(p2+"/params/param[name=rpg_ai_rate][index=0]/config/value", gnmitree.Uint(9), gnmitree.ClassConfig, false)
	m.Changed() // any leaf may have changed
	l.wants("a notice without paths", p2+`/params/param[index=0][name=rpg_ai_rate]/config/value = "9"`)
	m.put(p2+"/params/param[name=rpg_ai_rate][index=0]/config/value", gnmitree.Uint(8), gnmitree.ClassConfig, false)
	m.Changed(path("/nics/nic/ports")) // a notice of a list, without its keys
	l.wants("a notice of a list", p2+`/params/param[index=0][name=rpg_ai_rate]/config/value = "8"`)
	m.put(p2+"/params/param[name=rpg_ai_rate][index=0]/config/value", gnmitree.Uint(7), gnmitree.ClassConfig, false)
	m.Changed(path("/nics/nic[name=*]/ports/port[number=*]"))
	l.wants("a notice with wildcards", p2+`/params/param[index=0][name=rpg_ai_rate]/config/value = "7"`)
	l.cancel()
	if err := l.ends(); status.Code(err) != codes.Canceled {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestOnChangeOfAMissingPath(t *testing.T) {
	t.Parallel()
	m := port()
	l := subscribe(t, single(t, m), streaming(to(gnmi.SubscriptionMode_ON_CHANGE, "/.../oper-up")))
	l.wants("no node yet", "sync")
	m.change(p2+"/state/oper-up", gnmitree.Bool(true))
	l.wants("the new node", p2+"/state/oper-up = true")
	m.drop(p2 + "/state")
	l.wants("the deleted node", "- "+p2+"/state/oper-up")
}

func TestUpdatesOnly(t *testing.T) {
	t.Parallel()
	m := port()
	list := streaming(to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state"))
	list.UpdatesOnly = true
	l := subscribe(t, single(t, m), list)
	l.wants("no initial values", "sync")
	m.change(p1+"/state/speed-mbps", gnmitree.Uint(1))
	l.wants("a change", p1+`/state/speed-mbps = "1"`)
}

// withVirtualTime runs f with virtual time.
func withVirtualTime(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestSample(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		m := port()
		sub := to(gnmi.SubscriptionMode_SAMPLE, countAt)
		sub.SampleInterval = uint64(10 * time.Second)
		l := subscribe(t, single(t, m), streaming(sub))
		line := countAt + ` = "0"`
		l.wants("at the beginning", line)
		l.wants("then", "sync")
		from := time.Now()
		for i := range 3 {
			l.wants("a sample", line)
			if got, want := time.Since(from), time.Duration(i+1)*10*time.Second; got != want {
				t.Errorf("sample %d comes after %s, want %s", i, got, want)
			}
		}
		m.put(countAt, gnmitree.Uint(7), gnmitree.ClassOperational, true)
		l.wants("a leaf that changed between samples", countAt+` = "7"`)
		m.drop(countAt)
		l.wants("a deleted leaf", "- "+countAt)
	})
}

func TestSamplesWithoutRedundantFields(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		m := port()
		sub := to(gnmi.SubscriptionMode_SAMPLE, countAt)
		sub.SampleInterval, sub.SuppressRedundant, sub.HeartbeatInterval = uint64(time.Second), true, uint64(10*time.Second)
		l := subscribe(t, single(t, m), streaming(sub))
		l.wants("at the beginning", countAt+` = "0"`)
		l.wants("then", "sync")
		from := time.Now()
		l.wants("a heartbeat", countAt+` = "0"`)
		if got := time.Since(from); got != 10*time.Second {
			t.Errorf("the heartbeat comes after %s", got)
		}
		time.Sleep(time.Millisecond)
		m.put(countAt, gnmitree.Uint(1), gnmitree.ClassOperational, true)
		l.wants("a change", countAt+` = "1"`)
		if got := time.Since(from); got != 11*time.Second {
			t.Errorf("the change comes after %s", got)
		}
	})
}

func TestHeartbeatOnChange(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		sub := to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state")
		sub.HeartbeatInterval = uint64(20 * time.Second)
		l := subscribe(t, single(t, port()), streaming(sub))
		l.wants("at the beginning", macLine, speedLine)
		l.wants("then", "sync")
		from := time.Now()
		for range 2 {
			l.wants("a heartbeat", macLine, speedLine)
		}
		if got := time.Since(from); got != 40*time.Second {
			t.Errorf("two heartbeats take %s", got)
		}
	})
}

func TestTargetDefined(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		m := port()
		m.info.SampleInterval = 30 * time.Second
		l := subscribe(t, single(t, m), streaming(to(gnmi.SubscriptionMode_TARGET_DEFINED, p1)))
		if got := l.next(); len(got) != 5 {
			t.Errorf("at the beginning: %v", got)
		}
		l.wants("then", "sync")
		from := time.Now()
		m.change(p1+"/state/mac", gnmitree.String("new"))
		l.wants("an announced change is sent at once", p1+`/state/mac = "new"`)
		if got := time.Since(from); got != 0 {
			t.Errorf("after %s", got)
		}
		m.put(countAt, gnmitree.Uint(3), gnmitree.ClassOperational, true)
		m.Changed(path(p1))
		l.wants("an unannounced change is sent as a sample", countAt+` = "3"`)
		if got := time.Since(from); got != 30*time.Second {
			t.Errorf("after %s", got)
		}
	})
}

func TestSlowClientReceivesNewestValues(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		m := port()
		m.put("/big", gnmitree.String(string(make([]byte, 256<<10))), gnmitree.ClassState, false)
		l := subscribe(t, single(t, m), streaming(to(gnmi.SubscriptionMode_ON_CHANGE, "/big"), to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state/speed-mbps")))
		synctest.Wait() // the initial value fills the window, so the stream cannot send
		for n := range uint64(1000) {
			m.change(p1+"/state/speed-mbps", gnmitree.Uint(n))
		}
		if got := l.next(); len(got) != 1 {
			t.Errorf("first: %d lines", len(got))
		}
		var values []string
		var merged uint32
		for len(values) == 0 || values[len(values)-1] != p1+`/state/speed-mbps = "999"` {
			r, err := l.stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text(t, r.GetUpdate())...)
			for _, u := range r.GetUpdate().GetUpdate() {
				merged += u.GetDuplicates()
			}
		}
		if len(values) > 3 || merged != 999 {
			t.Errorf("1000 changes were sent as %q with %d merged, want few messages, and 999 merged", values, merged)
		}
	})
}

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		m := port()
		m.put("/big", gnmitree.String(string(make([]byte, 256<<10))), gnmitree.ClassState, false)
		c, s := serve(t, gnmitree.Options{Targets: gnmitree.Single(m), Limits: gnmitree.Limits{SendTimeout: 30 * time.Second}})
		l := subscribe(t, c, streaming(to(gnmi.SubscriptionMode_ON_CHANGE, "/big")))
		time.Sleep(29 * time.Second)
		if got := s.Streams(); got != 1 {
			t.Fatalf("%d streams after 29 s, want 1", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.Streams(); got != 0 {
			t.Errorf("%d streams after 31 s, want none", got)
		}
		refused(t, "the stream", l.ends(), codes.ResourceExhausted, "read nothing for 30s")
	})
}

func TestInactiveClientIsDisconnected(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		c, s := serve(t, gnmitree.Options{Targets: gnmitree.Single(port()), Limits: gnmitree.Limits{SendTimeout: 30 * time.Second}})
		g, err := c.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		if got := s.Streams(); got != 1 {
			t.Fatalf("%d streams after 29 s, want 1", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.Streams(); got != 0 {
			t.Errorf("%d streams after 31 s, want none", got)
		}
		_, err = g.Recv()
		refused(t, "the stream", err, codes.DeadlineExceeded, "no subscription list within 30s")
	})
}

func TestConcurrentChangesAreReadTogether(t *testing.T) {
	t.Parallel()
	withVirtualTime(t, func(t *testing.T) {
		m := port()
		for n := range 1000 {
			m.put("/many/leaf[n="+gnmitree.Uint32(uint32(n)).String()+"]/v", gnmitree.Uint(0), gnmitree.ClassState, false)
		}
		l := subscribe(t, single(t, m), streaming(to(gnmi.SubscriptionMode_ON_CHANGE, "/many")))
		got := len(l.next()) + len(l.next())
		l.wants("then", "sync")
		if got != 1000 {
			t.Errorf("%d leaves in two messages, want 1000", got)
		}
		before := m.gets
		var paths []gnmitree.Path
		for n := range 1000 {
			at := "/many/leaf[n=" + gnmitree.Uint32(uint32(n)).String() + "]/v"
			m.put(at, gnmitree.Uint(1), gnmitree.ClassState, false)
			paths = append(paths, path(at))
		}
		m.Changed(paths...)
		if got := len(l.next()) + len(l.next()); got != 1000 {
			t.Errorf("%d changes in two messages, want 1000", got)
		}
		synctest.Wait()
		if m.gets > before+1 {
			t.Errorf("the tree was read %d times for one notice", m.gets-before)
		}
	})
}

func TestSubscribeRefuses(t *testing.T) {
	t.Parallel()
	m := port()
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(m, "a"), Limits: gnmitree.Limits{Paths: 2, StreamLeaves: 3}})
	fast, beat := to(gnmi.SubscriptionMode_SAMPLE, "/nics"), to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state")
	fast.SampleInterval, beat.HeartbeatInterval = uint64(999*time.Millisecond), 5
	for _, tc := range []struct {
		name  string
		list  *gnmi.SubscriptionList
		code  codes.Code
		words []string
	}{
		{"an empty list", &gnmi.SubscriptionList{}, codes.InvalidArgument, []string{"0 subscriptions, want 1 to 2"}},
		{"a long list", streaming(beat, beat, beat), codes.InvalidArgument, []string{"3 subscriptions"}},
		{"an invalid mode", &gnmi.SubscriptionList{Mode: 7, Subscription: []*gnmi.Subscription{beat}}, codes.InvalidArgument, []string{"7"}},
		{"an invalid mode of a subscription", streaming(to(9, "/nics")), codes.InvalidArgument, []string{"9", "TARGET_DEFINED"}},
		{"another target", &gnmi.SubscriptionList{Prefix: &gnmi.Path{Target: "z"}, Subscription: []*gnmi.Subscription{beat}}, codes.NotFound, []string{`"z"`}},
		{"ASCII", &gnmi.SubscriptionList{Encoding: gnmi.Encoding_ASCII, Subscription: []*gnmi.Subscription{beat}}, codes.Unimplemented, []string{"ASCII"}},
		{"samples too often", streaming(fast), codes.InvalidArgument, []string{"/nics", "sample_interval is 999000000 ns, want 1000000000 (1s)"}},
		{"heartbeats too often", streaming(beat), codes.InvalidArgument, []string{"heartbeat_interval is 5 ns"}},
		{"counters on change", streaming(to(gnmi.SubscriptionMode_ON_CHANGE, countAt)), codes.InvalidArgument, []string{countAt, "SAMPLE or TARGET_DEFINED"}},
		{"too many leaves", streaming(to(gnmi.SubscriptionMode_SAMPLE, p1)), codes.ResourceExhausted, []string{"more than 3 leaves"}},
	} {
		refused(t, tc.name, subscribe(t, c, tc.list).ends(), tc.code, tc.words...)
	}
	l := subscribe(t, c, streaming(to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state")))
	if err := l.stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Poll{Poll: &gnmi.Poll{}}}); err != nil {
		t.Fatal(err)
	}
	refused(t, "a poll of a stream", l.ends(), codes.InvalidArgument, "one message")
	l = subscribe(t, c, &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_POLL, Subscription: []*gnmi.Subscription{{Path: wire("/none")}}})
	if err := l.stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{}}); err != nil {
		t.Fatal(err)
	}
	refused(t, "no poll", l.ends(), codes.InvalidArgument, "not a poll")
	s, err := c.Subscribe(short(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Poll{Poll: &gnmi.Poll{}}}); err != nil {
		t.Fatal(err)
	}
	refused(t, "a poll before the list", (&listener{t: t, stream: s}).ends(), codes.InvalidArgument, "not a subscription list")
	if s, err = c.Subscribe(short(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	refused(t, "no message", (&listener{t: t, stream: s}).ends(), codes.InvalidArgument, "ended without")
}

func TestAHalfClosedStreamContinues(t *testing.T) {
	t.Parallel()
	m := port()
	l := subscribe(t, single(t, m), streaming(to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state/mac")))
	if err := l.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	l.wants("first", macLine)
	l.wants("then", "sync")
	m.change(p1+"/state/mac", gnmitree.String("new"))
	l.wants("a change", p1+`/state/mac = "new"`)
}

func TestStreamsEndWithTheirTreeAndTheirServer(t *testing.T) {
	t.Parallel()
	m := port()
	c, s := serve(t, gnmitree.Options{Targets: gnmitree.Single(m), Limits: gnmitree.Limits{Streams: 2}})
	list := streaming(to(gnmi.SubscriptionMode_ON_CHANGE, p1+"/state/mac"))
	one, two := subscribe(t, c, list), subscribe(t, c, list)
	for _, l := range []*listener{one, two} {
		l.wants("first", macLine)
		l.wants("then", "sync")
	}
	refused(t, "a third", subscribe(t, c, list).ends(), codes.ResourceExhausted, "2 subscriptions are open")
	m.broken(gnmitree.Errorf(codes.Unavailable, "the device has gone"))
	refused(t, "a removed device", one.ends(), codes.Unavailable, "has gone")
	refused(t, "a removed device", two.ends(), codes.Unavailable, "has gone")
	m.fail = nil
	three := subscribe(t, c, list)
	three.wants("first", macLine)
	silent, err := c.Subscribe(short(t)) // sends nothing
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	refused(t, "a server that ends", three.ends(), codes.Unavailable, "shutting down")
	refused(t, "a stream without a first message", (&listener{t: t, stream: silent}).ends(), codes.Unavailable, "shutting down")
	refused(t, "a new stream", subscribe(t, c, list).ends(), codes.Unavailable, "shutting down")
	if got := reads(t, c, p1+"/state/mac"); got != `"02:00:00:00:00:01"` {
		t.Errorf("other requests get %s", got)
	}
}
