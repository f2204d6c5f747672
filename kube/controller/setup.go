package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"fairlane/kube/v1alpha1"
)

// SetupWithManager has the process's manager run the reconciler. Changes are collected for the time debounce, so that the pods of a job
// become one plan. Updates count when they matter to claims: writes of status do not.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, debounce time.Duration) error {
	spec, labels := builder.WithPredicates(predicate.GenerationChangedPredicate{}), builder.WithPredicates(predicate.LabelChangedPredicate{})
	return builder.TypedControllerManagedBy[Fabric](mgr).Named("fabric").
		WithOptions(controller.TypedOptions[Fabric]{SkipNameValidation: new(true)}). // tests run two replicas in one process
		Watches(&v1alpha1.TenantBinding{}, r.enqueue(debounce), spec).
		Watches(&v1alpha1.FabricAttachment{}, r.enqueue(debounce), spec).
		Watches(&corev1.Namespace{}, r.enqueue(debounce), labels).
		Complete(r)
}

// queue is the work queue of the passes.
type queue = workqueue.TypedRateLimitingInterface[Fabric]

// enqueue returns a handler that schedules passes for the fabrics that a change may concern.
func (r *Reconciler) enqueue(debounce time.Duration) handler.TypedEventHandler[client.Object, Fabric] {
	add := func(ctx context.Context, o client.Object, q queue) {
		for f := range r.concerned(ctx, o) {
			q.AddAfter(f, debounce)
		}
	}
	return handler.TypedFuncs[client.Object, Fabric]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, e.ObjectNew, q) },
	}
}

// concerned returns the fabrics that a change of the object may concern. A change of a binding or a namespace may end or start
// an ambiguity on any fabric, and an attachment does not say its fabric, so that is all of them: a cluster has few.
func (r *Reconciler) concerned(ctx context.Context, o client.Object) map[Fabric]bool {
	fabrics := map[Fabric]bool{}
	if b, ok := o.(*v1alpha1.TenantBinding); ok {
		fabrics[Fabric(b.Spec.Fabric)] = true
	}
	var all v1alpha1.TenantBindingList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil { // a copy for each of many events would be costly
		return fabrics // of a cache, which answers once it is filled
	}
	for _, b := range all.Items {
		fabrics[Fabric(b.Spec.Fabric)] = true
	}
	return fabrics
}
