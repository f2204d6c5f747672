package agent_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

func sweep(t testing.TB, a *agent.Agent) {
	t.Helper()
	if err := a.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func reapply(t testing.TB, a *agent.Agent, nic, name string) string {
	t.Helper()
	return leaf(t, a, nicyang.NIC(nic).Child("reapply").Child("state").Child(name))
}

// heard collects the paths of an agent's notifications.
func heard(t testing.TB, a *agent.Agent) func() string {
	t.Helper()
	var all []string
	stop := a.Watch(func(c gnmitree.Change) {
		for _, p := range c.Paths {
			all = append(all, p.String())
		}
	})
	t.Cleanup(stop)
	return func() string {
		out := strings.Join(all, " ")
		all = nil
		return out
	}
}

func TestLostValuesAreSetAgain(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]func(*rig){
		"driver reload": func(r *rig) { r.life = "life-2" },
		"reboot":        func(r *rig) { r.boot = "boot-2" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.agent(t)
			mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(2, "rpg_gd"), 10), sender("astro/bulk", 4))
			wanted := r.everything()
			updates := heard(t, a)
			r.do(func() {
				r.defaults()
				r.senders.Senders = nil
				event(r)
			})
			sweep(t, a)
			if d := cmp.Diff(wanted, r.everything()); d != "" {
				t.Error(d)
			}
			if reapply(t, a, "eth-a", "count") != "1" || reapply(t, a, "eth-a", "attempts") != "0" || state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome") != "verified" {
				t.Error(ask(t, a, nicyang.NIC("eth-a").Child("reapply")))
			}
			if all := updates(); !strings.Contains(all, "name=eth-a]/reapply") || !strings.Contains(all, nicyang.Param("eth-a", key(1, "rpg_ai_rate")).String()) {
				t.Error(all)
			}
			writes := len(r.writes)
			sweep(t, a)
			if len(r.writes) != writes {
				t.Error("set again twice")
			}
		})
	}
}

func TestAnAgentThatStartsAfterARebootSetsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mustSet(t, r.agent(t), give("eth-a", key(1, "rpg_ai_rate"), 20))
	r.do(func() { r.defaults(); r.boot = "boot-2" })
	r.agent(t)
	if r.file("rp_ai_rate") != "20" {
		t.Error(r.file("rp_ai_rate"))
	}
}

func TestSettingAgainPausesLongerAndLongerWhileItFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	tries := 0
	r.do(func() {
		r.defaults()
		r.life = "life-2"
		r.onWrite[debugfsA+"rp_ai_rate"] = func(string) (string, error) {
			tries++
			return "", errors.New("firmware is busy")
		}
	})
	var at []int // seconds after the reload
	for second := range 100 {
		before := tries
		sweep(t, a)
		if tries > before {
			at = append(at, second)
		}
		r.do(func() { r.now = r.now.Add(time.Second) })
	}
	if d := cmp.Diff([]int{0, 1, 3, 7, 15, 31, 63}, at); d != "" {
		t.Error(d)
	}
	if p := reapply(t, a, "eth-a", "problem"); !strings.Contains(p, "firmware is busy") || reapply(t, a, "eth-a", "next") == "absent" {
		t.Error(p)
	}
	if o := state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome"); o != "refused" {
		t.Error(o)
	}
	r.do(func() {
		delete(r.onWrite, debugfsA+"rp_ai_rate")
		r.now = r.now.Add(time.Minute)
	})
	sweep(t, a)
	if r.file("rp_ai_rate") != "20" || reapply(t, a, "eth-a", "next") != "absent" || reapply(t, a, "eth-a", "problem") != "absent" {
		t.Error(ask(t, a, nicyang.NIC("eth-a").Child("reapply")))
	}
}

func TestMissingParameterDoesNotBlockSettingOthersAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rtt_resp_dscp"), 8))
	r.do(func() {
		r.defaults()
		delete(r.files, debugfsA+"rtt_resp_dscp")
		delete(r.files, debugfsA+"rtt_resp_dscp_valid")
		r.life = "life-2"
	})
	sweep(t, a)
	if r.file("rp_ai_rate") != "20" || !strings.Contains(reapply(t, a, "eth-a", "problem"), "rtt_resp_dscp: not offered") {
		t.Error(r.file("rp_ai_rate"), reapply(t, a, "eth-a", "problem"))
	}
}

func TestChangesOfOthersAreReportedAndKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	before := leaf(t, a, nicyang.AgentState().Child("config-generation"))
	updates := heard(t, a)
	r.do(func() { r.files[debugfsA+"rp_ai_rate"], r.files[debugfsA+"rp_gd"] = "33", "10" })
	sweep(t, a)
	if r.file("rp_ai_rate") != "33" {
		t.Error("the agent overwrote a change of another program")
	}
	if o, p := state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome"), state(t, a, "eth-a", key(1, "rpg_ai_rate"), "problem"); o != "overridden" || p != "was set to 20, is 33: another program changed it; set it again or delete it" {
		t.Error(o, p)
	}
	if all := updates(); !strings.Contains(all, nicyang.Param("eth-a", key(1, "rpg_ai_rate")).String()) || !strings.Contains(all, nicyang.Param("eth-a", key(1, "rpg_gd")).String()) {
		t.Error(all)
	}
	if leaf(t, a, nicyang.AgentState().Child("config-generation")) == before {
		t.Error("the generation stays")
	}
	r.do(func() { r.files[debugfsA+"rp_ai_rate"] = "20" })
	sweep(t, a)
	if o := state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome"); o != "verified" {
		t.Error(o)
	}
	r.do(func() { r.files[debugfsA+"rp_ai_rate"] = "34" }) // an answer detects it too
	if v := leaf(t, a, nicyang.ParamValue("eth-a", key(1, "rpg_ai_rate"))); v != "34" || state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome") != "overridden" {
		t.Error(v)
	}
}

func TestCardsComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-b", key(1, "rpg_gd"), 10))
	updates := heard(t, a)
	r.do(func() { r.gone["eth-b"] = true })
	sweep(t, a)
	if found := ask(t, a, nicyang.NIC("eth-b")); len(found) != 0 || !strings.Contains(updates(), "eth-b") {
		t.Error(found)
	}
	r.do(func() { delete(r.gone, "eth-b"); r.defaults(); r.boot = "boot-2" })
	sweep(t, a)
	if r.files["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd"] != "10" {
		t.Error("a card that returned did not get its values")
	}
}

func TestSweepsAskTheCardForItsNonVolatileConfigurationRarely(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t, func(o *agent.Options) { o.FreshNV = time.Minute })
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	first := r.queries
	for range 50 {
		r.do(func() { r.now = r.now.Add(time.Second) })
		sweep(t, a)
		ask(t, a, gnmitree.Path{})
	}
	if r.queries != first {
		t.Errorf("%d queries in 50 s, want none", r.queries-first)
	}
	r.do(func() { r.now = r.now.Add(11 * time.Second); r.nv["ROCE_CC_ALGORITHM_P1"] = [3]uint64{0, 0, 1} })
	sweep(t, a)
	if r.queries != first+1 || state(t, a, "eth-a", key(1, "roce_cc_algorithm"), "next-value") != "1" {
		t.Errorf("%d queries after a minute, want one", r.queries-first)
	}
	r.do(func() { r.files[debugfsA+"rp_gd"] = "10" }) // run-time parameters are read nevertheless
	sweep(t, a)
	if leaf(t, a, nicyang.ParamValue("eth-a", key(1, "rpg_gd"))) != "10" {
		t.Error("a change was not seen")
	}
	r.do(func() { delete(r.files, debugfsA+"rp_gd") })
	sweep(t, a)
	sweep(t, a)
	if got := ask(t, a, nicyang.Param("eth-a", key(1, "rpg_gd"))); len(got) != 0 {
		t.Error(got)
	}
	r.do(func() { r.files[debugfsA+"rp_gd"] = "11"; r.life = "life-2" })
	sweep(t, a)
	if leaf(t, a, nicyang.ParamValue("eth-a", key(1, "rpg_gd"))) != "11" {
		t.Error("a parameter that appeared at a reload was not found")
	}
}

