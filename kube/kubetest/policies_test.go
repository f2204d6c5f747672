package kubetest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
)

// attachment returns an attachment as the agent of a node creates it.
func attachment(namespace, node, pod string) *v1alpha1.FabricAttachment {
	uid := types.UID(pod + "-uid")
	return &v1alpha1.FabricAttachment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: pod + "-net1-" + node, Labels: map[string]string{v1alpha1.NodeLabel: node},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid}},
		},
		Spec: v1alpha1.FabricAttachmentSpec{
			Pod: v1alpha1.AttachedPod{Name: pod, UID: uid}, Node: node, Network: "rdma", Interface: "net1", Source: v1alpha1.SourceCNI,
			Device: v1alpha1.AttachedDevice{ID: "0000:3b:00.2", Port: node + ":1"},
		},
	}
}

// grant binds a person to a role of the cluster.
func grant(t *testing.T, user, role string) {
	t.Helper()
	err := cluster.Admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// role creates a role of the cluster for one resource.
func role(t *testing.T, name, group, resource string, verbs ...string) {
	t.Helper()
	err := cluster.Admin.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyAccountsThatMayBindChangeTheLabelsThatBind(t *testing.T) {
	t.Parallel()
	role(t, "test-namespaces", "", "namespaces", "*")
	role(t, "test-namespace-status", "", "namespaces/status", "*")
	for _, user := range []string{"owner", "binder"} {
		grant(t, user, "test-namespaces")
		grant(t, user, "test-namespace-status")
	}
	grant(t, "binder", "fairlane-binder")
	owner, binder := cluster.Client(t, cluster.User(t, "owner")), cluster.Client(t, cluster.User(t, "binder"))
	const key, want = "tenancy.fairlane.dev/tenant", "needs the verb bind"
	space := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "labels-", Labels: labels}}
	}
	checkRefusal(t, owner.Create(t.Context(), space(map[string]string{key: "red"})), want)
	checkRefusal(t, owner.Create(t.Context(), space(nil)), "")
	ns := space(map[string]string{key: "red"})
	checkRefusal(t, binder.Create(t.Context(), ns), "")
	for name, edit := range map[string]func(map[string]string){
		"another value": func(l map[string]string) { l[key] = "blue" },
		"another label": func(l map[string]string) { l["tenancy.fairlane.dev/more"] = "x" },
		"no label":      func(l map[string]string) { delete(l, key) },
	} {
		changed := ns.DeepCopy()
		edit(changed.Labels)
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, owner.Update(t.Context(), changed.DeepCopy()), want)
			checkRefusal(t, owner.Status().Update(t.Context(), changed.DeepCopy()), want)
			checkRefusal(t, binder.Update(t.Context(), changed, client.DryRunAll), "")
		})
	}
	changed := ns.DeepCopy()
	changed.Labels["team"] = "x"
	checkRefusal(t, owner.Update(t.Context(), changed), "")
}

func TestPodsCannotChooseWhatTheirBindingChooses(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t, "forged", nil)
	role(t, "test-pods", "", "pods", "*")
	grant(t, "author", "test-pods")
	grant(t, "ib-kubernetes", "test-pods")
	grant(t, "ib-kubernetes", "fairlane-guid-marker")
	author, marker := cluster.Client(t, cluster.User(t, "author")), cluster.Client(t, cluster.User(t, "ib-kubernetes"))
	const networks = "k8s.v1.cni.cncf.io/networks"
	plain := `[{"name":"rdma"}]`
	marked := `[{"name":"rdma","cni-args":{"mellanox.infiniband.app":"configured"}}]`
	for name, c := range map[string]struct {
		annotations, labels map[string]string
		want                string
	}{
		"plain":        {map[string]string{networks: plain, "example.com/x": "y"}, map[string]string{"app": "x"}, ""},
		"tenant":       {map[string]string{"fairlane.dev/tenant": "red"}, nil, "annotations under fairlane.dev/"},
		"class":        {map[string]string{"tenancy.fairlane.dev/class": "gold"}, nil, "annotations under fairlane.dev/"},
		"label":        {nil, map[string]string{"fairlane.dev/tenant": "red"}, "labels under fairlane.dev/"},
		"forged mark":  {map[string]string{networks: marked}, nil, "verb mark"},
		"another host": {map[string]string{"notfairlane.dev/x": "y"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(ns, "p-")
			p.Annotations, p.Labels = c.annotations, c.labels
			checkRefusal(t, author.Create(t.Context(), p), c.want)
		})
	}
	p := pod(ns, "marked-")
	p.Annotations = map[string]string{networks: plain}
	if err := author.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	forged := p.DeepCopy()
	forged.Annotations[networks] = marked
	checkRefusal(t, author.Update(t.Context(), forged.DeepCopy()), "verb mark")
	checkRefusal(t, marker.Update(t.Context(), forged), "")
	forged.Annotations["example.com/x"] = "y"
	checkRefusal(t, author.Update(t.Context(), forged), "")
}

