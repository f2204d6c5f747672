package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
)

// TestInterruptedTransactionDiffersFromTheOneBefore kills the agent in a transaction after a completed one; the card
// is absent when the agent starts again.
func TestInterruptedTransactionDiffersFromTheOneBefore(t *testing.T) {
	t.Parallel()
	name := func(id string) gnmitree.Operation {
		return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: gnmitree.PathOf("agent", "apply", "config", "id"), Value: gnmitree.String(id)}
	}
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, name("first"), give("eth-a", key(1, "rpg_ai_rate"), 20))
	r.do(func() { r.dieAt = r.ops + 3 })
	if _, err := a.Set(t.Context(), []gnmitree.Operation{name("second"), give("eth-a", key(1, "rpg_ai_rate"), 30), give("eth-a", key(1, "rpg_gd"), 10)}); err == nil {
		t.Fatal("the set was answered")
	}
	r.do(func() { r.dieAt, r.gone["eth-a"] = 0, true })
	a = r.agent(t)
	if applied(t, a, "outcome") != "interrupted" || applied(t, a, "id") != "second" || applied(t, a, "sequence") != "2" {
		t.Error(ask(t, a, nicyang.ApplyState()))
	}
	saves := r.ops
	sweep(t, a)
	if r.ops != saves {
		t.Error("the journal was written while the card was absent")
	}
	mustSet(t, a, name("third"), give("eth-b", key(1, "rpg_gd"), 10))
	r.do(func() { r.gone["eth-a"] = false })
	sweep(t, a)
	if applied(t, a, "outcome") != "interrupted" || applied(t, a, "id") == "third" || r.file("rp_ai_rate") != "20" {
		t.Error(ask(t, a, nicyang.ApplyState()), r.file("rp_ai_rate"))
	}
}

