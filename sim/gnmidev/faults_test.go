package gnmidev

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestMessagesGetLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	rate := param(port1, "rpg_ai_rate", 0)
	read := func() error {
		_, err := r.get(t, "host-1", rate)
		return err
	}
	h.Inject(func(f *Faults) { f.LoseRequests, f.Busy = 1, 1 })
	wantCode(t, "a lost request", read(), codes.Unavailable)
	wantCode(t, "a busy host", read(), codes.ResourceExhausted)
	wantCode(t, "afterwards", read(), codes.OK)
	h.Inject(func(f *Faults) { f.LoseReply = true })
	wantCode(t, "a lost reply", r.set(t, "host-1", "update "+rate+` "9"`), codes.Unavailable)
	wantCode(t, "silence", read(), codes.Unavailable)
	h.Heal()
	if got := lastPortState(t, h, 1).Registers.AIRate; got != 9 {
		t.Errorf("after a Set whose reply was lost, the value is %d, want 9", got)
	}
	h.Inject(func(f *Faults) { f.DelayReply, f.Delay = 1, time.Hour })
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	q := request(t, "host-1", "update "+rate+` "11"`)
	_, err := r.client.Set(ctx, q)
	wantCode(t, "a late reply", err, codes.DeadlineExceeded)
	if got := lastPortState(t, h, 1).Registers.AIRate; got != 11 {
		t.Errorf("after a Set whose reply was late, the value is %d, want 11", got)
	}
	h.Heal()
	h.Inject(func(f *Faults) { f.Disabled = true })
	wantCode(t, "no service", read(), codes.Unimplemented)
	if n := h.Sets(); n != 2 {
		t.Errorf("%d sets, want 2", n)
	}
}

func TestRefusalsOfAPlainServerHaveNoCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.sonic(t, nil)
	w.InjectSwitch(func(f *SwitchFaults) { f.Plain = true })
	err := r.set(t, "leaf-1", `update `+config+`/WRED_PROFILE/X {"ecn":"ecn_all"}`)
	wantCode(t, "a guarded table", err, codes.Unknown, "rdma_config_update_validator")
	w.Heal()
	err = r.set(t, "leaf-1", `update `+config+`/WRED_PROFILE/X {"ecn":"ecn_all"}`)
	wantCode(t, "a guarded table", err, codes.PermissionDenied)
}
