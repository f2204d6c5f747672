package api

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fairlane/internal/control"
)

func TestThePageOfTheAPIHasTheLimits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	s := HTTPServer(http.NotFoundHandler())
	sp := parsed(t)
	for what, limit := range map[string]string{
		"body where whole tables are sent (tenants, flows, scenarios)": fmt.Sprintf("%d MiB", MaxBody>>20),
		"other bodies":                                              fmt.Sprintf("%d KiB", smallBody>>10),
		"objects and lists in each other":                           fmt.Sprintf("%d deep", maxDepth),
		"header of a request with its address":                      fmt.Sprintf("%d KiB", s.MaxHeaderBytes>>10),
		"rows of a page":                                            fmt.Sprint(*sp.doc.Components.Parameters["Limit"].Value.Schema.Value.Max),
		"answer kept with an idempotency key":                       fmt.Sprintf("%d MiB", maxKept>>20),
		"time of a request":                                         fmt.Sprintf("%d s", requestTimeout/time.Second),
		"of one that compiles, or talks to devices":                 fmt.Sprintf("%d min", slowTimeout/time.Minute),
		"requests at once":                                          fmt.Sprint(maxRequests),
		"of those that compile, or talk to devices":                 fmt.Sprint(maxSlow),
		"of those, of one caller":                                   fmt.Sprint(maxOwnSlow),
		"of those, of all tenants together":                         fmt.Sprint(maxTenantSlow),
		"bodies that one caller sends at once":                      fmt.Sprint(maxBodies),
		"bodies of callers who are not signed in, from one address": fmt.Sprint(maxUnknownBodies),
		"the same, from all addresses":                              fmt.Sprint(maxAllUnknownBodies),
		"event streams at once":                                     fmt.Sprint(maxStreams),
		"event streams of one caller":                               fmt.Sprint(maxOwnStreams),
		"event streams of all tenants together":                     fmt.Sprint(maxTenantStreams),
	} {
		if row := fmt.Sprintf("| %s | %s |\n", what, limit); !strings.Contains(string(text), row) {
			t.Errorf("docs/api.md lacks the row %q", row)
		}
	}
	for _, words := range []string{
		fmt.Sprintf("Keys are kept for %d hours", control.OnceTTL/time.Hour),
		fmt.Sprintf("after %d days when nothing else is said", control.DefaultTokenLife/(24*time.Hour)),
		fmt.Sprintf("A comment every %d\nseconds", heartbeat/time.Second),
	} {
		if !strings.Contains(string(text), words) {
			t.Errorf("docs/api.md does not say %q", words)
		}
	}
	if s.ReadTimeout != time.Minute {
		t.Errorf("a body may take %v: docs/api.md says a minute", s.ReadTimeout)
	}
	if unknownBodyTime != 10*time.Second {
		t.Errorf("the body of somebody unknown may take %v: docs/api.md says 10 seconds", unknownBodyTime)
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("POST", "/fabrics", `{"name":"`+strings.Repeat("x", MaxBody)+`"}`).want(413, "body-too-large")
}
