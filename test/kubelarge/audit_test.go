package kubelarge

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// auditPolicy has the API server log what the controller writes, and what anybody writes to Fairlane's objects, but for the node agents,
// which only fill the cluster.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, verbs: [get, list, watch]}
  - {level: None, users: ["system:serviceaccount:fairlane-system:fairlane-agent"]}
  - {level: Metadata, users: ["` + controllerUser + `"]}
  - {level: Metadata, resources: [{group: fairlane.dev}]}
  - {level: None}
`

const controllerUser = "system:serviceaccount:fairlane-system:fairlane-kube"

// write is a write in the audit log.
type write struct {
	At   time.Time `json:"stageTimestamp"`
	Verb string    `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// what says what was written, without the object's name.
func (w *write) what() string {
	resource := w.Object.Resource
	if w.Object.Subresource != "" {
		resource += "/" + w.Object.Subresource
	}
	return w.Verb + " " + resource
}

// audit reads the API server's audit log as it grows.
type audit struct {
	file   *os.File
	reader *bufio.Reader
	part   []byte // of a line that is not complete
	writes []write
}

// flagsOfAudit writes the policy into a folder, and returns the API server's flags and the path of its log.
func flagsOfAudit(t *testing.T) (map[string]string, string) {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"audit-policy-file": policy, "audit-log-path": log, "audit-log-maxsize": "4000"}, log
}

// openAudit opens the log.
func openAudit(t *testing.T, path string) *audit {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &audit{file: f, reader: bufio.NewReaderSize(f, 1<<20)}
}

// read reads what the log has since the last call.
func (a *audit) read(t *testing.T) {
	t.Helper()
	for {
		line, err := a.reader.ReadBytes('\n')
		a.part = append(a.part, line...)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var w write
		if err := json.Unmarshal(a.part, &w); err != nil {
			t.Fatalf("audit log: %v: %.200s", err, a.part)
		}
		a.part = a.part[:0]
		a.writes = append(a.writes, w)
	}
}

// of returns the writes of an interval by the controller, and those by others to Fairlane's objects. Renewals of the lease are left out.
func (a *audit) of(t *testing.T, began, ended time.Time) (controller, others []write) {
	t.Helper()
	a.read(t)
	for _, w := range a.writes {
		switch {
		case w.At.Before(began) || w.At.After(ended) || w.Object.Resource == "leases":
		case w.User.Username == controllerUser:
			controller = append(controller, w)
		default:
			others = append(others, w)
		}
	}
	return controller, others
}

// tally counts writes by what they write, with those that failed apart.
func tally(all []write) map[string]int {
	n := map[string]int{}
	for _, w := range all {
		what := w.what()
		if w.Response.Code >= 300 {
			what += fmt.Sprintf(" (%d)", w.Response.Code)
		}
		n[what]++
	}
	return n
}

// requests are the requests that the API server counted, by verb, group and resource.
type requests map[string]float64

// countRequests reads the API server's own counters.
func countRequests(t *testing.T, config *rest.Config) requests {
	t.Helper()
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := set.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := requests{}
	for line := range strings.Lines(string(text)) {
		labels, ok := strings.CutPrefix(line, "apiserver_request_total{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(labels, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			t.Fatalf("metrics: %v: %s", err, line)
		}
		label := func(name string) string {
			_, rest, _ := strings.Cut(","+labels, ","+name+`="`)
			v, _, _ := strings.Cut(rest, `"`)
			return v
		}
		out[label("verb")+" "+label("group")+" "+label("resource")] += n
	}
	if len(out) == 0 {
		t.Fatal("the API server has no counters of requests")
	}
	return out
}

// since returns the requests since an earlier count: all, those that write, and those that write Fairlane's objects.
func (r requests) since(before requests) (all, writing, fairlane float64) {
	for key, n := range r {
		n -= before[key]
		verb, rest, _ := strings.Cut(key, " ")
		all += n
		if slices.Contains([]string{"GET", "LIST", "WATCH", "CONNECT"}, verb) {
			continue
		}
		writing += n
		if strings.HasPrefix(rest, "fairlane.dev ") {
			fairlane += n
		}
	}
	return all, writing, fairlane
}
