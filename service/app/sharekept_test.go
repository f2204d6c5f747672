package app

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/command/remote"
)

// TestKeptSharesAreShown reads the series of a simulated fabric, whose tenants contend for a link, by the commands about shares.
func TestKeptSharesAreShown(t *testing.T) {
	t.Parallel()
	svc := measuredFabric(t, 0, 0, 0)
	const token = "a-token-of-more-than-thirty-two-letters"
	if _, err := svc.Bootstrap(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	h, err := api.New(svc, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	env := map[string]string{"FAIRLANE_URL": s.URL, "FAIRLANE_TOKEN": token, "FAIRLANE_CREDENTIALS": t.TempDir() + "/credentials"}
	run := func(line string) string {
		t.Helper()
		var out, said bytes.Buffer
		root := &cobra.Command{Use: "fairlane", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(remote.New(remote.Options{Getenv: func(k string) string { return env[k] }, Args: []string{}})...)
		root.SetArgs(strings.Fields(line))
		root.SetOut(&out)
		root.SetErr(&said)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v\n%s", line, err, &said)
		}
		return out.String()
	}
	var history struct {
		Steps []struct {
			Tenant, State string
			Link          string `json:"limiting_link"`
			Delivered     *int64 `json:"delivered_bps"`
			Coverage      *float64
		}
	}
	text := run("share history --since 5m --step 10m --json")
	if err := json.Unmarshal([]byte(text), &history); err != nil || len(history.Steps) == 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	contended := 0
	for _, x := range history.Steps {
		if x.State == "contending" && x.Delivered != nil && *x.Delivered > 0 && x.Link != "" && x.Coverage != nil {
			contended++
		}
	}
	if contended < 2 {
		t.Errorf("%d tenants contend:\n%s", contended, text)
	}
	if text := run("share history --why 5s"); strings.Count(text, "It contended on ") < 2 || !strings.Contains(text, "were also: ") || !strings.Contains(text, "rollout.succeeded") {
		t.Errorf("why:\n%s", text)
	}
	// Near the end of a month the measurements may be of the month before.
	rows := 0
	for _, month := range []time.Time{time.Now().UTC(), time.Now().UTC().Add(-time.Hour)} {
		list, err := csv.NewReader(strings.NewReader(run("share report --csv --month " + month.Format("2006-01")))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range list[1:] {
			if row[5] != "0" && row[9] != "" {
				rows++
			}
		}
	}
	if rows < 2 {
		t.Errorf("%d tenants contended in the reports", rows)
	}
}
