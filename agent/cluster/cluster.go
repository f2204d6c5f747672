// Package cluster connects a node's agent to its Kubernetes cluster. It watches what the agent needs and no more: the
// bindings of namespaces to tenants, the names and labels of namespaces, and the pods, claims and devices of its own node.
//
//	TenantBindings + Namespaces + shares in FabricAttachments of this node ──► Bindings ──────────────► agent/pods: class of a new pod
//	Pods + ResourceClaims + ResourceSlices ──► claims.go ──► agent/pods: attachments that no CNI plugin reported
//	kubelet's pod-resources ──────► podresources.go ───────► agent/pods: the same
//	agent/pods: records ──► report.go ──► FabricAttachments of this node
//
// The package writes nothing else, and holds no credential of the manager. What the author of a pod writes, such as
// annotations, labels and configuration in claims, decides nothing here.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/v1alpha1"
)

// Table is the node's table of attachments, as far as the package needs it.
type Table interface {
	Add(ctx context.Context, a podsock.Attachment, source podsock.Source) (podsock.Record, error)
	Reconcile(ctx context.Context, source podsock.Source, keep func(*podsock.Record) bool) (int, error)
	List(ctx context.Context, counters bool) []podsock.Record
	// Changed returns a channel with a value after records changed, for one reader.
	Changed() <-chan struct{}
}

// Options of a Cluster.
type Options struct {
	Config *rest.Config // required: the API server, and the node's own account
	Node   string       // required: name of the node
	// File keeps the bindings for a start without the API server; empty: they are not kept.
	File string
	// PodResources is the kubelet's socket for the devices of pods; empty: it is not read.
	PodResources string
	// Every is the time between two reconciliations without an event; 0: 30 s.
	Every time.Duration
	Log   *slog.Logger // required
}

// DefaultPodResources is the socket of the kubelet in its default directory.
const DefaultPodResources = "/var/lib/kubelet/pod-resources/kubelet.sock"

// Cluster is the connection of one node. Bindings answers from the start, by the file of an earlier run; Run keeps it up
// to date.
type Cluster struct {
	*Bindings
	o       Options
	core    rest.Interface // pods
	claims  rest.Interface // claims and slices
	objects rest.Interface // Fairlane's own
	sources sources
	log     *slog.Logger
}

var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// New returns the connection. It sends nothing before Run. It fails on invalid options and on a damaged file.
func New(o Options) (*Cluster, error) {
	if o.Config == nil {
		return nil, errors.New("cluster: found no configuration of the API server")
	}
	if !nodeName.MatchString(o.Node) {
		return nil, fmt.Errorf("cluster: name of the node: found %s, want a DNS name of at most 253 characters", podsock.Clip(o.Node))
	}
	o.Every = cmp.Or(o.Every, 30*time.Second)
	bindings, err := openBindings(o.File, time.Now)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c := &Cluster{Bindings: bindings, o: o, log: o.Log}
	for group, to := range map[schema.GroupVersion]*rest.Interface{corev1.SchemeGroupVersion: &c.core, resourcev1.SchemeGroupVersion: &c.claims, v1alpha1.GroupVersion: &c.objects} {
		client, err := clientOf(o.Config, group)
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		*to = client
	}
	c.sources = c.open()
	return c, nil
}

// scheme has only what the agent reads and writes: the registration of all of Kubernetes' groups costs megabytes.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, resourcev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // a programming error: two types with one name
		}
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}()

// requestRate and requestBurst bound the requests of one client, in requests/s. The client's own default, 5/s, is for tools of a
// person: a round reads each claim of the node by its name, since a node's account may not list them. The API server protects itself
// by priority and fairness.
const (
	requestRate  = 50
	requestBurst = 200
)

// clientOf returns a client for one group and version.
func clientOf(config *rest.Config, group schema.GroupVersion) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &group, "/apis"
	if group.Group == "" {
		c.APIPath = "/api"
	}
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.UserAgent = cmp.Or(c.UserAgent, "fairlane-agent")
	c.QPS, c.Burst = cmp.Or(c.QPS, requestRate), cmp.Or(c.Burst, requestBurst)
	return rest.RESTClientFor(c)
}

