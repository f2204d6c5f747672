package cluster

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"fairlane/kube/v1alpha1"
)

// sources are the watched kinds.
type sources struct{ bindings, namespaces, pods, slices, attachments *source }

// source is one watched kind, with its objects.
type source struct {
	name     string
	informer cache.SharedIndexInformer
	up       atomic.Bool // the last request for a list or a watch succeeded
}

// newSource returns the source of a resource. narrow selects its objects; slim removes what is not used from an object.
func newSource[T runtime.Object](client rest.Interface, resource string, narrow func(*metav1.ListOptions), of T, slim func(T)) *source {
	s := &source{name: resource}
	plain := cache.NewFilteredListWatchFromClient(client, resource, metav1.NamespaceAll, narrow)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			found, err := plain.ListWithContextFunc(ctx, o)
			s.up.Store(err == nil)
			return found, err
		},
		// A watch ends often, and is then requested again at once: an API server that is away is noticed by that request.
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := plain.WatchFuncWithContext(ctx, o)
			s.up.Store(err == nil)
			return w, err
		},
	}
	s.informer = cache.NewSharedIndexInformerWithOptions(lw, of, cache.SharedIndexInformerOptions{ObjectDescription: resource})
	if err := s.informer.SetTransform(func(o any) (any, error) {
		if object, ok := o.(T); ok {
			slim(object)
		}
		return o, nil
	}); err != nil {
		panic(err) // only for an informer that runs already
	}
	return s
}

// read reports whether the source's objects have been read once.
func (s *source) read() bool { return s.informer.HasSynced() }

// connected reports whether the source receives changes, as far as is known. An API server that vanishes without closing
// its connection is noticed after the client's health check of the connection, in less than a minute.
func (s *source) connected() bool { return s.up.Load() }

// run starts all sources. changed is called after each change of an object. The returned function waits for their end,
// after that of the context.
func (s *sources) run(ctx context.Context, log *slog.Logger, changed func()) (wait func()) {
	var group sync.WaitGroup
	for _, s := range []*source{s.bindings, s.namespaces, s.pods, s.slices, s.attachments} {
		_ = s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			log.Warn("watch ended", "resource", s.name, "error", err.Error())
		}) // it fails only for an informer that runs already
		_, _ = s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
		}) // it fails only for an informer that has ended
		group.Go(func() { s.informer.RunWithContext(ctx) })
	}
	return group.Wait
}

// all returns the objects of a source.
func all[T any](s *source) []T {
	var out []T
	for _, o := range s.informer.GetStore().List() {
		if object, ok := o.(T); ok {
			out = append(out, object)
		}
	}
	return out
}

func slimMeta(m *metav1.ObjectMeta) {
	m.ManagedFields, m.Annotations, m.OwnerReferences = nil, nil, nil
}

func slimBinding(b *v1alpha1.TenantBinding) {
	slimMeta(&b.ObjectMeta)
	b.Status.Conditions = nil
}

func slimAttachment(a *v1alpha1.FabricAttachment) {
	slimMeta(&a.ObjectMeta)
	a.Labels = nil
	a.Spec = v1alpha1.FabricAttachmentSpec{Binding: a.Spec.Binding, Device: v1alpha1.AttachedDevice{Port: a.Spec.Device.Port}}
	a.Status = v1alpha1.FabricAttachmentStatus{Planned: a.Status.Planned}
}

func slimNamespace(n *corev1.Namespace) {
	slimMeta(&n.ObjectMeta)
	n.Spec = corev1.NamespaceSpec{}
	n.Status = corev1.NamespaceStatus{}
}

func slimPod(p *corev1.Pod) {
	slimMeta(&p.ObjectMeta)
	p.Labels = nil
	p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName, ResourceClaims: p.Spec.ResourceClaims}
	p.Status = corev1.PodStatus{Phase: p.Status.Phase, ResourceClaimStatuses: p.Status.ResourceClaimStatuses}
}

func slimSlice(s *resourcev1.ResourceSlice) {
	slimMeta(&s.ObjectMeta)
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		*d = resourcev1.Device{Name: d.Name, Attributes: addressesOf(d.Attributes)}
	}
}
