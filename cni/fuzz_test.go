package cni_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"fairlane/cni"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"cniVersion":"1.1.0","name":"n","type":"fairlane-cni","deviceID":"0000:3b:01.0","runtimeConfig":{"deviceID":"mlx5_core.sf.4"},"prevResult":` + prev + `}`))
	f.Add([]byte(`{"name":"n","failPolicy":"open","cni.dev/valid-attachments":[{"containerID":"c","ifname":"i"}],` + ownArgs + `}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := cni.Parse(b)
		if _, is := errors.AsType[*types.Error](err); err != nil && !is {
			t.Errorf("%T", err)
		}
		if err == nil && (strings.Contains(c.DeviceID, "/") || !strings.HasPrefix(c.Socket, "/") || !strings.HasPrefix(c.Spool, "/")) {
			t.Errorf("%+v was accepted", c)
		}
	})
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{podEnv, "", "K8S_POD_NAMESPACE=a;CommonArgs=1", "IgnoreUnknown=1;;=", "K8S_POD_NAMESPACE=a;K8S_POD_UID=;IgnoreUnknown=maybe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pod, err := cni.ParseArgs(text)
		if _, is := errors.AsType[*types.Error](err); err != nil && !is {
			t.Errorf("%T", err)
		}
		if err == nil && (pod.CheckIdentity() != nil || !strings.Contains(text, "K8S_POD_NAMESPACE="+pod.Namespace)) {
			t.Errorf("%q is the pod %+v", text, pod)
		}
	})
}
