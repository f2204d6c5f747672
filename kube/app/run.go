package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	webhookadmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"fairlane/kube/admission"
	"fairlane/kube/controller"
	"fairlane/kube/v1alpha1"
)

// Names of the process's own objects in the cluster, as in deploy/kubernetes.
const (
	leaseName   = "fairlane-kube"
	secretName  = "fairlane-kube-certificate"
	webhookName = "fairlane-pods"
	serviceName = "fairlane-kube"
	webhookPath = "/pods"
)

// Options are the settings of the process.
type Options struct {
	Cluster     string // name of the cluster, part of its feed's name
	Namespace   string // of the process's own objects
	HostNetwork admission.HostNetwork
	Resources   []string      // patterns of RDMA resources
	Debounce    time.Duration // time for which changes are collected
	Every       time.Duration // time between passes without changes
	WebhookHost string        // address on which the webhook listens; empty means all
	WebhookPort int
	Health      string   // address of probes, 0 for none
	Metrics     string   // address of metrics, 0 for none
	Names       []string // names in the webhook's certificate; default: those of the service
}

// Run runs the process against a cluster until the context ends. Every replica answers the webhook; the leader runs the
// controller.
func Run(ctx context.Context, cluster *rest.Config, m controller.Manager, o Options) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if len(o.Names) == 0 {
		o.Names = []string{serviceName + "." + o.Namespace + ".svc"}
	}
	cert, err := newCertificate(cluster, o)
	if err != nil {
		return err
	}
	mgr, err := ctrl.New(cluster, ctrl.Options{
		Scheme:           scheme,
		Cache:            cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: controller.Caches()},
		LeaderElection:   true,
		LeaderElectionID: leaseName, LeaderElectionNamespace: o.Namespace, LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout: new(10 * time.Second),
		HealthProbeBindAddress:  o.Health,
		Metrics:                 server.Options{BindAddress: o.Metrics},
		WebhookServer: webhook.NewServer(webhook.Options{Host: o.WebhookHost, Port: o.WebhookPort, TLSOpts: []func(*tls.Config){
			func(c *tls.Config) { c.GetCertificate = cert.get },
		}}),
	})
	if err != nil {
		return fmt.Errorf("set up for the cluster: %w", err)
	}
	if err := mgr.Add(cert); err != nil {
		return err
	}
	pods := &admission.Pods{Reader: mgr.GetClient(), HostNetwork: o.HostNetwork, Resources: o.Resources}
	mgr.GetWebhookServer().Register(webhookPath, &webhookadmission.Webhook{Handler: pods})
	if err := mgr.AddHealthzCheck("alive", func(*http.Request) error { return nil }); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	r := &controller.Reconciler{
		Client: mgr.GetClient(), Manager: m, Events: mgr.GetEventRecorder("fairlane"), Feed: FeedOf(o.Cluster),
		Every: o.Every, Repeat: repeatAfter, Now: time.Now,
	}
	if err := r.SetupWithManager(mgr, o.Debounce); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	return mgr.Start(ctx)
}

// repeatAfter is the time after which feeds and plans are requested again without a change.
const repeatAfter = 10 * time.Minute

// FeedOf returns the name of a cluster's feed at the manager.
func FeedOf(cluster string) string { return "kubernetes-" + cluster }
