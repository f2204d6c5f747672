package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/v1alpha1"
)

// figures are what the controller knows of an attachment: the part of its status that is not the node agent's.
type figures struct {
	attachment  *v1alpha1.FabricAttachment // of the cache
	before, now v1alpha1.FabricAttachmentStatus
}

// figuresOf returns the figures of an attachment. A plan that does not have its port yet changes nothing: the agent keeps what it
// applied.
func figuresOf(a *v1alpha1.FabricAttachment, s portShare, planned *v1alpha1.DeviceClass) figures {
	f := figures{attachment: a, before: v1alpha1.FabricAttachmentStatus{Planned: a.Status.Planned, EntitledBps: a.Status.EntitledBps, DeliveredBps: a.Status.DeliveredBps}}
	f.now = v1alpha1.FabricAttachmentStatus{Planned: planned, EntitledBps: s.entitled, DeliveredBps: settled(a.Status.DeliveredBps, s.delivered, 0.01, 0)}
	if planned == nil {
		f.now.Planned = f.before.Planned
	}
	return f
}

func (f *figures) changed() bool { return !equality.Semantic.DeepEqual(f.before, f.now) }

const (
	// writers is the number of attachments that are written at once. A new plan may change all attachments of a large cluster, and one
	// after the other each would wait for the API server's store.
	writers = 16
	// shownErrors is the number of errors of a pass that are returned.
	shownErrors = 5
)

// writeFigures writes the status of attachments. One that fails does not hold up the others.
func (p *pass) writeFigures(ctx context.Context, all []figures) error {
	var group errgroup.Group
	group.SetLimit(writers)
	var mu sync.Mutex
	var failed []error
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := p.write(ctx, &all[i]); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Errorf("fabricattachment %s/%s: %w", all[i].attachment.Namespace, all[i].attachment.Name, err))
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed
	if n := len(failed); n > shownErrors {
		failed = append(failed[:shownErrors], fmt.Errorf("and %d more", n-shownErrors))
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// write writes the figures of one attachment by a merge patch, which leaves the fields of the node agent alone.
func (p *pass) write(ctx context.Context, f *figures) error {
	patch, err := client.MergeFrom(&v1alpha1.FabricAttachment{Status: f.before}).Data(&v1alpha1.FabricAttachment{Status: f.now})
	if err != nil {
		return err
	}
	o := &v1alpha1.FabricAttachment{ObjectMeta: metav1.ObjectMeta{Namespace: f.attachment.Namespace, Name: f.attachment.Name}}
	return client.IgnoreNotFound(p.Client.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)))
}