// open makes the informers. Each keeps of its objects only what the package uses.
func (c *Cluster) open() sources {
	every := func(*metav1.ListOptions) {}
	mine := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", c.o.Node).String()
	}
	labelled := func(o *metav1.ListOptions) { o.LabelSelector = labels.Set{v1alpha1.NodeLabel: c.o.Node}.String() }
	return sources{
		bindings:    newSource(c.objects, "tenantbindings", every, &v1alpha1.TenantBinding{}, slimBinding),
		namespaces:  newSource(c.core, "namespaces", every, &corev1.Namespace{}, slimNamespace),
		pods:        newSource(c.core, "pods", mine, &corev1.Pod{}, slimPod),
		slices:      newSource(c.claims, "resourceslices", mine, &resourcev1.ResourceSlice{}, slimSlice),
		attachments: newSource(c.objects, attachmentResource, labelled, &v1alpha1.FabricAttachment{}, slimAttachment),
	}
}

// Run watches the cluster until the context ends: it keeps the bindings up to date, attaches the devices of claims and of
// pod-resources, releases those of ended pods, and reports all attachments.
func (c *Cluster) Run(ctx context.Context, table Table) {
	changed := make(chan struct{}, 1)
	wait := c.sources.run(ctx, c.log, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer wait()
	r := newReporter(c.objects, c.o.Node)
	ticker := time.NewTicker(c.o.Every)
	defer ticker.Stop()
	for {
		c.round(ctx, table, r)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-changed:
		case <-table.Changed():
		}
		// Events come in bursts, such as when many pods start. One round serves them all.
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
	}
}

// settle is the time for which a round waits for further events.
const settle = 200 * time.Millisecond

// round brings everything up to date once.
func (c *Cluster) round(ctx context.Context, table Table, r *Reporter) {
	if !c.sources.bindings.read() || !c.sources.namespaces.read() || !c.sources.attachments.read() {
		return // the bindings of an earlier run stay, and age
	}
	if c.sources.bindings.connected() && c.sources.namespaces.connected() && c.sources.attachments.connected() {
		if err := c.update(bindingsOf(all[*v1alpha1.TenantBinding](c.sources.bindings), all[*corev1.Namespace](c.sources.namespaces), all[*v1alpha1.FabricAttachment](c.sources.attachments))); err != nil {
			c.log.Warn("bindings not kept for a start without the API server", "error", err.Error())
		}
	} else {
		c.lost()
	}
	if !c.sources.pods.read() || !c.sources.pods.connected() {
		return // pods that cannot be seen may still run
	}
	pods := all[*corev1.Pod](c.sources.pods)
	c.attachClaims(ctx, table, pods)
	c.attachPodResources(ctx, table, pods)
	c.collect(ctx, table, pods)
	if err := r.Report(ctx, table.List(ctx, false), all[*v1alpha1.FabricAttachment](c.sources.attachments), pods); err != nil && ctx.Err() == nil {
		c.log.Warn("attachments not reported", "error", err.Error())
	}
}

// collect releases the attachments of pods that the cluster does not have any more. Attachments by CNI end by the plugin's
// DEL, and by the end of their network namespace: their pods may be deleted by force while they still run.
func (c *Cluster) collect(ctx context.Context, table Table, pods []*corev1.Pod) {
	live := map[string]bool{}
	for _, p := range pods {
		live[string(p.UID)] = !ended(p)
	}
	for _, source := range []podsock.Source{podsock.SourceClaim, podsock.SourcePodResources} {
		if _, err := table.Reconcile(ctx, source, func(r *podsock.Record) bool { return live[r.Pod.UID] }); err != nil && ctx.Err() == nil {
			c.log.Warn("attachments of ended pods not released", "source", source, "error", err.Error())
		}
	}
}

// ended reports whether all containers of a pod have ended for good.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
