package admission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"fairlane/kube/admission"
	"fairlane/kube/v1alpha1"
)

const label = v1alpha1.LabelPrefix + "tenant"

func binding(name, tenant string, classes ...v1alpha1.BindingClass) *v1alpha1.TenantBinding {
	return &v1alpha1.TenantBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.TenantBindingSpec{Fabric: "lab", Tenant: tenant, Class: "gold",
			NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{label: tenant}}},
		Status: v1alpha1.TenantBindingStatus{Classes: classes},
	}
}

func handler(t *testing.T, host admission.HostNetwork) *admission.Pods {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{
		binding("red", "red", v1alpha1.BindingClass{Name: "bulk", SL: new(int32(1))}, v1alpha1.BindingClass{Name: "gold", SL: new(int32(3))}),
		binding("blue", "blue", v1alpha1.BindingClass{Name: "gold", DSCP: new(int32(26))}),
		binding("grey", "grey", v1alpha1.BindingClass{Name: "gold"}),
		binding("twice-1", "twice", v1alpha1.BindingClass{Name: "gold", SL: new(int32(3))}), binding("twice-2", "twice"),
	}
	for _, tenant := range []string{"red", "blue", "grey", "twice", "none"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant, Labels: map[string]string{label: tenant}}})
	}
	return &admission.Pods{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), HostNetwork: host, Resources: admission.DefaultResources()}
}

func ask(t *testing.T, p *admission.Pods, namespace string, spec corev1.PodSpec) webhook.Response {
	t.Helper()
	raw, err := json.Marshal(&corev1.Pod{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return handle(t, p, namespace, raw)
}

func handle(t *testing.T, p *admission.Pods, namespace string, raw []byte) webhook.Response {
	t.Helper()
	return p.Handle(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{Namespace: namespace, Object: runtime.RawExtension{Raw: raw}}})
}

func one(c corev1.Container) corev1.PodSpec { return corev1.PodSpec{Containers: []corev1.Container{c}} }

func TestContainersGetTheValuesOfTheirClass(t *testing.T) {
	t.Parallel()
	p := handler(t, admission.Deny)
	for name, c := range map[string]struct {
		namespace string
		container corev1.Container
		want      []string // in the patch
		without   []string
	}{
		"service level": {"red", corev1.Container{Name: "c"}, []string{"NCCL_IB_SL:3", "UCX_IB_SL:3", "NVSHMEM_IB_SL:3", "EP_OVERRIDE_RDMA_SL:3", "MC_IB_SL:3"}, []string{"TC"}},
		"traffic class": {"blue", corev1.Container{Name: "c"}, []string{"NCCL_IB_TC:104", "MC_IB_TC:104", "UCX_IB_TRAFFIC_CLASS:104", "NVSHMEM_IB_TRAFFIC_CLASS:104"}, []string{"_SL"}},
		"its own value": {"red", corev1.Container{Name: "c", Env: []corev1.EnvVar{{Name: "NCCL_IB_SL", Value: "0"}}}, []string{"UCX_IB_SL:3"}, []string{"NCCL_IB_SL"}},
		"no value yet":  {"grey", corev1.Container{Name: "c"}, nil, []string{"IB"}},
		"two bindings":  {"twice", corev1.Container{Name: "c"}, nil, []string{"IB"}},
		"no binding":    {"none", corev1.Container{Name: "c"}, nil, []string{"IB"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ask(t, p, c.namespace, one(c.container))
			got := fmt.Sprint(r.Patches)
			for _, w := range c.want {
				n, v, _ := strings.Cut(w, ":")
				if !strings.Contains(got, n) || !strings.Contains(got, v) {
					t.Errorf("no %s in %s", w, got)
				}
			}
			for _, w := range c.without {
				if strings.Contains(got, w) {
					t.Errorf("%s in %s", w, got)
				}
			}
			if !r.Allowed || len(r.Warnings) != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestInitContainersGetThemTooAndUnseenEnvironmentsAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := ask(t, handler(t, admission.Deny), "red", corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init"}},
		Containers:     []corev1.Container{{Name: "main", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}}}},
	})
	if got := fmt.Sprint(r.Patches); !strings.Contains(got, "/spec/initContainers/0/env") || strings.Contains(got, "/spec/containers") {
		t.Error(got)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "container main takes its environment from a ConfigMap or Secret") || !strings.Contains(r.Warnings[0], "NCCL_IB_SL=3") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestFieldsOfANewerAPIServerStay(t *testing.T) {
	t.Parallel()
	r := handle(t, handler(t, admission.Deny), "red", []byte(`{"spec":{"newer":true,"hostIPC":false,"containers":[{"name":"c","newer":1,"env":[{"name":"A","value":"b","newer":{}}]}]}}`))
	if !r.Allowed || len(r.Patches) == 0 {
		t.Errorf("%+v", r)
	}
	for _, p := range r.Patches {
		if p.Operation != "add" || !strings.HasPrefix(p.Path, "/spec/containers/0/env/") {
			t.Errorf("the patch has %s", p.Json())
		}
	}
}

func TestPodsThatNoPluginMeets(t *testing.T) {
	t.Parallel()
	volume := func(path string) corev1.PodSpec {
		return corev1.PodSpec{Volumes: []corev1.Volume{{Name: "dev", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}}}
	}
	asks := func(name string) corev1.PodSpec {
		return one(corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("1")}}})
	}
	for name, c := range map[string]struct {
		spec   corev1.PodSpec
		device string // empty: none
	}{
		"the folder":       {volume("/dev/infiniband"), "the volume dev"},
		"one device":       {volume("/dev/infiniband/../infiniband/uverbs0"), "the volume dev"},
		"all devices":      {volume("/dev/"), "the volume dev"},
		"the host":         {volume("/"), "the volume dev"},
		"another folder":   {volume("/dev/infiniband2"), ""},
		"a shared device":  {asks("rdma/hca_shared"), "the resource rdma/hca_shared"},
		"a vendor's":       {asks("example.com/mlnx_rdma_vf"), "the resource example.com/mlnx_rdma_vf"},
		"another resource": {asks("nvidia.com/gpu"), ""},
		"privileged":       {one(corev1.Container{Name: "c", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}), "the privileged container c"},
		"no privileges":    {one(corev1.Container{Name: "c", SecurityContext: &corev1.SecurityContext{Privileged: new(false)}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, host := range []bool{true, false} {
				c.spec.HostNetwork = host
				want := c.device != "" && host
				denied, warned, free := ask(t, handler(t, admission.Deny), "red", c.spec), ask(t, handler(t, admission.Warn), "red", c.spec), ask(t, handler(t, admission.Deny), "none", c.spec)
				if denied.Allowed == want || want && !strings.Contains(denied.Result.Message, "(by "+c.device+")") {
					t.Errorf("host network %v, deny: %+v", host, denied)
				}
				if !warned.Allowed || (len(warned.Warnings) == 1) != want {
					t.Errorf("host network %v, warn: %+v", host, warned)
				}
				if !free.Allowed || len(free.Warnings) != 0 {
					t.Errorf("host network %v, unbound: %+v", host, free)
				}
			}
		})
	}
}

func TestUnreadableRequestsAreErrors(t *testing.T) {
	t.Parallel()
	p := handler(t, admission.Deny)
	if bad := handle(t, p, "red", []byte("{")); bad.Allowed || bad.Result.Code != 400 {
		t.Errorf("%+v", bad)
	}
	if r := ask(t, p, "missing", corev1.PodSpec{}); r.Allowed || r.Result.Code != 500 {
		t.Errorf("%+v", r)
	}
}
