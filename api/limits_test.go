package api

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/identity"
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
		"other bodies":                                                       fmt.Sprintf("%d KiB", smallBody>>10),
		"objects and lists in each other":                                    fmt.Sprintf("%d deep", maxDepth),
		"header of a request with its address":                               fmt.Sprintf("%d KiB", s.MaxHeaderBytes>>10),
		"rows of a page":                                                     fmt.Sprint(*sp.doc.Components.Parameters["Limit"].Value.Schema.Value.Max),
		"answer kept with an idempotency key":                                fmt.Sprintf("%d MiB", maxKept>>20),
		"time of a request":                                                  fmt.Sprintf("%d s", requestTimeout/time.Second),
		"of one that compiles, or talks to devices":                          fmt.Sprintf("%d min", slowTimeout/time.Minute),
		"requests at once that read":                                         row(reading),
		"requests at once that change something":                             row(writing),
		"requests at once that compile, or talk to devices":                  row(lengthy),
		"pages and files of the portal and of the documentation at once":     row(paging),
		"event streams at once":                                              row(streaming),
		"bodies that are sent at once, or whose request waits for its place": row(sending),
		"MiB of bodies in memory":                                            row(mib(sent)),
	} {
		if row := fmt.Sprintf("| %s | %s |\n", what, limit); !strings.Contains(string(text), row) {
			t.Errorf("docs/api.md lacks the row %q", row)
		}
	}
	prose := strings.Join(strings.Fields(string(text)), " ") // independent of line breaks
	for _, words := range []string{
		fmt.Sprintf("Keys are kept for %d hours", control.IdempotencyTTL/time.Hour),
		fmt.Sprintf("after %d days unless the request states another time", identity.DefaultTokenLife/(24*time.Hour)),
		fmt.Sprintf("within %d s plus its length at %d KiB a second", bodyGrace/time.Second, minRate>>10),
		fmt.Sprintf("a minute at most, or %d s for a sign-in", unknownBodyTime/time.Second),
		fmt.Sprintf("waits %d s for its place", patience/time.Second),
		fmt.Sprintf("The client has %d s", answerGrace/time.Second),
		fmt.Sprintf("A comment every %d seconds", heartbeat/time.Second),
	} {
		if !strings.Contains(prose, words) {
			t.Errorf("docs/api.md does not say %q", words)
		}
	}
	if s.ReadTimeout < bodyTime {
		t.Errorf("the connection is read for %v, less than the %v of a body", s.ReadTimeout, bodyTime)
	}
}

// row returns the columns of one kind in the table of concurrent limits.
func row(s shares) string {
	var cells []string
	for _, n := range []int{s.all, s.callers, s.tenants, s.tenant, s.own, s.strangers, s.source} {
		cell := "-"
		if n > 0 {
			cell = fmt.Sprint(n)
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " | ")
}

func mib(s shares) shares {
	for _, n := range []*int{&s.all, &s.callers, &s.tenants, &s.tenant, &s.own, &s.strangers, &s.source} {
		*n >>= 20
	}
	return s
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("POST", "/fabrics", `{"name":"`+strings.Repeat("x", MaxBody)+`"}`).want(413, "body-too-large")
}
