package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/controller"
	"fairlane/kube/controller/managertest"
	"fairlane/kube/v1alpha1"
)

// slow is a client whose writes of status take a while, and fail for some objects.
type slow struct {
	client.Client
	fail      func(name string) bool
	now, most atomic.Int32 // writes under way
}

func (s *slow) Status() client.SubResourceWriter {
	return &slowStatus{SubResourceWriter: s.Client.Status(), slow: s}
}

type slowStatus struct {
	client.SubResourceWriter
	slow *slow
}

// Patch writes the status of an attachment.
func (s *slowStatus) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	n := s.slow.now.Add(1)
	defer s.slow.now.Add(-1)
	for most := s.slow.most.Load(); n > most && !s.slow.most.CompareAndSwap(most, n); most = s.slow.most.Load() {
	}
	time.Sleep(time.Millisecond)
	if s.slow.fail(o.GetName()) {
		return errors.New("storage is full")
	}
	return s.SubResourceWriter.Patch(ctx, o, patch, options...)
}

// TestManyAttachmentsAreWrittenAtOnce has one plan change many attachments, of which some cannot be written.
func TestManyAttachmentsAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	const pods, bad = 200, 20
	objects := []client.Object{bind("red", "red"), space("a", "red")}
	for i := range pods {
		objects = append(objects, attach("a", fmt.Sprintf("p%d", i), "h1:1"))
	}
	r := newRig(t, objects...)
	r.manager.Do(func(m *managertest.Manager) {
		red := m.Tenants["red"]
		red.Ports = []controller.Port{{ID: "0x10:1", Name: "h1/P1"}}
		m.Tenants["red"] = red
		m.Places = []controller.Placement{{Tenant: "red", Port: "0x10:1", DSCP: new(int32(26)), Share: new(int32(750))}}
	})
	broken := true
	s := &slow{Client: r.client, fail: func(name string) bool {
		n := 0
		_, _ = fmt.Sscanf(name, "p%d-", &n)
		return broken && n < bad
	}}
	r.control.Client = s
	written := func() (n int) {
		var all v1alpha1.FabricAttachmentList
		if err := r.client.List(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			if all.Items[i].Status.Planned != nil {
				n++
			}
		}
		return n
	}
	_, err := r.control.Reconcile(t.Context(), "lab")
	if err == nil || strings.Count(err.Error(), "storage is full") != 5 || !strings.Contains(err.Error(), "and 15 more") {
		t.Errorf("error: %v", err)
	}
	if n := written(); n != pods-bad {
		t.Errorf("%d of %d attachments are written, want all but %d", n, pods, bad)
	}
	if n := s.most.Load(); n < 2 || n > 16 {
		t.Errorf("%d writes were under way at once, want 2 to 16", n)
	}
	broken = false
	if _, err := r.control.Reconcile(t.Context(), "lab"); err != nil || written() != pods {
		t.Errorf("%v, %d of %d attachments are written", err, written(), pods)
	}
}