func pod(namespace, prefix string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: prefix},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
}

func TestAnAgentWritesOnlyTheAttachmentsOfItsNode(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t, "agents", nil)
	one := cluster.Client(t, cluster.As(t, "fairlane-agent", "agents-1"))
	two := cluster.Client(t, cluster.As(t, "fairlane-agent", "agents-2"))
	a := attachment(ns, "agents-1", "p1")
	checkRefusal(t, two.Create(t.Context(), a.DeepCopy()), "own node")
	wrong := a.DeepCopy()
	wrong.Labels = nil
	checkRefusal(t, one.Create(t.Context(), wrong), "label fairlane.dev/node")
	wrong = a.DeepCopy()
	wrong.OwnerReferences = nil
	checkRefusal(t, one.Create(t.Context(), wrong), "must be an owner")
	checkRefusal(t, cluster.Admin.Create(t.Context(), a.DeepCopy()), "written by the agent")
	if err := one.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	moved := a.DeepCopy()
	moved.Spec.Node, moved.Labels[v1alpha1.NodeLabel] = "agents-2", "agents-2"
	checkRefusal(t, two.Update(t.Context(), moved), "cannot move") // the node is its own, but not the attachment
	status := a.DeepCopy()
	status.Status.Applied = &v1alpha1.DeviceClass{SL: new(int32(3))}
	checkRefusal(t, two.Status().Update(t.Context(), status.DeepCopy()), "own node")
	checkRefusal(t, one.Status().Update(t.Context(), status), "")
	checkRefusal(t, two.Delete(t.Context(), a), "own node")

	// Without a node in its token, as in a token that a person requested for the account, an agent changes nothing.
	unbound := cluster.User(t, "system:serviceaccount:"+kubetest.System+":fairlane-agent")
	checkRefusal(t, cluster.Client(t, unbound).Create(t.Context(), attachment(ns, "agents-1", "p2")), "own node")

	// An administrator may remove an attachment and change its metadata, not its contents.
	fresh := &v1alpha1.FabricAttachment{}
	if err := cluster.Admin.Get(t.Context(), client.ObjectKeyFromObject(a), fresh); err != nil {
		t.Fatal(err)
	}
	spec := fresh.DeepCopy()
	spec.Spec.Class = "gold"
	checkRefusal(t, cluster.Admin.Update(t.Context(), spec), "written by the agent")
	checkRefusal(t, cluster.Admin.Status().Update(t.Context(), fresh.DeepCopy()), "written by the agent")
	label := fresh.DeepCopy()
	label.Labels[v1alpha1.NodeLabel] = "agents-2"
	checkRefusal(t, cluster.Admin.Update(t.Context(), label), "written by the agent")
	note := fresh.DeepCopy()
	note.Annotations = map[string]string{"example.com/note": "x"}
	checkRefusal(t, cluster.Admin.Update(t.Context(), note), "")
	checkRefusal(t, cluster.Admin.Delete(t.Context(), note), "")
}