// TestUnrestoredValuesAreRestoredLater leaves a parameter without its earlier value, by a transaction that fails or
// is killed, and removes the agent later.
func TestUnrestoredValuesAreRestoredLater(t *testing.T) {
	t.Parallel()
	const gd = debugfsA + "rp_gd"
	for name, leave := range map[string]func(*testing.T, *rig, *agent.Agent){
		"failed": func(t *testing.T, r *rig, a *agent.Agent) {
			refuses(t, a, codes.DataLoss, "NOT RESTORED", give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rpg_gd"), 10), sender("astro/bulk", 4))
		},
		"killed": func(t *testing.T, r *rig, a *agent.Agent) {
			r.do(func() { r.dieAt = r.ops + 3 })
			_, _ = a.Set(t.Context(), []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rpg_gd"), 10)}) // the agent is killed
			r.do(func() { r.dieAt = 0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			before := r.everything()
			a := r.agent(t)
			written := false
			r.onWrite[debugfsA+"rp_ai_rate"] = func(s string) (string, error) {
				if written {
					return "", errors.New("device hangs")
				}
				written = true
				return s, nil
			}
			r.onWrite[gd] = func(string) (string, error) { return "", errors.New("no") }
			leave(t, r, a)
			a, err := agent.New(t.Context(), r.options())
			if err != nil || r.file("rp_ai_rate") != "20" || applied(t, a, "outcome") != "partial" {
				t.Fatal(err, r.file("rp_ai_rate"), ask(t, a, nicyang.ApplyState()))
			}
			r.do(func() { clear(r.onWrite) })
			if _, err := a.Restore(t.Context(), false); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(before, r.everything()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRestoreContinuesAfterAKilledTransaction uses one parameter that cannot be restored, and another that can.
func TestRestoreContinuesAfterAKilledTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-b", key(1, "rpg_gd"), 10))
	r.do(func() { r.dieAt = r.ops + 3 })
	_, _ = a.Set(t.Context(), []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rpg_gd"), 10)}) // the agent is killed
	r.do(func() {
		r.dieAt = 0
		r.onWrite[debugfsA+"rp_ai_rate"] = func(string) (string, error) { return "", errors.New("device hangs") }
	})
	a = r.agent(t, func(o *agent.Options) { o.Passive = true })
	if _, err := a.Restore(t.Context(), false); err == nil || !strings.Contains(err.Error(), "rpg_ai_rate: was 5") {
		t.Error(err)
	}
	if got := r.files["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd"]; got != "11" {
		t.Errorf("rpg_gd of the other card is %s, want 11 as before", got)
	}
}

// TestRestoreReportsAbsentCardLeftHalfDone has nothing else to restore.
func TestRestoreReportsAbsentCardLeftHalfDone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	r.do(func() { r.dieAt = r.ops + 3 })
	_, _ = a.Set(t.Context(), []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rpg_gd"), 10)}) // the agent is killed
	r.do(func() { r.dieAt, r.gone["eth-a"] = 0, true })
	passive := func(o *agent.Options) { o.Passive = true }
	if _, err := r.agent(t, passive).Restore(t.Context(), false); err == nil || !strings.Contains(err.Error(), guidA.String()) {
		t.Errorf("%v, want the name of the card", err)
	}
	r.do(func() { r.gone["eth-a"] = false })
	if _, err := r.agent(t, passive).Restore(t.Context(), false); err != nil || r.file("rp_ai_rate") != "5" {
		t.Error(err, r.file("rp_ai_rate"))
	}
}

// TestDryRestoreListsAnUnfinishedTransaction uses a parameter that was set before the transaction, and one that
// was not.
func TestDryRestoreListsAnUnfinishedTransaction(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]bool{"a card that was set before": true, "a card that was not set before": false} {
		r := newRig(t)
		a := r.agent(t)
		if set {
			mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
		}
		r.do(func() { r.dieAt = r.ops + 3 })
		_, _ = a.Set(t.Context(), []gnmitree.Operation{give("eth-a", key(1, "rpg_ai_rate"), 30), give("eth-a", key(1, "rpg_gd"), 10), sender("astro/bulk", 4)}) // the agent is killed
		r.do(func() { r.dieAt = 0 })
		left := r.everything()
		plan, err := r.agent(t, func(o *agent.Options) { o.Passive = true }).Restore(t.Context(), true)
		if err != nil || cmp.Diff(left, r.everything()) != "" {
			t.Fatal(name, err)
		}
		want := []agent.Restoration{{Name: "eth-a", Identity: guidA.String(), Here: true, WRCC: []int{1}, Params: []agent.Return{
			{Key: key(1, "rpg_ai_rate"), Now: 30, Readable: true, Original: 5}, {Key: key(1, "rpg_gd"), Now: 11, Readable: true, Original: 11}}}}
		if d := cmp.Diff(want, plan); d != "" {
			t.Error(name, d)
		}
	}
}

// TestSettingAgainDoesNotOverwriteChangesOfOthers uses one parameter that cannot be restored, and an operator changes
// another one meanwhile.
func TestSettingAgainDoesNotOverwriteChangesOfOthers(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"one agent": false, "an agent that starts again each time": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settingAgainDoesNotFight(t, restart)
		})
	}
}

func settingAgainDoesNotFight(t *testing.T, restart bool) {
	r := newRig(t)
	a := r.agent(t)
	// next is a later sweep, or the first one of another process.
	next := func() {
		if restart {
			a = r.agent(t)
			return
		}
		sweep(t, a)
	}
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rtt_resp_dscp"), 8), sender("astro/bulk", 4))
	r.do(func() {
		r.defaults()
		delete(r.files, debugfsA+"rtt_resp_dscp")
		delete(r.files, debugfsA+"rtt_resp_dscp_valid")
		r.life = "life-2"
	})
	next()
	r.do(func() {
		r.files[debugfsA+"rp_ai_rate"] = "77"
		r.senders.Senders = nil
	})
	for range 5 {
		r.do(func() { r.now = r.now.Add(10 * time.Minute) })
		next()
	}
	if r.file("rp_ai_rate") != "77" || len(r.senders.Senders) > 0 || reapply(t, a, "eth-a", "attempts") == "0" {
		t.Error(r.file("rp_ai_rate"), r.senders, reapply(t, a, "eth-a", "attempts"))
	}
	// A value that a manager sets meanwhile is not set again either.
	mustSet(t, a, give("eth-a", key(1, "rpg_gd"), 10))
	r.do(func() { r.files[debugfsA+"rp_gd"] = "11" })
	next()
	if r.file("rp_gd") != "11" {
		t.Error("a value that was set after the reload was set again", r.file("rp_gd"))
	}
	r.do(func() { r.files[debugfsA+"rp_ai_rate"], r.life = "5", "life-3" })
	next()
	if r.file("rp_ai_rate") != "20" || len(r.senders.Senders) != 1 {
		t.Error("not set again after another reload", r.file("rp_ai_rate"))
	}
}

// TestRejectedValueDoesNotBlockSettingOthersAgain uses a device that rejects a value that it accepted before.
func TestRejectedValueDoesNotBlockSettingOthersAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "rpg_gd"), 10), give("eth-a", key(2, "rpg_gd"), 10))
	r.do(func() {
		r.defaults()
		r.life = "life-2"
		r.onWrite[debugfsA+"rp_gd"] = func(string) (string, error) { return "", errors.New("invalid argument") }
	})
	sweep(t, a)
	if r.file("rp_ai_rate") != "20" || r.files["sys/class/net/ens1f1/ecn/roce_rp/rpg_gd"] != "10" || !strings.Contains(reapply(t, a, "eth-a", "problem"), "rpg_gd") {
		t.Error(r.file("rp_ai_rate"), r.files["sys/class/net/ens1f1/ecn/roce_rp/rpg_gd"], reapply(t, a, "eth-a", "problem"))
	}
	for k, want := range map[string]string{"rpg_ai_rate": "verified", "rpg_gd": "refused"} {
		if got := state(t, a, "eth-a", key(1, k), "outcome"); got != want {
			t.Errorf("outcome of %s is %s, want %s", k, got, want)
		}
	}
}

