package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	agentapp "fairlane/agent/app"
	"fairlane/internal/testkit/filetest"
	"fairlane/kube/kubetest"
	"fairlane/service/config"
)

// helms are both versions in use.
var helms = []string{"helm3", "helm4"}

// valueFiles returns the values with which the chart is tested.
func valueFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	return files
}

// render renders the chart.
func render(t *testing.T, version string, args ...string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	return kubetest.Render(t, version, chartDir, args...)
}

// rendered renders the chart by Helm 3 with a file of values.
func rendered(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	all, err := render(t, "helm3", "--values", "testdata/values/"+name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// find decodes an object of a render; it reports whether there is one.
func find(t *testing.T, all []*unstructured.Unstructured, kind, name string, into any) bool {
	t.Helper()
	for _, u := range all {
		if u.GetKind() == kind && u.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
				t.Fatal(err)
			}
			return true
		}
	}
	return false
}

func TestBothVersionsOfHelmAcceptTheChartAndRenderTheSame(t *testing.T) {
	t.Parallel()
	for _, version := range helms {
		if out, err := kubetest.Helm(t, version, "lint", "--strict", chartDir); err != nil {
			t.Errorf("%s lint: %s %v", version, out, err)
		}
	}
	for _, file := range valueFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var all [2][]*unstructured.Unstructured
			for i, version := range helms {
				if out, err := kubetest.Helm(t, version, "lint", "--strict", chartDir, "--values", file, "--kube-version", "1.34.1"); err != nil {
					t.Errorf("%s lint: %s %v", version, out, err)
				}
				var err error
				if all[i], err = render(t, version, "--values", file); err != nil {
					t.Fatalf("%s: %v", version, err)
				}
				slices.SortFunc(all[i], func(a, b *unstructured.Unstructured) int {
					return strings.Compare(a.GetKind()+"/"+a.GetName(), b.GetKind()+"/"+b.GetName())
				})
			}
			if d := cmp.Diff(all[0], all[1]); d != "" || len(all[0]) == 0 {
				t.Errorf("%d objects; difference of Helm 4 from Helm 3:\n%s", len(all[0]), d)
			}
		})
	}
}

// TestAnArchiveOfTheChartHasWhatItsLinksName renders an archive, in which no link leads out of the chart.
func TestAnArchiveOfTheChartHasWhatItsLinksName(t *testing.T) {
	t.Parallel()
	for _, version := range helms {
		dir := t.TempDir()
		if out, err := kubetest.Helm(t, version, "package", chartDir, "--destination", dir); err != nil {
			t.Fatal(out, err)
		}
		archives, err := filepath.Glob(dir + "/fairlane-*.tgz")
		if err != nil || len(archives) != 1 {
			t.Fatal(archives, err)
		}
		got, err := kubetest.Render(t, version, archives[0], "--values", "testdata/values/everything.yaml")
		if err != nil {
			t.Fatal(err)
		}
		want, err := render(t, version, "--values", "testdata/values/everything.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: difference of the archive from the folder:\n%s", version, d)
		}
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		// Unknown keys, at every level.
		"agents.enabled=true":                                 "agents",
		"image.registri=x":                                    "registri",
		"controller.manager.tokenSecret.nam=x":                "nam",
		"controller.resources.request.cpu=1":                  "request",
		"controller.tolerations[0].kee=x":                     "kee",
		"agent.config.back_end=x":                             "back_end",
		"agent.config.intervals.swep=1s":                      "swep",
		"agent.config.pods.socket=/x":                         "pods",
		"manager.config.listen=:1":                            "listen",
		"manager.config.retention.audits=24h":                 "audits",
		"manager.database.password=x":                         "password",
		"monitoring.dashboards.label=x":                       "label",
		"networkPolicy.apiFrom[0].ipBlock.cidrs=192.0.2.0/24": "cidrs",
		"networkPolicy.apiFrom[0].podSelector.labels.app=x":   "labels",
		"manager.secretFiles[0].value=x":                      "value",
		"manager.secretFiles[0].config=log.level":             "config",
		// Types and ranges.
		"controller.replicas=0":                                "replicas",
		"controller.replicas=two":                              "replicas",
		"controller.cluster=Lab":                               "cluster",
		"controller.hostNetwork=maybe":                         "hostNetwork",
		"controller.manager.url=fairlane.example":              "url",
		"controller.debounce=2":                                "debounce",
		"image.registry=https://registry.example":              "registry",
		"agent.image.digest=sha256:12":                         "digest",
		"agent.gnmi.port=70000":                                "port",
		"agent.config.back_ends[0]=nv":                         "back_ends",
		"agent.appArmor=localhost":                             "appArmor",
		"agent.appArmorProfile=a b":                            "appArmorProfile",
		"agent.seLinuxType=spc-t":                              "seLinuxType",
		"agent.config.limits.subscriptions=0":                  "subscriptions",
		"agent.maxUnavailable=0":                               "maxUnavailable",
		"agent.cni.binDir=opt/cni/bin":                         "binDir",
		"manager.replicas=10":                                  "replicas",
		"manager.database.url=postgres://u:secret@db/fairlane": "url",
		"manager.service.port=0":                               "port",
		"manager.persistence.size=20":                          "size",
		// What the schema cannot say.
		"image.registry=":                                     "image.registry: found none, want the registry",
		"controller.cluster=":                                 "controller.cluster: found none",
		"controller.manager.url=":                             "controller.manager.url: found none",
		"agent.appArmor=Localhost":                            "agent.appArmorProfile: want the name of a profile",
		"agent.appArmorProfile=fairlane":                      "agent.appArmorProfile: want the name of a profile",
		"agent.gnmi.enabled=true":                             "agent.gnmi: want one of tlsSecret and tlsHostPath",
		"agent.gnmi.enabled=true,agent.gnmi.tlsSecret=x":      "agent.gnmi.allowed: found no name",
		"manager.enabled=true,manager.replicas=2":             "SQLite allows 1 replica",
		"manager.enabled=true,manager.database.kind=postgres": "want one of url and urlSecret.name",
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			for _, version := range helms {
				_, err := render(t, version, "--values", "testdata/values/minimal.yaml", "--set", set)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want a refusal with %q", version, err, want)
				}
			}
		})
	}
}