// TestKilledAtAnyInstant kills the agent at each operation of a transaction, and expects the earlier or the desired
// values once another agent has started.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	ops := []gnmitree.Operation{
		give("eth-a", key(1, "rpg_ai_rate"), 30), give("eth-a", key(1, "cnp_802p_prio"), 5), give("eth-a", key(2, "rpg_gd"), 10),
		give("eth-a", key(1, "roce_cc_algorithm"), 1), sender("astro/bulk", 4), give("eth-b", key(1, "rpg_hai_rate"), 100),
	}
	for _, reboots := range []bool{false, true} {
		ended := 0
		for die := 1; ; die++ {
			r := newRig(t)
			r.files[debugfsA+"np_cnp_prio_mode"] = "1"
			a := r.agent(t)
			mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-b", key(1, "rpg_gd"), 10))
			before := r.everything()
			r.do(func() { r.dieAt = r.ops + die })
			_, err := a.Set(t.Context(), ops)
			died := r.dead()
			r.do(func() {
				r.dieAt = 0
				if reboots {
					r.defaults()
					r.files[debugfsA+"np_cnp_prio_mode"] = "1"
					r.boot = "boot-2"
				}
			})
			r.agent(t)
			after := r.everything()
			wanted := cmp.Diff(before, after) != ""
			if wanted {
				want := map[string]string{debugfsA + "rp_ai_rate": "30", debugfsA + "np_cnp_prio": "5", debugfsA + "np_cnp_prio_mode": "0", "sys/class/net/ens1f1/ecn/roce_rp/rpg_gd": "10", "ROCE_CC_ALGORITHM_P1": "1",
					"sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_hai_rate": "100", "senders": after["senders"]}
				for k, v := range before {
					if want[k] == "" {
						want[k] = v
					}
				}
				if d := cmp.Diff(want, after); d != "" || !strings.Contains(after["senders"], "astro/bulk") {
					t.Errorf("reboots %t, killed at %d, neither as before nor as wanted:\n%s", reboots, die, d)
				}
			} else if died && err == nil {
				t.Errorf("reboots %t, killed at %d: the answered set is lost", reboots, die)
			}
			if !died {
				break
			}
			ended = die
		}
		if ended < 8 {
			t.Errorf("%d instants were tried, want more", ended)
		}
	}
}

func TestInterruptedTransactionIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	r.do(func() { r.dieAt = r.ops + 3 })
	if _, err := a.Set(t.Context(), []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 30), give("eth-a", key(1, "rpg_gd"), 10)}); err == nil {
		t.Fatal("the set was answered")
	}
	r.do(func() { r.dieAt = 0 })
	a = r.agent(t)
	if applied(t, a, "outcome") != "interrupted" || r.file("rp_ai_rate") != "5" {
		t.Error(ask(t, a, nicyang.ApplyState()))
	}
}

func TestFailedJournalWriteStopsOrUndoesTheSet(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ { // the first and the second write of the journal
		r := newRig(t)
		j := &failing{Journal: r}
		a := r.agent(t, func(o *agent.Options) { o.Journal = j })
		before := r.everything()
		j.at = j.n + n
		refuses(t, a, codes.Aborted, "no space", give("eth-a", key(1, "rpg_ai_rate"), 30), sender("astro/bulk", 4))
		if d := cmp.Diff(before, r.everything()); d != "" {
			t.Error(d)
		}
		mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 30))
	}
}

type failing struct {
	agent.Journal
	n, at int
}

func (f *failing) Save(ctx context.Context, b []byte) error {
	f.n++
	if f.n == f.at {
		return errors.New("no space left on device")
	}
	return f.Journal.Save(ctx, b)
}

func TestRestoreReturnsAllValuesFromBeforeInstallation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.everything()
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "roce_cc_algorithm"), 1), sender("astro/bulk", 4), give("eth-b", key(1, "rpg_gd"), 10))
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 30))
	a = r.agent(t) // another process restores
	written := r.everything()
	plan, err := a.Restore(t.Context(), true)
	if err != nil || len(plan) != 2 || cmp.Diff(written, r.everything()) != "" {
		t.Fatalf("dry: %v, %+v", err, plan)
	}
	want := agent.Return{Key: key(1, "rpg_ai_rate"), Now: 30, Readable: true, Original: 5}
	if d := cmp.Diff(want, plan[0].Params[1]); d != "" {
		t.Error(d)
	}
	r.onWrite["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd"] = func(string) (string, error) { return "", errors.New("device hangs") }
	if _, err := a.Restore(t.Context(), false); err == nil || !strings.Contains(err.Error(), "eth-b: ") {
		t.Error(err)
	}
	delete(r.onWrite, "sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd")
	if out, err := a.Restore(t.Context(), false); err != nil || len(out) != 1 {
		t.Error(err, out)
	}
	if d := cmp.Diff(before, r.everything()); d != "" {
		t.Error(d)
	}
	if out, err := r.agent(t).Restore(t.Context(), false); err != nil || len(out) != 0 {
		t.Error(err, out)
	}
}

func TestAJournalInAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	file := func(o *agent.Options) { o.Journal = agent.NewFileJournal(path) }
	r := newRig(t)
	a := r.agent(t, file)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	a = r.agent(t, file)
	if state(t, a, "eth-a", key(1, "rpg_ai_rate"), "set-value") != "20" || state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome") != "verified" {
		t.Error(ask(t, a, nicyang.Param("eth-a", key(1, "rpg_ai_rate"))))
	}
}

func TestDamagedJournalIsRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mustSet(t, r.agent(t), give("eth-a", key(1, "rpg_ai_rate"), 20))
	whole := r.document
	rapid.Check(t, func(rt *rapid.T) {
		b := append([]byte(nil), whole...)
		i := rapid.IntRange(0, len(b)-2).Draw(rt, "at") // the last byte is a newline
		b[i] ^= byte(rapid.IntRange(1, 255).Draw(rt, "change"))
		r := newRig(t)
		r.document = b
		if _, err := agent.New(t.Context(), r.options()); !errors.Is(err, agent.ErrDamaged) {
			rt.Fatalf("byte %d changed: %v", i, err)
		}
	})
	for n := 1; n < len(whole)-1; n++ {
		r := newRig(t)
		r.document = whole[:n]
		if _, err := agent.New(t.Context(), r.options()); !errors.Is(err, agent.ErrDamaged) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestRunSweepsAtItsPaceAndAtEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.now = time.Now()
		r.events = make(chan struct{})
		a, err := agent.New(t.Context(), agent.Options{Host: r, Journal: r, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		lose := func() { r.do(func() { r.defaults(); r.life += "x" }) }
		lose()
		time.Sleep(agent.DefaultSweep - time.Millisecond)
		if got := r.file("rp_ai_rate"); got != "5" {
			t.Errorf("set again before its time: %s", got)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := r.file("rp_ai_rate"); got != "20" {
			t.Errorf("not set again: %s", got)
		}
		lose()
		r.events <- struct{}{}
		synctest.Wait()
		if got := r.file("rp_ai_rate"); got != "20" {
			t.Errorf("not set again at an event: %s", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSweepsCausedByEventsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.events = make(chan struct{})
		a, err := agent.New(t.Context(), agent.Options{Host: r, Journal: r, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		heard := 0
		for ctx.Err() == nil {
			select {
			case r.events <- struct{}{}:
				heard++
			case <-ctx.Done():
			}
		}
		if err := <-done; err != nil || heard < 40 || heard > 60 {
			t.Errorf("%v, %d sweeps in 20 s, want 2 a second and 10 at once", err, heard)
		}
	})
}

func FuzzJournal(f *testing.F) {
	r := newRig(f)
	mustSet(f, r.agent(f), give("eth-a", key(1, "rpg_ai_rate"), 20), sender("astro/bulk", 2))
	f.Add(r.document)
	f.Add([]byte("fairlane-agent journal 1 sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t)
		r.document = b
		a, err := agent.New(t.Context(), r.options())
		if err != nil {
			return
		}
		ask(t, a, gnmitree.Path{})
	})
}

func TestTheEarlierTableKeepsItsOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	var ops []gnmitree.Operation
	for _, p := range r.table.By(nicparam.Debugfs) {
		if p.Known && p.Default != p.Max && p.Name != "rpg_min_rate" {
			ops = append(ops, give("eth-a", key(1, p.Name), p.Max))
		}
	}
	mustSet(t, a, ops...)
	for _, op := range ops {
		if got := leaf(t, a, op.Path); got != fmt.Sprint(op.Value) && got != strings.Trim(op.Value.String(), `"`) {
			t.Errorf("%s is %s, want %s", op.Path, got, op.Value)
		}
	}
}
