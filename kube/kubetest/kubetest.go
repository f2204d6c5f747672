// Package kubetest starts a real API server with etcd for tests, with Fairlane's objects, roles and admission policies applied
// as deploy/kubernetes has them. `make kube` builds the API server and runs the tests; without it they skip.
package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"fairlane/kube/v1alpha1"
)

// Folder is the environment variable with the folder of the binaries, which test/kube.sh sets.
const Folder = "FAIRLANE_KUBE_BINARIES"

// System is the namespace of Fairlane's own objects.
const System = "fairlane-system"

// Cluster is a running API server.
type Cluster struct {
	Admin  client.Client // of a member of system:masters
	Config *rest.Config  // of the same
	env    *envtest.Environment
	bin    string
}

// Need returns a variable that test/kube.sh sets, such as Folder. Without it, it skips the test: make kube runs it.
func Need(t testing.TB, variable string) string {
	t.Helper()
	v := os.Getenv(variable)
	if v == "" {
		t.Skipf("no %s: run make kube", variable)
	}
	return v
}

// Enabled reports whether the binaries are there; tests skip without them.
func Enabled() bool { return os.Getenv(Folder) != "" }

// ConsumableCapacity is the feature gate of capacities that several claims consume of one device (alpha, and off by default, in
// Kubernetes 1.34). Without it the API server drops shareID and consumedCapacity from allocations.
const ConsumableCapacity = "DRAConsumableCapacity=true"

// Start starts a cluster with the CRDs, accounts, roles and policies of deploy/kubernetes, and with feature gates such as NAME=true.
// Its caller stops it.
func Start(gates ...string) (*Cluster, error) {
	flags := map[string]string{}
	if len(gates) > 0 {
		flags["feature-gates"] = strings.Join(gates, ",")
	}
	return StartWith(flags)
}

// StartWith is Start with further flags of the API server, by their names without dashes.
func StartWith(flags map[string]string) (*Cluster, error) {
	c, err := start(flags, filepath.Join(Manifests(), "crds"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Apply(ctx, "namespace.yaml", "roles.yaml", "agent-access.yaml", "controller-access.yaml", "policies.yaml"); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// StartEmpty starts a cluster without any object of Fairlane. Its caller stops it.
func StartEmpty() (*Cluster, error) { return start(nil) }

func start(flags map[string]string, crds ...string) (*Cluster, error) {
	bin, err := binaries(os.Getenv(Folder))
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, env: &envtest.Environment{
		Scheme:                   scheme,
		BinaryAssetsDirectory:    bin,
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 3 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}}
	for name, value := range flags {
		c.env.ControlPlane.GetAPIServer().Configure().Set(name, value)
	}
	if c.Config, err = c.env.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(bin))
	}
	c.Config.QPS, c.Config.Burst = 1000, 1000 // tests must not wait for the client's own limit
	if c.Admin, err = client.New(c.Config, client.Options{Scheme: scheme}); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Stop ends the cluster.
func (c *Cluster) Stop() error { return errors.Join(c.env.Stop(), os.RemoveAll(c.bin)) }

// binaries returns a new folder in the form that envtest expects.
func binaries(built string) (string, error) {
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return "", fmt.Errorf("etcd is not installed: run make kube: %w", err)
	}
	dir, err := os.MkdirTemp("", "fairlane-kube")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(
		os.Symlink(etcd, filepath.Join(dir, "etcd")),
		os.Symlink(filepath.Join(built, "kube-apiserver"), filepath.Join(dir, "kube-apiserver")),
		os.WriteFile(filepath.Join(dir, "kubectl"), nil, 0o700), // must exist, and is not run
	)
}

// Manifests returns the folder deploy/kubernetes.
func Manifests() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	return filepath.Join(dir, "deploy", "kubernetes")
}

// Objects returns the objects of a file in deploy/kubernetes.
func Objects(name string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(filepath.Join(Manifests(), name))
	if err != nil {
		return nil, err
	}
	all, err := decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// decode returns the objects of a stream of YAML documents.
func decode(r io.Reader) (all []*unstructured.Unstructured, err error) {
	for d := utilyaml.NewYAMLOrJSONDecoder(r, 4096); ; {
		u := &unstructured.Unstructured{}
		if err := d.Decode(u); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if len(u.Object) > 0 {
			all = append(all, u)
		}
	}
}

// Apply creates the objects of files in deploy/kubernetes.
func (c *Cluster) Apply(ctx context.Context, names ...string) error {
	for _, name := range names {
		all, err := Objects(name)
		if err != nil {
			return err
		}
		for _, u := range all {
			if err := c.Admin.Create(ctx, u); err != nil {
				return fmt.Errorf("%s: %s %s: %w", name, u.GetKind(), u.GetName(), err)
			}
		}
	}
	return nil
}

// As returns the configuration of a service account, by a token as the kubelet mounts it into a pod on the node. The pod is
// created if it is missing.
func (c *Cluster) As(t testing.TB, account, node string) *rest.Config {
	t.Helper()
	r, err := c.Login(t.Context(), account, node)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Login is As, for goroutines other than that of a test.
func (c *Cluster) Login(ctx context.Context, account, node string) (*rest.Config, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: System, Name: account + "-" + node}, Spec: corev1.PodSpec{
		NodeName: node, ServiceAccountName: account, Containers: []corev1.Container{{Name: "c", Image: "none", ImagePullPolicy: corev1.PullNever}},
	}}
	if err := client.IgnoreAlreadyExists(c.Admin.Create(ctx, pod)); err != nil {
		return nil, err
	}
	if err := c.Admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	answer, err := set.CoreV1().ServiceAccounts(System).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	r := rest.AnonymousClientConfig(c.Config)
	r.BearerToken = answer.Status.Token
	r.QPS, r.Burst = c.Config.QPS, c.Config.Burst
	return r, nil
}

// User returns the configuration of a person with the groups.
func (c *Cluster) User(t testing.TB, name string, groups ...string) *rest.Config {
	t.Helper()
	u, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return u.Config()
}

// Client returns a client for a configuration.
func (c *Cluster) Client(t testing.TB, r *rest.Config) client.Client {
	t.Helper()
	cl, err := client.New(r, client.Options{Scheme: c.Admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// Namespace creates a namespace with labels and a name of its own, which begins with the prefix.
func (c *Cluster) Namespace(t testing.TB, prefix string, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-", Labels: labels}}
	if err := c.Admin.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// Eventually runs a check until it returns an empty text, and fails the test with its last text after the time.
func Eventually(t testing.TB, wait time.Duration, check func() string) {
	t.Helper()
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		last := check()
		if last == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %s", wait, last)
		}
	}
}