// podOf returns the pods of a workload's template.
func podOf(t *testing.T, u *unstructured.Unstructured) (corev1.PodTemplateSpec, bool) {
	t.Helper()
	var out corev1.PodTemplateSpec
	template, found, err := unstructured.NestedMap(u.Object, "spec", "template")
	if err != nil || !found {
		return out, false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &out); err != nil {
		t.Fatal(err)
	}
	return out, true
}

// TestPodsHaveOnlyTheRightsThatTheyNeed lists the rights of all pods, and the folders of hosts that they mount.
func TestPodsHaveOnlyTheRightsThatTheyNeed(t *testing.T) {
	t.Parallel()
	folders := []string{"/opt/cni/bin", "/run/fairlane-agent", "/run/netns", "/sys", "/var/lib/cni/rdma", "/var/lib/fairlane-agent", "/var/lib/kubelet/pod-resources"}
	seen := map[string]bool{}
	for _, file := range []string{"minimal", "everything", "remove"} {
		for _, u := range rendered(t, file) {
			pod, ok := podOf(t, u)
			if !ok {
				continue
			}
			seen[u.GetName()] = true
			s := pod.Spec
			agent := u.GetName() == "fairlane-agent"
			if s.SecurityContext == nil || s.SecurityContext.SeccompProfile == nil || s.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: no seccomp profile", u.GetName())
			}
			if s.HostNetwork != agent || s.HostIPC || s.HostPID != (agent && file == "everything") || s.PriorityClassName == "" && u.GetName() != "fairlane" {
				t.Errorf("%s of %s: %+v", u.GetName(), file, s)
			}
			if !agent && (s.SecurityContext.RunAsNonRoot == nil || !*s.SecurityContext.RunAsNonRoot) {
				t.Errorf("%s may run as root", u.GetName())
			}
			for _, c := range slices.Concat(s.InitContainers, s.Containers) {
				checkContainer(t, u.GetName(), &c)
			}
			var paths []string
			for _, v := range s.Volumes {
				if v.HostPath != nil {
					paths = append(paths, v.HostPath.Path)
				}
			}
			slices.Sort(paths)
			want := []string(nil)
			if agent {
				want = folders
			}
			if !slices.Equal(paths, want) {
				t.Errorf("%s of %s mounts %v of its host, want %v", u.GetName(), file, paths, want)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []string{"fairlane", "fairlane-agent", "fairlane-kube"}) {
		t.Errorf("workloads are %v", got)
	}
}

func checkContainer(t *testing.T, of string, c *corev1.Container) {
	t.Helper()
	name := of + "/" + c.Name
	s := c.SecurityContext
	if s == nil || s.Privileged != nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
		s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("%s: security context %+v", name, s)
		return
	}
	var want []corev1.Capability
	if name == "fairlane-agent/fairlane-agent" || name == "fairlane-agent/restore" {
		want = []corev1.Capability{"NET_ADMIN"}
	}
	if !slices.Equal(s.Capabilities.Add, want) {
		t.Errorf("%s adds %v, want %v", name, s.Capabilities.Add, want)
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: resources %+v", name, c.Resources)
	}
	if strings.HasPrefix(c.Image, "/") || !strings.HasPrefix(c.Image, "registry.example") {
		t.Errorf("%s: image %s", name, c.Image)
	}
}