// halves is a host whose first card has two functions with separate node GUIDs; the first may be absent.
type halves struct {
	*rig
	away bool
}

func (h *halves) NICs(ctx context.Context) ([]agent.NIC, error) {
	all, err := h.rig.NICs(ctx)
	if err != nil {
		return nil, err
	}
	n := &all[0]
	n.Ports[1].ID.Node = 0x0c42a10300a10001
	if h.away {
		n.Ports = n.Ports[1:]
		n.NodeGUID = n.Ports[0].ID.Node
	}
	return all, nil
}

// TestCardIsRecognisedWithoutItsFirstFunction sets the second port while the first function is present, and while it
// is absent, and removes the agent when it is back.
func TestCardIsRecognisedWithoutItsFirstFunction(t *testing.T) {
	t.Parallel()
	const file = "sys/class/net/ens1f1/ecn/roce_rp/rpg_gd"
	for _, begins := range []bool{false, true} { // the card's first function is absent
		h := &halves{rig: newRig(t), away: begins}
		before := h.everything()
		a := h.agent(t, func(o *agent.Options) { o.Host = h })
		mustSet(t, a, give("eth-a", key(2, "rpg_gd"), 10))
		h.away = !h.away
		sweep(t, a)
		if got := state(t, a, "eth-a", key(2, "rpg_gd"), "set-value"); got != "10" {
			t.Errorf("first function absent %v: the set value is %s, want 10", begins, got)
		}
		mustSet(t, a, give("eth-a", key(2, "rpg_byte_reset"), 100), give("eth-a", key(2, "rpg_gd"), 10))
		h.away = begins
		a = h.agent(t, func(o *agent.Options) { o.Host = h }) // another process
		if h.files[file] != "10" || state(t, a, "eth-a", key(2, "rpg_byte_reset"), "set-value") != "100" {
			t.Errorf("first away %v: %s", begins, h.files[file])
		}
		if out, err := a.Restore(t.Context(), false); err != nil || len(out) != 1 {
			t.Errorf("first away %v: %+v, %v", begins, out, err)
		}
		if d := cmp.Diff(before, h.everything()); d != "" {
			t.Errorf("first away %v: %s", begins, d)
		}
	}
}
