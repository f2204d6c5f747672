package kubetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HelmFolder is the environment variable with the folder of helm3 and helm4, which test/kube.sh sets.
const HelmFolder = "FAIRLANE_HELM"

// Helm runs a version of Helm, with settings of the test's own. Its error is what Helm printed.
func Helm(t testing.TB, version string, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(Need(t, HelmFolder), version), args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New(log.String())
	}
	return out.String(), nil
}

// Render renders a folder or an archive with the chart.
func Render(t testing.TB, version, chart string, args ...string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	out, err := Helm(t, version, append([]string{"template", "fairlane", chart, "--namespace", System, "--kube-version", "1.34.1"}, args...)...)
	if err != nil {
		return nil, err
	}
	return decode(strings.NewReader(out))
}