// TestTheAgentsProfilesUnderEnforcingPolicies renders what a site sets where AppArmor or SELinux is enforced. They hold for every container
// of the agent's pod; the other pods keep the runtime's profiles.
func TestTheAgentsProfilesUnderEnforcingPolicies(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"image.pullPolicy=Always": "Unconfined  spc_t", // the default
		"agent.appArmor=Localhost,agent.appArmorProfile=fairlane-agent": "Localhost fairlane-agent spc_t",
		"agent.appArmor=RuntimeDefault,agent.seLinuxType=fairlane_t":    "RuntimeDefault  fairlane_t",
		"agent.appArmor=,agent.seLinuxType=":                            "none",
		"agent.remove=true":                                             "Unconfined  spc_t",
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			all, err := render(t, "helm3", "--values", "testdata/values/minimal.yaml", "--set", set)
			if err != nil {
				t.Fatal(err)
			}
			agents, others := 0, 0
			for _, u := range all {
				pod, ok := podOf(t, u)
				if !ok {
					continue
				}
				got, expected := "none", "none"
				if u.GetName() == "fairlane-agent" {
					expected = want
					agents++
				} else {
					others++
				}
				s := pod.Spec.SecurityContext
				if a, l := s.AppArmorProfile, s.SELinuxOptions; a != nil && l != nil {
					profile := ""
					if a.LocalhostProfile != nil {
						profile = *a.LocalhostProfile
					}
					got = fmt.Sprintf("%s %s %s", a.Type, profile, l.Type)
				} else if a != nil || l != nil {
					got = fmt.Sprint(a, l)
				}
				if got != expected {
					t.Errorf("%s has %s, want %s", u.GetName(), got, expected)
				}
				for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
					if c.SecurityContext.AppArmorProfile != nil || c.SecurityContext.SELinuxOptions != nil {
						t.Errorf("%s/%s has a profile of its own", u.GetName(), c.Name)
					}
				}
			}
			if agents == 0 || others == 0 {
				t.Errorf("found %d pods of the agent and %d others, want some of both", agents, others)
			}
		})
	}
}

// TestEveryVolumeIsMounted finds volumes that would hold up a pod for an object that it does not use.
func TestEveryVolumeIsMounted(t *testing.T) {
	t.Parallel()
	for _, file := range valueFiles(t) {
		all, err := render(t, "helm3", "--values", file, "--set", "agent.gnmi.enabled=false")
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
			pod, _ := podOf(t, u)
			mounted := map[string]bool{}
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				for _, m := range c.VolumeMounts {
					mounted[m.Name] = true
				}
			}
			for _, v := range pod.Spec.Volumes {
				if !mounted[v.Name] {
					t.Errorf("%s: no container of %s mounts volume %s", file, u.GetName(), v.Name)
				}
			}
		}
	}
}

// TestNoSecretHasAValue looks for secrets in the renders: the chart only names them.
func TestNoSecretHasAValue(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"minimal", "everything", "inside"} {
		for _, u := range rendered(t, file) {
			if u.GetKind() == "Secret" && (u.Object["data"] != nil || u.Object["stringData"] != nil) {
				t.Errorf("%s: Secret %s has a value", file, u.GetName())
			}
		}
	}
}

