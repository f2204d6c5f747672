package app_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/cni/app"
)

// run runs the command line.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = app.Main(t.Context(), args, func(string) string { return "" }, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

func TestDoctorPrintsFindings(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	options := []string{"doctor", "--root", none, "--conf-dir", none, "--bin-dir", none, "--socket", none}
	list := `{"cniVersion":"1.1.0","name":"n","plugins":[{"type":"fairlane-cni"},{"type":"sriov"}]}`
	code, stdout, stderr := run(t, list, append(options, "-")...)
	if code != 1 || stderr != "" || !strings.Contains(stdout, "problem") || !strings.Contains(stdout, "first plugin") {
		t.Error(code, stdout, stderr)
	}
	if code, stdout, _ := run(t, list, append(options, "-", "--lang", "zh")...); code != 1 || !strings.Contains(stdout, "第一个插件") || !strings.Contains(stdout, "问题") {
		t.Error(code, stdout)
	}
	code, stdout, _ = run(t, list, append(options, "-", "--json", "--lang", "zh")...)
	var out struct {
		Findings []struct{ Check, Where, State, Text string }
	}
	if err := json.Unmarshal([]byte(stdout), &out); code != 1 || err != nil || len(out.Findings) < 4 {
		t.Fatal(code, stdout, err)
	}
	for _, f := range out.Findings {
		if f.Check == "" || f.Where == "" || f.State == "" || f.Text == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"docter"}, {"doctor", "--conf"}, {"doctor", "/none/x"}, {"version", "x"}, {"doctor", "--lang", "xx"}} {
		if code, stdout, stderr := run(t, "", args...); code != 2 || stdout != "" || !strings.HasPrefix(stderr, "error: ") {
			t.Error(args, code, stdout, stderr)
		}
	}
	if code, stdout, _ := run(t, "", "version"); code != 0 || !strings.HasPrefix(stdout, "fairlane-cni ") {
		t.Error(code, stdout)
	}
}