// TestTheProgramsAcceptTheirConfigurations parses the configurations of the renders as the programs do.
func TestTheProgramsAcceptTheirConfigurations(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"POD_NAME": true}
	for _, k := range config.Keys() {
		known[k.Env()] = true
	}
	agents, managers := 0, 0
	for _, file := range valueFiles(t) {
		all := rendered(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		var m corev1.ConfigMap
		if find(t, all, "ConfigMap", "fairlane-agent", &m) {
			agents++
			c, err := agentapp.Load(filetest.Write(t, "agent.yaml", m.Data["agent.yaml"]))
			if err == nil {
				err = c.CheckServing()
			}
			if err != nil {
				t.Errorf("%s: %v in\n%s", file, err, m.Data["agent.yaml"])
			}
			if c.Pods.Kubeconfig != "in-cluster" || c.Pods.PodResources == "" || c.Root != "/" {
				t.Errorf("%s: %+v", file, c)
			}
		}
		var s appsv1.StatefulSet
		if find(t, all, "ConfigMap", "fairlane", &m) != find(t, all, "StatefulSet", "fairlane", &s) {
			t.Errorf("%s: a manager without a configuration, or the reverse", file)
		} else if s.Name != "" {
			managers++
			env := map[string]string{}
			for _, e := range s.Spec.Template.Spec.Containers[0].Env {
				if !known[e.Name] {
					t.Errorf("%s: the service does not know %s", file, e.Name)
				}
				if e.Value == "" && e.ValueFrom != nil && e.Name == "FAIRLANE_DATABASE" {
					e.Value = "postgres://fairlane@db.example.net/fairlane"
				}
				env[e.Name] = strings.ReplaceAll(e.Value, "$(POD_NAME)", "fairlane-0")
			}
			if err := checkManager(t, m.Data["fairlane.yaml"], env); err != nil {
				t.Errorf("%s: %v in\n%s", file, err, m.Data["fairlane.yaml"])
			}
		}
	}
	if agents < 3 || managers < 3 {
		t.Errorf("%d configurations of agents and %d of managers", agents, managers)
	}
}

// checkManager parses a configuration of the service in its environment.
func checkManager(t *testing.T, text string, env map[string]string) error {
	t.Helper()
	l, err := config.Load(config.Sources{Path: filetest.Write(t, "fairlane.yaml", text), Getenv: func(name string) string { return env[name] }})
	if err == nil && (len(l.Operations.Listen) != 1 || len(l.Listen) != 1) {
		t.Errorf("%+v", l.Config)
	}
	return err
}

// TestTheChartHasOneSourceOfDashboardsRulesAndCRDs compares what the renders have with the files of deploy.
func TestTheChartHasOneSourceOfDashboardsRulesAndCRDs(t *testing.T) {
	t.Parallel()
	all := rendered(t, "everything")
	dashboards, err := filepath.Glob("../../deploy/grafana/dashboards/*.json")
	if err != nil || len(dashboards) < 5 {
		t.Fatal(dashboards, err)
	}
	for _, path := range dashboards {
		var m corev1.ConfigMap
		name := filepath.Base(path)
		if !find(t, all, "ConfigMap", "dashboard-"+strings.TrimSuffix(name, ".json"), &m) || m.Data[name] != string(read(t, path)) {
			t.Errorf("%s is not the ConfigMap's", name)
		}
	}
	same := func(path, kind, name string, part ...string) {
		t.Helper()
		var want map[string]any
		if err := utilyaml.Unmarshal(read(t, path), &want); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if !find(t, all, kind, name, &got) {
			t.Fatalf("no %s %s", kind, name)
		}
		have, _, err := unstructured.NestedMap(got, "spec")
		if err != nil {
			t.Fatal(err)
		}
		if wanted, found, err := unstructured.NestedMap(want, part...); err == nil && found && len(part) > 0 {
			want = wanted
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %s", name, cmp.Diff(want, have))
		}
	}
	same("../../deploy/prometheus/fairlane.rules.yaml", "PrometheusRule", "fairlane")
	same("../../deploy/kubernetes/crds/fairlane.dev_tenantbindings.yaml", "CustomResourceDefinition", "tenantbindings.fairlane.dev", "spec")
	same("../../deploy/kubernetes/crds/fairlane.dev_fabricattachments.yaml", "CustomResourceDefinition", "fabricattachments.fairlane.dev", "spec")
}
